/** What would stop several nodes, applied to one after the other on a real engine: in order, tested, back where one fails, after a kill. */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { type RollOptions, roll } from "../../../control/deploy/operations/roll/roll.ts";
import type { NodeAccess, ReadProject } from "../../../control/deploy/operations/services.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { SCHEMAS } from "../../../control/deploy/schemas.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { until } from "../../support/eventually.ts";
import { type InfraProcess, spawnInfra } from "../../support/infra-process.ts";
import { infraRun, type ProjectShape, writeProject } from "../../support/infra-project.ts";

const SHAPE: ProjectShape = { stack: "lab", nodes: ["one", "two"] };
const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const ROLL: RollOptions = { image: undefined, adopt: false, yes: true, onFailure: "rollback" };

let base: string;
let dir: string;
let plugins: StubPlugins;
/** What happened to nodes, in order: `replace lab-one`, `gate one UTC`, `pause one`. */
let seen: string[];
const started: InfraProcess[] = [];

const configured = (project: ReadProject, node: string): string => {
  const { files = [] } = project.plan.nodes.find(({ name }) => name === node) ?? {};
  return /timezone: (\S+)/.exec(files.find(({ path }) => path.endsWith("/cairn.yaml"))?.content ?? "")?.[1] ?? "UTC";
};
const containers = (): string[] =>
  plugins
    .calls()
    .filter(({ op, name }) => op === "create" && /^lab-[a-z]+$/.test(name))
    .map(({ name }) => name);
const access = (failing: (node: string, timezone: string) => boolean): NodeAccess => ({
  call: () => Promise.reject(new Error("no node is called here")),
  async gate({ project, node }) {
    const timezone = configured(project, node);
    // Everything that the engine has made so far was made before this.
    seen.push(`gate ${node} ${timezone} after ${containers().join(" ")}`);
    if (failing(node, timezone)) throw new Error(`${node} does not know ${timezone}`);
  },
  pause: async ({ node }) => void seen.push(`pause ${node} after ${containers().join(" ")}`),
  resume: async ({ node }) => void seen.push(`resume ${node} after ${containers().join(" ")}`),
});
const run = (failing: (node: string, timezone: string) => boolean = () => false) =>
  infraRun({ dir, home: join(base, "home"), target: { plugins }, services: { nodes: access(failing) } });
const rolled = async (made: ReturnType<typeof run>, more: Partial<RollOptions> = {}) =>
  SCHEMAS["infra-up"].parse(await roll(made, { ...ROLL, ...more }));
/** The time zone that each node's container was made with. */
const zones = (): Record<string, string> => {
  const all = Object.values(plugins.resources());
  const zoneOf = (node: string): string => {
    const files = all.find(({ props }) => props["name"] === `lab-${node}.files`);
    return /timezone: ([A-Za-z/]+)/.exec(JSON.stringify(files?.props["uploads"]))?.[1] ?? "UTC";
  };
  return Object.fromEntries(SHAPE.nodes.map((node) => [node, zoneOf(node)]));
};
const all = (zone: string) => ({ one: zone, two: zone });
const journal = () => join(dir, "infra/rollout.json");

describe("up --roll", { concurrent: false }, () => {
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), "cairn-roll-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
    writeProject(dir, SHAPE);
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    await up(run(), UP);
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    plugins.forget();
    plugins.fault({});
    seen = [];
  });
  afterAll(async () => {
    for (const made of started) {
      for (const pid of made.engines()) process.kill(pid, "SIGKILL");
      made.kill("SIGKILL");
      await made.ended;
    }
    rmSync(base, { recursive: true, force: true });
  });

  it("does what `up` refuses, in the words of the refusal: one node after the other, each tested before the next", async () => {
    writeProject(dir, { ...SHAPE, timezone: "Europe/Berlin" });
    await expect(up(run(), UP)).rejects.toMatchObject({
      code: "INFRA_UP_REFUSED",
      details: { hint: expect.stringContaining("`cairn infra up --roll`") },
    });
    const result = await rolled(run());
    expect(result).toMatchObject({ healthy: true, roll: { outcome: "rolled", done: ["one", "two"] } });
    expect(seen).toEqual(["gate one Europe/Berlin after lab-one", "gate two Europe/Berlin after lab-one lab-two"]);
    expect(zones()).toEqual(all("Europe/Berlin"));
    expect(existsSync(journal())).toBe(false);
    expect((await preview(run())).changes).toEqual([]);
  });

  it("changes nothing where nothing differs", async () => {
    expect(await rolled(run())).toMatchObject({ healthy: true, changes: [], roll: { outcome: "unchanged" } });
    expect(seen).toEqual([]);
    expect(containers()).toEqual([]);
  });

  it("gives the node that fails, and those before it, what they had", async () => {
    writeProject(dir, { ...SHAPE, timezone: "Asia/Tokyo" });
    const result = await rolled(run((node, zone) => node === "two" && zone === "Asia/Tokyo"));
    expect(result).toMatchObject({
      healthy: false,
      roll: { outcome: "rolled_back", done: [], failed: "two", reason: "two does not know Asia/Tokyo" },
    });
    expect(zones()).toEqual(all("Europe/Berlin"));
    expect(seen.map((line) => line.split(" after ")[0])).toEqual([
      "gate one Asia/Tokyo",
      "gate two Asia/Tokyo",
      "gate two Europe/Berlin",
      "gate one Europe/Berlin",
    ]);
    expect(existsSync(journal())).toBe(false);
  });

  it("with pause gives it to the one that fails alone, and goes on from there the next time", async () => {
    const failing = run((node, zone) => node === "two" && zone === "Asia/Tokyo");
    const paused = await rolled(failing, { onFailure: "pause" });
    expect(paused).toMatchObject({ healthy: false, roll: { outcome: "paused", done: ["one"], failed: "two" } });
    expect(zones()).toEqual({ ...all("Europe/Berlin"), one: "Asia/Tokyo" });
    seen = [];
    expect(await rolled(run())).toMatchObject({ healthy: true, roll: { outcome: "rolled", done: ["two"] } });
    expect(zones()).toEqual(all("Asia/Tokyo"));
  });

  it("says that a node needs somebody where what it had does not work either", async () => {
    writeProject(dir, { ...SHAPE, timezone: "UTC" });
    const result = await rolled(run((node) => node === "one"));
    expect(result).toMatchObject({ healthy: false, roll: { outcome: "operator", failed: "one", done: [] } });
    expect(result?.roll?.reason).toMatch(
      /does not know UTC.*Going back failed, too: one: one does not know Asia\/Tokyo/,
    );
    expect(await rolled(run())).toMatchObject({ roll: { outcome: "rolled" } });
  });

  it("goes on forward after a disk that was full, and does not take that for a failure of the node", async () => {
    writeProject(dir, { ...SHAPE, timezone: "Asia/Seoul" });
    const full = run((node) => {
      if (node === "two") throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      return false;
    });
    await expect(roll(full, ROLL)).rejects.toMatchObject({
      code: "INFRA_DISK_FULL",
      details: { hint: expect.stringContaining("the same command again") },
    });
    expect(await rolled(run())).toMatchObject({ healthy: true, roll: { outcome: "rolled" } });
    expect(zones()).toEqual(all("Asia/Seoul"));
    writeProject(dir, { ...SHAPE, timezone: "UTC" });
    expect(await rolled(run())).toMatchObject({ roll: { outcome: "rolled" } });
  });

  it("restarts PostgreSQL with the nodes waiting, and then goes on", async () => {
    const later = new Date(Date.now() + 6 * 366 * 86_400_000);
    const made = run();
    const renewing = { ...made, services: { ...made.services, now: () => later } };
    expect(await rolled(renewing)).toMatchObject({ healthy: true, roll: { outcome: "rolled", done: [] } });
    expect(seen.map((line) => line.replace(/ after $/, ""))).toEqual([
      "pause one",
      "pause two",
      "resume one after lab-postgres",
      "resume two after lab-postgres",
    ]);
  });

  it("refuses what nodes cannot have one after the other, and what it names then is not refused", async () => {
    writeProject(dir, { ...SHAPE, network: "elsewhere" });
    const refused = { code: "INFRA_UP_REFUSED", details: { hint: expect.stringContaining("`cairn infra destroy`") } };
    await expect(roll(run(), ROLL)).rejects.toMatchObject(refused);
    await expect(up(run(), UP)).rejects.toMatchObject(refused);
    expect(containers()).toEqual([]);
    writeProject(dir, SHAPE);
  });

  const zoneOfGate = (line = ""): string => line.split(" after ")[0] ?? "";

  it.each([
    ["while a node is made", "create lab-two"],
    ["while the files of a node are removed", "delete lab-two.files"],
  ])("goes on after kill -9 %s", { timeout: 120_000 }, async (_words, call) => {
    const zone = call.startsWith("create") ? "Europe/Rome" : "Europe/Paris";
    writeProject(dir, { ...SHAPE, timezone: zone });
    plugins.fault({ at: { [call]: { kind: "hold" } } });
    const env = { ...process.env, SERVICE_HOME: join(base, "home"), STUB_GATE: "passes" };
    const first = spawnInfra({ stubs: join(base, "stubs"), argv: ["up", "--roll", "--yes", "--dir", dir], env });
    started.push(first);
    await until(() => plugins.isHeld(call));
    for (const pid of first.engines()) process.kill(pid, "SIGKILL");
    first.kill("SIGKILL");
    await first.ended;
    plugins.fault({});
    seen = [];
    expect(await rolled(run())).toMatchObject({
      healthy: true,
      roll: { outcome: "rolled", done: ["one", "two"] },
    });
    // The first had passed before; the one that was cut off is tested, whatever the engine had got done.
    expect(seen.map(zoneOfGate).filter((line) => line.startsWith("gate"))).toEqual([`gate two ${zone}`]);
    expect(zones()).toEqual(all(zone));
    expect(existsSync(journal())).toBe(false);
  });
});
