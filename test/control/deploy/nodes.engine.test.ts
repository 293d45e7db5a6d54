/** Nodes that are taken out of a stack, and renamed, on a real engine: the others are not touched, and data are where they are said to be. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { removeNode } from "../../../control/deploy/operations/nodes/remove-node.ts";
import { renameNode } from "../../../control/deploy/operations/nodes/rename-node.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import type { NodeAccess } from "../../../control/deploy/operations/services.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { SCHEMAS } from "../../../control/deploy/schemas.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { infraRun, writeProject } from "../../support/infra-project.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const REMOVE = { data: "keep", confirm: undefined, yes: true } as const;

let base: string;
let dir: string;
let plugins: StubPlugins;
let failing: string | null = null;

const nodes: NodeAccess = {
  call: () => Promise.reject(new Error("no node is called here")),
  gate: async ({ node }) => {
    if (node === failing) throw new Error(`${node} does not answer`);
  },
  pause: async () => undefined,
  resume: async () => undefined,
};
const run = () => infraRun({ dir, home: join(base, "home"), target: { plugins }, services: { nodes } });
const touched = (): string[] => {
  const changed = plugins.calls().filter(({ op }) => op !== "read");
  return [...new Set(changed.map(({ name }) => name))].sort();
};
const named = () =>
  Object.values(plugins.resources())
    .map(({ props }) => String(props["name"]))
    .sort();
const configuration = () => readFileSync(join(dir, "cairn.yaml"), "utf8");
/** Agents that are bound to no node run on any. */
const unbind = (node: string) =>
  writeFileSync(
    join(dir, "cairn.yaml"),
    configuration().replace(`{ provider: offline, node: ${node} }`, "{ provider: offline }"),
  );
const portOf = (container: string) => {
  const found = Object.values(plugins.resources()).find(({ props }) => props["name"] === container);
  return JSON.stringify(found?.props["ports"]);
};

describe("nodes of a stack", { concurrent: false }, () => {
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), "cairn-nodes-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
    writeProject(dir, { stack: "lab", nodes: ["one", "two", "three"] });
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    await up(run(), UP);
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    plugins.forget();
    failing = null;
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("are not taken out while an agent could run nowhere else, and the hint is a way", async () => {
    await expect(removeNode(run(), { ...REMOVE, node: "one" })).rejects.toMatchObject({
      code: "INFRA_UP_REFUSED",
      message: expect.stringContaining("agent-one"),
      details: { hint: expect.stringContaining("agents.agent-one.node") },
    });
    await expect(removeNode(run(), { ...REMOVE, node: "four" })).rejects.toThrow(/There is no node four/);
    expect(touched()).toEqual([]);
  });

  it("are taken out without a change to the others, whose ports stay, and their data stay", async () => {
    unbind("two");
    await up(run(), { ...UP, node: "one" });
    await up(run(), { ...UP, node: "two" });
    await up(run(), { ...UP, node: "three" });
    const port = portOf("lab-three");
    plugins.forget();
    const result = SCHEMAS["infra-node-remove"].parse(await removeNode(run(), { ...REMOVE, node: "two" }));
    expect(result.kept.map(({ name }) => name)).toEqual(["lab-two-home", "lab-two-workspace"]);
    expect(result.waiting).toEqual([]);
    expect(touched().filter((name) => !name.startsWith("lab-two"))).toEqual([]);
    expect(named().filter((name) => name.startsWith("lab-two"))).toEqual(["lab-two-home", "lab-two-workspace"]);
    expect(configuration()).not.toContain("name: two");
    expect(portOf("lab-three")).toBe(port);
    const record = JSON.parse(readFileSync(join(dir, "infra/stack.json"), "utf8"));
    expect(record.nodes.map(({ name }: { name: string }) => name)).toEqual(["one", "three"]);
    expect((await preview(run())).changes).toEqual([]);
    // The stub names data of every node.
    expect((await up(run(), { ...UP, adopt: true }))?.nodes.map(({ name }) => name)).toEqual(["one", "three"]);
    // The same command again has nothing to do, and says that there is no such node.
    await expect(removeNode(run(), { ...REMOVE, node: "two" })).rejects.toThrow(/There is no node two/);
  });

  it("come back with their data when they are added again", async () => {
    writeFileSync(
      join(dir, "cairn.yaml"),
      configuration().replace("  datahub:", "    - { name: two, port: 7440 }\n  datahub:"),
    );
    const result = await up(run(), { ...UP, adopt: true });
    expect(result).toMatchObject({ healthy: true, adopted: ["lab-two-home", "lab-two-workspace"] });
  });

  it("that cairn.yaml has lost already are taken out by the command that the refusal of `up` names, and archived under their name", async () => {
    writeFileSync(join(dir, "cairn.yaml"), configuration().replace("    - { name: two, port: 7440 }\n", ""));
    await expect(up(run(), UP)).rejects.toMatchObject({
      code: "INFRA_DATA_PROTECTED",
      details: { hint: expect.stringContaining("`cairn infra node remove NAME`") },
    });
    const asked = { ...REMOVE, node: "two", data: "archive" } as const;
    await expect(removeNode(run(), { ...asked, confirm: "one" })).rejects.toThrow(/not the node's name/);
    await expect(removeNode(run(), asked)).rejects.toThrow(/cannot be asked for without a terminal/);
    const result = await removeNode(run(), { ...asked, confirm: "two" });
    expect(result?.deleted.map(({ name }) => name)).toEqual(["lab-two-home", "lab-two-workspace"]);
    expect(readFileSync(result?.archive ?? "", "utf8")).toBe("lab-two-home\nlab-two-workspace");
    expect(named().filter((name) => name.startsWith("lab-two"))).toEqual([]);
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
  });

  it("get another name with a copy of their data, and their agents follow", async () => {
    plugins.forget();
    const result = SCHEMAS["infra-node-rename"].parse(
      await renameNode(run(), { from: "three", to: "trois", yes: true }),
    );
    expect(result).toMatchObject({
      outcome: "renamed",
      reason: null,
      kept: [{ name: "lab-three-home" }, { name: "lab-three-workspace" }],
    });
    expect(touched().filter((name) => !/^lab-(three|trois)/.test(name))).toEqual([]);
    expect(named()).toEqual(expect.arrayContaining(["lab-trois", "lab-trois-home", "lab-trois-workspace"]));
    expect(named()).not.toContain("lab-three");
    expect(configuration()).toMatch(/node: trois/);
    expect(configuration()).not.toMatch(/node: three/);
    // What is left is the agent's binding, which every node has in its file.
    expect((await preview(run())).changes.filter(({ name }) => !name.startsWith("lab-one"))).toEqual([]);
    expect(existsSync(join(dir, "infra/deployed/trois.json"))).toBe(true);
    // The stub's driver knows of all volumes, those under the former name among them.
    await up(run(), { ...UP, adopt: true });
  });

  it("do not get a name under which data of a former node stand, and nothing is changed", async () => {
    // A rename that was cut off and not repeated: its node runs again under its own name.
    writeFileSync(join(dir, "infra/node-rename.json"), JSON.stringify({ schema: 1, from: "trois", to: "three" }));
    await up(run(), { ...UP, adopt: true });
    plugins.forget();
    await expect(renameNode(run(), { from: "trois", to: "three", yes: true })).rejects.toMatchObject({
      code: "INFRA_DATA_EXISTS",
      message: expect.stringContaining("lab-three-home"),
    });
    expect(touched()).toEqual([]);
    expect(configuration()).toMatch(/node: trois/);
  });

  it("have their former name again where the new one does not pass", async () => {
    failing = "quatre";
    const result = await renameNode(run(), { from: "trois", to: "quatre", yes: true });
    expect(result).toMatchObject({ outcome: "rolled_back", reason: "quatre does not answer" });
    expect(named()).toContain("lab-trois");
    // The copies, too: the originals serve again.
    expect(named().filter((name) => name.startsWith("lab-quatre"))).toEqual([]);
    expect(configuration()).toMatch(/node: trois/);
    expect((await preview(run())).changes).toEqual([]);
  });

  it("leave the others another share of the machine's memory, which is said, and applied by the next up", async () => {
    const file = join(dir, "infra/release.json");
    const release = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify({ ...release, machines: { local: 4 * 1024 ** 3 } }));
    writeFileSync(join(dir, "cairn.yaml"), configuration().replaceAll(", memory: 512Mi", ""));
    unbind("trois");
    for (const node of ["one", "trois"]) await up(run(), { ...UP, node, adopt: true });
    const result = await removeNode(run(), { ...REMOVE, node: "trois" });
    expect(result?.waiting).toEqual(["one"]);
    expect((await preview(run())).changes).not.toEqual([]);
    await up(run(), { ...UP, adopt: true });
    expect((await preview(run())).changes).toEqual([]);
  });
});
