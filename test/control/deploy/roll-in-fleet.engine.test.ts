/** A rollout through the database that nodes share, on a real engine: lease, fences, drains, journal, resumption. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Drift } from "../../../control/deploy/inspection.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { throughDatabase } from "../../../control/deploy/operations/roll/in-fleet.ts";
import { type RollOptions, roll } from "../../../control/deploy/operations/roll/roll.ts";
import type { NodeAddress } from "../../../control/deploy/operations/services.ts";
import { unlock } from "../../../control/deploy/operations/unlock.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { SCHEMAS } from "../../../control/deploy/schemas.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { infraRun, type ProjectShape, writeProject } from "../../support/infra-project.ts";
import { type FleetInMemory, fleetInMemory } from "../../support/rollout/fleet-in-memory.ts";

const SHAPE: ProjectShape = { stack: "lab", nodes: ["one", "two"] };
const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const UNLOCK = { force: undefined, restoreState: false, copy: undefined } as const;
const FLEET = { resume: false, canary: undefined, maxUnavailable: 1 };
const digest = (letter: string) => `registry.example.org/cairn@sha256:${letter.repeat(64)}`;

let base: string;
let dir: string;
let plugins: StubPlugins;
let fleet: FleetInMemory;
/** Commands to hosts: `stop one 1.4`, `fence two 1.2`. */
let fenced: string[];

interface Play {
  /** Called with what a node is to pass; it may fail. */
  readonly gate?: (node: string, image: string) => void;
  readonly onFence?: (node: string, stop: boolean) => void;
  readonly signal?: AbortSignal;
  readonly drift?: readonly Drift[];
}

/** Nodes whose container was stopped, with its image; another container runs. */
const halted = new Map<string, string>();

const run = ({ gate = () => undefined, onFence = () => undefined, signal, drift = [] }: Play = {}) =>
  infraRun({
    dir,
    home: join(base, "home"),
    ...(signal === undefined ? {} : { signal }),
    target: {
      plugins,
      get drift() {
        const start = (node: string) => () => {
          halted.delete(node);
          fleet.unready.delete(node);
        };
        const found = [...halted.keys()].filter((node) => isHalted(node)).map((node) => stopped(node, start(node)));
        return [...drift, ...found];
      },
      health: (node) => (isHalted(node) ? HALTED : undefined),
      onFence: (node, { token, stop }) => {
        fenced.push(`${stop ? "stop" : "fence"} ${node} ${token.lease}`);
        if (stop) halted.set(node, imageOf(node));
        onFence(node, stop);
      },
    },
    services: {
      // A second of a rollout takes a millisecond.
      sleep: (ms, own) => wait(ms / 1_000, undefined, { signal: own }),
      nodes: {
        call: fleet.call,
        gate: async ({ project, node }: NodeAddress) => {
          const image = project.plan.nodes.find(({ name }) => name === node)?.image;
          gate(node, image?.digest ?? image?.id ?? "");
        },
        pause: async () => undefined,
        resume: async () => undefined,
      },
    },
  });
const rolled = async (image: string | undefined, play: Play = {}, more: Partial<RollOptions> = {}) => {
  const options: RollOptions = {
    image,
    adopt: false,
    yes: true,
    onFailure: "rollback",
    fleet: throughDatabase(FLEET),
    ...more,
  };
  return SCHEMAS["infra-up"].parse(await roll(run(play), options));
};
const HALTED = { state: "stopped", health: "unhealthy", restarts: 0 } as const;
const imageOf = (node: string): string => {
  const found = Object.values(plugins.resources()).find(({ props }) => props["name"] === `lab-${node}`);
  return String(found?.props["image"]);
};
const isHalted = (node: string): boolean => halted.get(node) === imageOf(node);
/** The image that each node's container was made with, by its letter. */
const images = (): string[] => SHAPE.nodes.map((node) => imageOf(node).at(-1) ?? "");

describe("a rollout through a shared database", { concurrent: false }, () => {
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), "cairn-roll-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
    fleet = fleetInMemory(SHAPE.nodes);
    fenced = [];
    writeProject(dir, SHAPE);
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    await up(run(), { ...UP, image: digest("a") });
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    plugins.forget();
    plugins.fault({});
    fleet.seen.length = 0;
    fenced = [];
    halted.clear();
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("fences all, and then drains, stops, changes and tests one node after the other, the canary first", async () => {
    const result = await rolled(digest("b"), {}, { fleet: throughDatabase({ ...FLEET, canary: "two" }) });
    expect(result).toMatchObject({ healthy: true, roll: { outcome: "rolled", done: ["two", "one"] } });
    expect(fenced).toEqual(["fence two 1", "fence one 1", "stop two 1", "stop one 1"]);
    expect(fleet.seen).toEqual(["drain two with lease 1", "drain one with lease 1"]);
    expect(fleet.rollouts).toMatchObject([
      {
        to: digest("b"),
        from: [
          { node: "two", image: digest("a") },
          { node: "one", image: digest("a") },
        ],
      },
    ]);
    expect(fleet.rollouts[0]?.steps.map(({ name, state }) => `${name}: ${state}`)).toEqual([
      "apply two: begun",
      "apply two: done",
      "gate two: begun",
      "gate two: done",
      "apply one: begun",
      "apply one: done",
      "gate one: begun",
      "gate one: done",
    ]);
    expect(fleet.rollouts[0]?.end).toMatchObject({ outcome: "passed", done: ["two", "one"] });
    expect(images()).toEqual(["b", "b"]);
    expect((await preview(run())).changes).toEqual([]);
  });

  it("brings back what was stopped by hand under the lease, after every host is fenced", async () => {
    const drift = [stopped("two", () => fenced.push("start two"))];
    expect(await rolled(digest("b"), { drift })).toMatchObject({ healthy: true });
    expect(fenced.map((line) => line.replace(/ \d+$/, ""))).toEqual(["fence one", "fence two", "start two"]);
  });

  it("gives the node that fails, and those before it, the image that they had", async () => {
    const failing = {
      gate: (node: string, image: string) => fail(node === "two" && image === digest("c"), "not that"),
    };
    expect(await rolled(digest("c"), failing)).toMatchObject({
      roll: { outcome: "rolled_back", done: [], failed: "two", reason: expect.stringContaining("not that") },
    });
    expect(images()).toEqual(["b", "b"]);
    expect(fleet.rollouts.at(-1)?.end).toMatchObject({ outcome: "rolled_back", failed: "two" });
    const paused = await rolled(digest("c"), failing, { onFailure: "pause" });
    expect(paused).toMatchObject({ roll: { outcome: "paused", done: ["one"], failed: "two" } });
    expect(images()).toEqual(["c", "b"]);
    // What has it already is left alone.
    fenced = [];
    expect(await rolled(digest("c"))).toMatchObject({ roll: { outcome: "rolled", done: ["two"] } });
    expect(fenced.filter((line) => line.startsWith("stop"))).toEqual([expect.stringMatching(/^stop two /)]);
    expect(images()).toEqual(["c", "c"]);
  });

  it("is refused where it was interrupted, and goes on with --resume, with the image of its journal", async () => {
    const cut = new AbortController();
    const gate = (node: string): void => {
      if (node !== "two") return;
      cut.abort(new Error("the power went out"));
      throw new Error("the power went out");
    };
    await expect(rolled(digest("d"), { gate, signal: cut.signal })).rejects.toThrow("the power went out");
    await unlock(run(), UNLOCK).catch(() => undefined);
    await expect(rolled(digest("e"))).rejects.toMatchObject({
      code: "INFRA_INTERRUPTED",
      details: { hint: expect.stringContaining("`cairn update --mesh --resume`") },
    });
    const resumed = await rolled(undefined, {}, { fleet: throughDatabase({ ...FLEET, resume: true }) });
    expect(resumed).toMatchObject({ roll: { outcome: "rolled", done: ["one", "two"] } });
    expect(images()).toEqual(["d", "d"]);
    await expect(rolled(undefined, {}, { fleet: throughDatabase({ ...FLEET, resume: true }) })).rejects.toMatchObject({
      code: "RUNTIME_NOT_FOUND",
    });
  });

  it("stops where a host has a newer command, and changes nothing there", async () => {
    const before = images();
    const onFence = (node: string, stop: boolean) => {
      if (node === "two" && stop) throw new InfraError("INFRA_LOCKED", "Somebody else changes two now.");
    };
    await expect(rolled(digest("e"), { onFence }, { onFailure: "pause" })).rejects.toMatchObject({
      code: "INFRA_LOCKED",
    });
    expect(images()).toEqual(["e", before[1]]);
    expect(await rolled(undefined, {}, { fleet: throughDatabase({ ...FLEET, resume: true }) })).toMatchObject({
      roll: { outcome: "rolled" },
    });
    expect(images()).toEqual(["e", "e"]);
  });

  it("starts a node again that had stopped serving, also where nothing of it changes", async () => {
    fleet.unready.add("two");
    expect(await rolled(digest("e"))).toMatchObject({ healthy: true, roll: { outcome: "rolled", done: ["two"] } });
    expect(fenced.filter((line) => line.startsWith("stop")).map((line) => line.replace(/ \d+$/, ""))).toEqual([
      "stop two",
    ]);
    expect([...halted.keys()]).toEqual([]);
    expect(images()).toEqual(["e", "e"]);
  });

  it("gives a node that fails what it had, also where another machine had given it that", async () => {
    const copy = join(dir, "infra/deployed/two.json");
    const former = readFileSync(copy, "utf8");
    expect(await rolled(digest("f"))).toMatchObject({ roll: { outcome: "rolled" } });
    // This machine has not seen it.
    writeFileSync(copy, former);
    const gate = (node: string, image: string) => fail(node === "two" && image === digest("0"), "not that");
    expect(await rolled(digest("0"), { gate })).toMatchObject({ roll: { outcome: "rolled_back", failed: "two" } });
    expect(images()).toEqual(["f", "f"]);
  });

  it("refuses to take away what another machine has made in the place of what is recorded here", async () => {
    let removed = 0;
    const drift = [{ ...stopped("two", () => removed++), kind: "replaced" } as const];
    await expect(rolled(digest("0"), { drift })).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
    expect([removed, fleet.seen, images()]).toEqual([0, [], ["f", "f"]]);
  });

  it("applies nothing more where it stopped before all nodes had their turn", async () => {
    const end = {
      outcome: "paused",
      done: [],
      failed: null,
      reason: "two is out of service.",
      stuck: [],
      unknown: [],
      cause: undefined,
    } as const;
    const held = { ...throughDatabase(FLEET), run: async () => end };
    writeProject(dir, { ...SHAPE, nodes: [...SHAPE.nodes, "three"] });
    fleet = fleetInMemory([...SHAPE.nodes, "three"]);
    try {
      const result = await rolled(digest("0"), {}, { fleet: held });
      expect(result).toMatchObject({ healthy: false, roll: { outcome: "paused", done: [] } });
      expect(images()).toEqual(["f", "f"]);
    } finally {
      writeProject(dir, SHAPE);
      fleet = fleetInMemory(SHAPE.nodes);
    }
  });

  it("asks another node where one is away, and is refused while somebody else has the lease", async () => {
    fleet.unreachable.add("one");
    fleet.take("bob@den");
    // What another command line has just stopped looks as if it had been stopped by hand.
    const drift = [stopped("two", () => fenced.push("start two"))];
    await expect(rolled(digest("1"), { drift })).rejects.toMatchObject({
      code: "INFRA_LOCKED",
      message: "The fleet is being changed by bob@den.",
    });
    expect(fenced).toEqual([]);
    // So are those that ask no host.
    const other = { image: digest("1"), adopt: false, yes: true, onFailure: "rollback" } as const;
    for (const change of [() => roll(run(), other), () => up(run(), { ...UP, image: digest("1"), node: "two" })]) {
      await expect(change()).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    }
    fleet.unreachable.add("two");
    await expect(rolled(digest("1"))).rejects.toMatchObject({ code: "INFRA_HOST_UNREACHABLE" });
    expect(images()).toEqual(["f", "f"]);
  });

  it("takes the lease of an earlier run of this directory at once, which could not give it back, and no other", async () => {
    fleet = fleetInMemory(SHAPE.nodes);
    fleet.losesReleases = true;
    expect(await up(run(), { ...UP, image: digest("1"), node: "two" })).toMatchObject({ healthy: true });
    fleet.losesReleases = false;
    expect(await up(run(), { ...UP, image: digest("2"), node: "two" })).toMatchObject({ healthy: true });
    fleet.take("bob@den");
    await expect(up(run(), { ...UP, image: digest("3"), node: "two" })).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    fleet.expire();
  });

  it("is refused where the nodes share no database, and where it could leave none", async () => {
    fleet = fleetInMemory(["one"]);
    await expect(rolled(digest("1"))).rejects.toMatchObject({
      code: "INFRA_UP_REFUSED",
      message: "one shares no database with two.",
    });
    fleet = fleetInMemory(SHAPE.nodes);
    await expect(rolled(digest("1"), {}, { fleet: throughDatabase({ ...FLEET, maxUnavailable: 2 }) })).rejects.toThrow(
      /none of the 2 nodes/,
    );
    await expect(rolled(digest("1"), {}, { fleet: throughDatabase({ ...FLEET, canary: "three" }) })).rejects.toThrow(
      /no node three/,
    );
  });
});

function stopped(node: string, start: () => void): Drift {
  const words = { message: `lab-${node} is stopped.`, remedy: "It is started." };
  const engine = { forget: [], replace: [], rerun: [], repair: async () => start() };
  return { kind: "stopped", name: `lab-${node}`, place: "local", node, dataLost: false, ...words, ...engine };
}

function fail(condition: boolean, why: string): void {
  if (condition) throw new Error(why);
}
