/** A node that does not start, on a real engine: said at once with its last words, and what it had before comes back. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { roll } from "../../../control/deploy/operations/roll/roll.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import type { CairnError } from "../../../runtime/contracts/errors.ts";
import type { StubHealth, StubTarget } from "../../fakes/pulumi/stub-driver.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { infraRun, type ProjectShape, TOKEN, writeProject } from "../../support/infra-project.ts";

const SHAPE: ProjectShape = { stack: "lab", nodes: ["one"], postgres: false };
const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const BAD = "Asia/Tokyo";
const LOG = `starting\nError: no such zone, says ${TOKEN}\n    at start (file:///opt/cairn/main.js:3:4)\n`;
const LOOP: StubHealth = {
  state: "stopped",
  health: "unhealthy",
  restarts: 2,
  reason: "it ends again and again (exit code 1)",
};

let base: string;
let dir: string;
let plugins: StubPlugins;

/** The time zone that the node's files have now. */
const zone = (): string => {
  const files = Object.values(plugins.resources()).find(({ props }) => props["name"] === "lab-one.files");
  return /timezone: ([A-Za-z/]+)/.exec(JSON.stringify(files?.props["uploads"]))?.[1] ?? "UTC";
};
const run = (more: Partial<StubTarget> = {}) =>
  infraRun({
    dir,
    home: join(base, "home"),
    target: { plugins, health: () => (zone() === BAD ? LOOP : undefined), log: LOG, ...more },
    services: {
      // Time passes without being waited for.
      now: () => {
        clock += 1_000;
        return new Date(clock);
      },
      sleep: async () => undefined,
      nodes: {
        call: () => Promise.reject(new Error("no node is called here")),
        gate: async () => undefined,
        pause: async () => undefined,
        resume: async () => undefined,
      },
    },
  });
let clock = Date.UTC(2030, 0, 1);
const failure = (work: Promise<unknown>): Promise<CairnError> =>
  work.then(
    () => expect.unreachable("it has to fail"),
    (error: CairnError) => error,
  );

describe("a node that does not start", { concurrent: false }, () => {
  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), "cairn-failing-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    plugins.forget();
    plugins.fault({});
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("at its first start is left as it is, and that is said with its last words", async () => {
    writeProject(dir, { ...SHAPE, timezone: BAD });
    const error = await failure(up(run(), UP));
    expect(error).toMatchObject({
      code: "INFRA_FAILED",
      details: { hint: expect.stringContaining("cairn logs --node one") },
    });
    expect(error.message).toBe(
      "The node one does not start: it ends again and again (exit code 1); it is the first start of one, so there is nothing to go back to, and it is left as it is.",
    );
    expect(error.details.lastWords).toEqual(["starting", "Error: no such zone, says [redacted]"]);
    const text = readFileSync(error.details.log ?? "", "utf8");
    expect(text).toContain("at start (file:///opt/cairn/main.js:3:4)");
    expect(text).not.toContain(TOKEN);
    expect(zone()).toBe(BAD);
  });

  it("with a new setting gets back what it had, although the engine has recorded the new one", async () => {
    writeProject(dir, SHAPE);
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    writeProject(dir, { ...SHAPE, timezone: BAD });
    const error = await failure(up(run(), UP));
    expect(error.message).toBe(
      "The node one does not start: it ends again and again (exit code 1); what one had before serves again.",
    );
    expect(error.details.lastWords).toContain("Error: no such zone, says [redacted]");
    expect(zone()).toBe("UTC");
    writeProject(dir, SHAPE);
    expect((await preview(run())).changes).toEqual([]);
  });

  it("is given it back as well where the engine itself could not make it", async () => {
    writeProject(dir, { ...SHAPE, timezone: "Europe/Berlin" });
    plugins.fault({ at: { "create lab-one": { kind: "fail", message: "sdk-v2/provider2.go:572: no room for it" } } });
    const failing = run();
    const unfault = { ...failing.services, sleep: async () => undefined };
    const observe = vi.fn();
    const error = await failure(
      up(
        {
          ...failing,
          services: unfault,
          onEvent: (event) => {
            observe(event);
            // What kept the engine from making it is over when it goes back.
            if (event.event === "phase" && event.message.startsWith("Going back")) plugins.fault({});
          },
        },
        UP,
      ),
    );
    expect(error.message).toBe("lab-one: no room for it; what one had before serves again.");
    expect(JSON.stringify(observe.mock.calls)).not.toContain("provider2.go");
    expect(readFileSync(error.details.log ?? "", "utf8")).toContain("provider2.go");
    expect(zone()).toBe("UTC");
    writeProject(dir, SHAPE);
    expect((await preview(run())).changes).toEqual([]);
  });

  it("is said in a rollout with its last words, and goes back there, too", async () => {
    writeProject(dir, { ...SHAPE, timezone: BAD });
    const result = await roll(run(), { image: undefined, adopt: false, yes: true, onFailure: "rollback" });
    expect(result).toMatchObject({
      healthy: false,
      roll: {
        outcome: "rolled_back",
        failed: "one",
        reason: "The node one does not start: it ends again and again (exit code 1).",
        last_words: ["starting", "Error: no such zone, says [redacted]"],
        log: expect.stringContaining(join("infra", "logs")),
      },
    });
    expect(zone()).toBe("UTC");
  });

  it("that is never ready fails when its time is over, with what its health check says", async () => {
    const unready: StubHealth = {
      state: "running",
      health: "unhealthy",
      restarts: 0,
      reason: "its health check says: no",
    };
    const error = await failure(up(run({ health: () => (zone() === BAD ? unready : undefined) }), UP));
    expect(error.message).toContain("it is not ready after 300 s, its health check says: no; what one had before");
    expect(readdirSync(join(dir, "infra/logs")).length).toBeGreaterThan(3);
  });
});
