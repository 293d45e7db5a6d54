import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  nodeOf,
  refuseDataLoss,
  refuseManyStops,
  sharedWaiting,
  startsDatabase,
  stoppedNodes,
  targetsOf,
} from "../../../../control/deploy/operations/guards.ts";
import type { Change, Diff } from "../../../../control/deploy/schemas.ts";
import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { DATABASE_ACCESS_TYPE } from "../../../../infra/program.ts";

const CONTAINER = "docker:index/container:Container";
const VOLUME = "docker:index/volume:Volume";

const planOf = (...nodes: string[]) =>
  ({ stack: "lab", nodes: nodes.map((name) => ({ name })) }) as unknown as DeploymentPlan;
const change = (op: Change["op"], name: string, type = CONTAINER): Change => ({
  op,
  type,
  name,
  urn: `urn:pulumi:lab::cairn::cairn:index:Stack$${type}::${name}`,
  properties: [],
});
const diffOf = (...changes: Change[]): Diff => ({
  schema: 1,
  stack: "lab",
  target: "docker",
  summary: { create: 0, update: 0, replace: 0, delete: 0, import: 0, same: 0 },
  changes,
});

describe("what `up` refuses", () => {
  it.each<[string, Change[], string[]]>([
    ["two containers replaced", [change("replace", "lab-a"), change("replace", "lab-b")], ["a", "b"]],
    ["one replaced, one removed", [change("replace", "lab-a"), change("delete", "lab-b")], ["a", "b"]],
    ["containers updated in place", [change("update", "lab-a"), change("update", "lab-b")], []],
    ["their files and volumes", [change("replace", "lab-a.files"), change("replace", "lab-b-home", VOLUME)], []],
    ["the database", [change("replace", "lab-postgres"), change("replace", "lab-a")], ["a"]],
    ["StatefulSets updated", ["a", "b"].map((n) => change("update", `lab-${n}`, "kubernetes:apps/v1:StatefulSet")), []],
    [
      "containers on Proxmox changed",
      ["a", "b"].map((n) => change("update", `lab-${n}-container`, "command:remote:Command")),
      ["a", "b"],
    ],
    [
      "images on Proxmox changed",
      ["a", "b"].map((n) => change("update", `lab-${n}-image`, "command:remote:Command")),
      [],
    ],
  ])("counts the nodes that %s would stop", (_words, changes, stopped) => {
    expect(stoppedNodes(diffOf(...changes), planOf("a", "b"))).toEqual(stopped);
  });

  it("refuses exactly when more than one stopped node is running", () => {
    const names = ["a", "b", "c", "d"];
    fc.assert(
      fc.property(fc.subarray(names), fc.subarray(names), (replaced, running) => {
        const diff = diffOf(...replaced.map((name) => change("replace", `lab-${name}`)));
        const many = replaced.filter((name) => running.includes(name)).length > 1;
        const check = () => refuseManyStops(diff, planOf(...names), new Set(running));
        if (many) expect(check).toThrow(expect.objectContaining({ code: "INFRA_UP_REFUSED" }));
        else expect(check).not.toThrow();
      }),
    );
  });

  it.each(["delete", "replace"] as const)("refuses to %s what is protected", (op) => {
    const volume = change(op, "lab-a-home", VOLUME);
    const recorded = { urn: volume.urn, type: VOLUME, name: "lab-a-home", id: "x", protected: true, inputs: {} };
    expect(() => refuseDataLoss(diffOf(volume), [recorded])).toThrow(
      expect.objectContaining({ code: "INFRA_DATA_PROTECTED" }),
    );
    expect(() => refuseDataLoss(diffOf(volume), [{ ...recorded, protected: false, inputs: {} }])).not.toThrow();
    expect(() => refuseDataLoss(diffOf({ ...volume, op: "update" }), [recorded])).not.toThrow();
  });
});

describe("a run that is about one node", () => {
  it("knows whose a resource is by the longest name that fits", () => {
    const plan = planOf("a", "a-b", "b");
    expect(nodeOf(change("create", "lab-a-b-home"), plan)).toBe("a-b");
    expect(nodeOf(change("create", "lab-a-home"), plan)).toBe("a");
    expect(nodeOf(change("create", "lab-a.files"), plan)).toBe("a");
    expect(nodeOf(change("create", "lab-ab"), plan)).toBeNull();
    expect(nodeOf(change("create", "lab-postgres"), plan)).toBeNull();
  });

  it("takes what is the node's and shared things that are new, and nothing of another node", () => {
    const plan = planOf("a", "b");
    const mine = change("replace", "lab-a");
    const network = change("create", "lab-net", "docker:index/network:Network");
    const diff = diffOf(mine, change("replace", "lab-b"), change("replace", "lab-postgres"), network);
    const existing = {
      urn: "urn:x::y::t::lab-a-home",
      type: VOLUME,
      name: "lab-a-home",
      id: "1",
      protected: true,
      inputs: {},
    };
    const other = { ...existing, urn: "urn:x::y::t::lab-b-home", name: "lab-b-home" };
    expect(targetsOf(diff, [existing, other], plan, "a")).toEqual([mine.urn, network.urn, existing.urn].sort());
  });
});

describe("what a run for one node leaves to all", () => {
  const plan = planOf("a", "b");
  const both = new Set(["a", "b"]);
  const mine = change("replace", "lab-a");
  const other = change("replace", "lab-b");
  const database = change("replace", "lab-postgres");
  const access = change("update", "lab-postgres-access", DATABASE_ACCESS_TYPE);
  const network = change("replace", "lab-net", "docker:index/network:Network");
  const remaining = (changes: Change[], running = both, did: Change[] = [mine]) =>
    sharedWaiting({
      node: "a",
      plan,
      whole: diffOf(...changes),
      diff: diffOf(...did),
      targets: targetsOf(diffOf(...changes), [], plan, "a"),
      running,
    });
  const hintOf = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      // Every refusal has one.
      return String((error as { details: { hint: string } }).details.hint);
    }
    return "";
  };

  it("is nothing where nothing shared changes", () => {
    expect(remaining([mine, other])).toEqual([]);
  });

  it("is named where the node does without, as with a renewed certificate", () => {
    expect(remaining([mine, other, database])).toEqual(["lab-postgres"]);
  });

  it.each([
    ["another password or authority of the database", [mine, other, database, access], [mine]],
    ["another network, which the node follows", [mine, other, network], []],
  ])("is refused for %s, and all are stopped for it where more than one runs", (_words, changes, did) => {
    const run = (running?: Set<string>) => () => remaining(changes, running, did);
    expect(run()).toThrow(expect.objectContaining({ code: "INFRA_UP_REFUSED" }));
    expect(hintOf(run())).toContain("`cairn infra destroy`");
    expect(hintOf(run(new Set(["a"])))).toMatch(/^`cairn infra up` without --node/);
  });

  it("never has a hint that leads back: what is named is not refused in its turn", () => {
    const some = fc.subarray([mine, other, database, access, network]);
    fc.assert(
      fc.property(some, fc.subarray(["a", "b"]), fc.boolean(), (changes, names, follows) => {
        const running = new Set(names);
        const whole = () => refuseManyStops(diffOf(...changes), plan, running);
        const one = () =>
          remaining(changes, running, follows && changes.includes(network) ? [] : changes.filter((c) => c === mine));
        // The way of last resort, which neither of them refuses.
        if (hintOf(one).includes("without --node")) expect(whole).not.toThrow();
        if (hintOf(whole).includes("--node") && !changes.includes(network)) expect(one).not.toThrow();
      }),
    );
  });

  it.each<[Change, boolean]>([
    [change("replace", "lab-postgres"), true],
    [change("update", "lab-postgres"), false],
    [change("replace", "lab-one"), false],
    [change("update", "lab-postgres-container", "command:remote:Command"), true],
    [change("update", "lab-postgres-image", "command:remote:Command"), false],
    [change("update", "lab-postgres", "kubernetes:apps/v1:StatefulSet"), true],
  ])("%j: starts PostgreSQL, %s", (one, expected) => {
    expect(startsDatabase(diffOf(one), planOf("one"))).toBe(expected);
  });
});
