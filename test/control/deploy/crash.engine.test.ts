/** Commands of `infra` that are killed, stopped or doubled in the middle: what they began is finished once, by the same command. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { destroy } from "../../../control/deploy/operations/destroy.ts";
import { unlock } from "../../../control/deploy/operations/unlock.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { SCHEMAS } from "../../../control/deploy/schemas.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { until } from "../../support/eventually.ts";
import { type InfraProcess, spawnInfra } from "../../support/infra-process.ts";
import { infraRun, writeProject } from "../../support/infra-project.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const DESTROY = { yes: true, deleteData: false, confirm: undefined, backupTaken: undefined } as const;
const UNLOCK = { force: undefined, restoreState: false, copy: undefined } as const;
const ME = `${userInfo().username}@${hostname()}`;

let base: string;
let dir: string;
let plugins: StubPlugins;
const started: InfraProcess[] = [];

const run = () => infraRun({ dir, home: join(base, "home"), target: { plugins } });
const start = (...argv: string[]): InfraProcess => {
  const env = { ...process.env, SERVICE_HOME: join(base, "home") };
  const made = spawnInfra({ stubs: join(base, "stubs"), argv: [...argv, "--dir", dir], env });
  started.push(made);
  return made;
};
const calls = (op: string) => plugins.calls().flatMap((call) => (call.op === op ? [call.name] : []));
const names = () =>
  Object.values(plugins.resources())
    .map(({ props }) => props["name"])
    .filter((name) => typeof name === "string")
    .sort();
/** Waits until the stub holds a call: the operation is in its middle. */
const held = (call: string) => until(() => plugins.isHeld(call));
/** The command and its engine at once, as a power cut would. */
const cut = async (made: InfraProcess): Promise<void> => {
  for (const pid of made.engines()) process.kill(pid, "SIGKILL");
  made.kill("SIGKILL");
  await made.ended;
};

describe("a command that ends in its middle", { concurrent: false }, () => {
  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), "cairn-crash-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
    writeProject(dir, { stack: "lab", nodes: ["one"], postgres: false });
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    plugins.forget();
    plugins.fault({});
  });
  afterAll(async () => {
    for (const made of started) await cut(made);
    rmSync(base, { recursive: true, force: true });
  });

  it("up: a second operator is refused with the name of the first, and after kill -9 the same command finishes it", async () => {
    plugins.fault({ at: { "create lab-one": { kind: "hold" } } });
    const first = start("up", "--yes", "--json");
    await held("create lab-one");
    await expect(up(run(), UP)).rejects.toMatchObject({
      code: "INFRA_LOCKED",
      message: expect.stringMatching(new RegExp(`${ME}: .cairn infra up. \\(process ${first.pid},`)),
    });
    await expect(unlock(run(), UNLOCK)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    await cut(first);
    plugins.fault({});

    // The record of the dead holder outlives its lock: the next command says what it found.
    const second = run();
    expect(await up(second, UP)).toMatchObject({ healthy: true });
    expect(second.events).toContainEqual(
      expect.objectContaining({ severity: "warning", message: expect.stringContaining(`(process ${first.pid},`) }),
    );
    // The stub refuses a second creation of the same name; the one that there is was not replaced either.
    expect(calls("create").filter((name) => name === "lab-one")).toHaveLength(1);
    expect(calls("delete")).toEqual([]);
  });

  it("destroy: after kill -9 unlock and destroy finish it, and the data are there", async () => {
    plugins.fault({ at: { "delete lab-one": { kind: "hold" } } });
    const first = start("destroy", "--yes");
    await held("delete lab-one");
    await cut(first);
    plugins.fault({});
    const unlocked = SCHEMAS["infra-unlock"].parse(await unlock(run(), UNLOCK));
    expect(unlocked.cleared).toContainEqual(expect.objectContaining({ pid: first.pid, command: "destroy" }));
    expect(unlocked.pending).toContainEqual(expect.objectContaining({ name: "lab-one", operation: "deleting" }));
    const result = await destroy(run(), DESTROY);
    expect(result?.kept.map(({ name }) => name)).toEqual(["lab-one-home", "lab-one-workspace"]);
    expect(names()).toEqual(["lab-one-home", "lab-one-workspace"]);
    expect(await unlock(run(), UNLOCK)).toMatchObject({ cleared: [], pending: [] });
  });

  it("Ctrl-C: the step at hand is ended and recorded, and the same command goes on without unlocking", async () => {
    plugins.fault({ at: { "create lab-one.files": { kind: "hold" } } });
    const first = start("up", "--yes", "--json");
    await held("create lab-one.files");
    first.kill("SIGINT");
    await until(() => first.engines().length === 1);
    // The step is let go only once the engine knows that it is to stop.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    plugins.fault({});
    const { code, stdout } = await first.ended;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      error: { code: "RUNTIME_INTERRUPTED", message: "The command was interrupted." },
    });
    expect(calls("create")).not.toContain("lab-one");
    expect(names()).toContain("lab-one.files");
    plugins.forget();
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    expect(calls("create")).not.toContain("lab-one.files");
  });

  it.each(["unlock", "up"])(
    "only the command killed: the engine ends its step by itself, and %s waits for it",
    async (next) => {
      writeProject(dir, { stack: "lab", nodes: ["one"], postgres: false, memory: next === "up" ? "704Mi" : "640Mi" });
      plugins.fault({ at: { "update lab-one": { kind: "hold" } } });
      const first = start("up", "--yes");
      await held("update lab-one");
      const engines = first.engines();
      expect(engines).toHaveLength(1);
      first.kill("SIGKILL");
      await first.ended;
      plugins.fault({});
      if (next === "unlock") expect((await unlock(run(), UNLOCK)).cleared[0]).toMatchObject({ pid: first.pid });
      else expect(await up(run(), UP)).toMatchObject({ healthy: true });
      // Its lock goes a moment before the process.
      await expect.poll(() => existsSync(`/proc/${engines[0]}`), { timeout: EVENTUALLY_MS }).toBe(false);
      expect(await up(run(), UP)).toMatchObject({ healthy: true });
      expect(readFileSync(join(dir, "infra/.lock"), "utf8")).toBe("");
    },
  );
});
