/** Nodes that make their certificates themselves, on a real engine with stub providers: what they show is learned with each run. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { roll } from "../../../control/deploy/operations/roll/roll.ts";
import type { NodeAccess } from "../../../control/deploy/operations/services.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { SCHEMAS } from "../../../control/deploy/schemas.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { infraRun, type ProjectShape, writeProject } from "../../support/infra-project.ts";

const SHAPE: ProjectShape = { stack: "lab", nodes: ["one", "two"], tls: true };
const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const pin = (byte: string) => Array(32).fill(byte).join(":");

let base: string;
let dir: string;
let plugins: StubPlugins;
/** First byte of what each node shows. */
let shown: Record<string, string>;
/** What was recorded of a node when its gate was asked. */
let gated: string[];
/** Where a gate asked its node. */
let gates: string[];
/** Whether nodes without TLS fail their gate. */
let failing = false;

const announced = (node: string) =>
  JSON.stringify({ certificate_sha256: pin(shown[node] ?? "00"), next_certificate_sha256: pin("FF") });
const recorded = (): Record<string, string> => {
  const { nodes } = JSON.parse(readFileSync(join(dir, "infra", "stack.json"), "utf8"));
  return Object.fromEntries(nodes.map((node: Record<string, string>) => [node["name"], node["certificate_sha256"]]));
};
const access: NodeAccess = {
  call: () => Promise.reject(new Error("no node is called here")),
  async gate({ node, driver, project }) {
    gated.push(`${node} ${recorded()[node]?.slice(0, 2)}`);
    const { url } = await driver.connect(node, new AbortController().signal);
    gates.push(url);
    if (failing && project.plan.nodes.some(({ name, tls }) => name === node && !tls))
      throw new Error("it does not pass");
  },
  pause: async () => undefined,
  resume: async () => undefined,
};
const run = () =>
  infraRun({ dir, home: join(base, "home"), target: { plugins, announced }, services: { nodes: access } });

describe("nodes that make their certificates themselves", { concurrent: false }, () => {
  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), "cairn-certificates-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
    writeProject(dir, SHAPE);
    shown = { one: "A1", two: "B1" };
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    gated = [];
    gates = [];
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("are asked in their containers once they are healthy, and recorded", async () => {
    const result = SCHEMAS["infra-up"].parse(await up(run(), UP));
    const nodes = [
      { name: "one", url: "https://127.0.0.1:7433", certificate_sha256: pin("A1"), next_certificate_sha256: pin("FF") },
      { name: "two", url: "https://127.0.0.1:7434", certificate_sha256: pin("B1"), next_certificate_sha256: pin("FF") },
    ];
    expect(result.nodes).toMatchObject(nodes);
    expect(recorded()).toEqual({ one: pin("A1"), two: pin("B1") });
    expect(SCHEMAS["infra-status"].parse(await status(run())).nodes).toMatchObject(nodes);
  });

  it("are asked again by a run that changes nothing: a home may be another one", async () => {
    shown = { ...shown, two: "B2" };
    expect(SCHEMAS["infra-up"].parse(await up(run(), UP)).changes).toEqual([]);
    expect(recorded()).toEqual({ one: pin("A1"), two: pin("B2") });
    // A run for one node leaves the other's.
    shown = { one: "A3", two: "B3" };
    await up(run(), { ...UP, node: "one" });
    expect(recorded()).toEqual({ one: pin("A3"), two: pin("B2") });
  });

  it("are recorded by a rollout before each is tested", async () => {
    shown = { one: "A4", two: "B4" };
    writeProject(dir, { ...SHAPE, timezone: "Europe/Berlin" });
    const result = await roll(run(), { image: undefined, adopt: false, yes: true, onFailure: "rollback" });
    expect(result).toMatchObject({ healthy: true, roll: { outcome: "rolled", done: ["one", "two"] } });
    expect(gated).toEqual(["one A4", "two B4"]);
  });

  it("are asked as what they are, on the way back from a change to plain HTTP", async () => {
    failing = true;
    writeProject(dir, { ...SHAPE, tls: false, timezone: "Europe/Berlin" });
    const result = await roll(run(), { image: undefined, adopt: false, yes: true, onFailure: "rollback" });
    failing = false;
    expect(result).toMatchObject({ roll: { outcome: "rolled_back", failed: "one" } });
    expect(gates).toEqual(["http://127.0.0.1:7433", "https://127.0.0.1:7433"]);
    expect(recorded()).toEqual({ one: pin("A4"), two: pin("B4") });
  });

  it("are no more asked when they are given none any more", async () => {
    writeProject(dir, { ...SHAPE, tls: false, timezone: "Europe/Berlin" });
    await roll(run(), { image: undefined, adopt: false, yes: true, onFailure: "rollback" });
    expect(recorded()).toEqual({ one: null, two: null });
  });
});
