/** The order in which nodes of a fleet are changed, and what becomes of the others when one fails. */

import { describe, expect, it } from "vitest";
import { type Fleet, rollFleet } from "../../../control/rollout/fleet.ts";
import { type FleetStep, foundIn } from "../../../control/rollout/fleet-steps.ts";
import type { NodeChange } from "../../../control/rollout/rollback.ts";

const NOTHING = foundIn([]);

/** `failing`: steps that fail. `done` gets what was run. */
function fleetOf(
  nodes: readonly string[],
  failing: readonly FleetStep[],
  done: string[],
  more: Partial<Fleet> = {},
): Fleet {
  const step = (name: FleetStep) => ({
    name,
    async run() {
      done.push(name);
      await new Promise(setImmediate);
      if (failing.includes(name)) throw new Error(`${name} broke`);
    },
  });
  const change = async (node: string): Promise<NodeChange<FleetStep>> => ({
    forward: [step(`apply ${node}`), step(`gate ${node}`)],
    back: [step(`back ${node}`), step(`gate-former ${node}`)],
    record: (_name, work) => work(),
  });
  return { nodes, found: NOTHING, maxUnavailable: 1, onFailure: "rollback", change, ...more };
}

describe("a fleet's rollout", () => {
  it("changes the canary alone, and then as many nodes at a time as may be out of service", async () => {
    const done: string[] = [];
    expect(await rollFleet(fleetOf(["a", "b", "c", "d"], [], done, { maxUnavailable: 2 }))).toMatchObject({
      outcome: "passed",
      done: ["a", "b", "c", "d"],
    });
    expect(done).toEqual([
      ...["apply a", "gate a"],
      ...["apply b", "apply c", "gate b", "gate c"],
      ...["apply d", "gate d"],
    ]);
  });

  it("gives those that had passed what they had, the last one first", async () => {
    const done: string[] = [];
    const end = await rollFleet(fleetOf(["a", "b", "c", "d"], ["gate c"], done));
    expect(end).toMatchObject({ outcome: "rolled_back", done: [], failed: "c", reason: "gate c broke" });
    expect(done.slice(-6)).toEqual(["back c", "gate-former c", "back b", "gate-former b", "back a", "gate-former a"]);
  });

  it("with pause gives it to the one that failed alone", async () => {
    const done: string[] = [];
    const end = await rollFleet(fleetOf(["a", "b", "c"], ["apply b"], done, { onFailure: "pause" }));
    expect(end).toMatchObject({ outcome: "paused", done: ["a"], failed: "b" });
    expect(done).toEqual(["apply a", "gate a", "apply b", "back b", "gate-former b"]);
  });

  it("stops where a node does not come back, and names it", async () => {
    const done: string[] = [];
    const end = await rollFleet(fleetOf(["a", "b", "c"], ["gate c", "gate-former b"], done));
    expect(end).toMatchObject({ outcome: "operator", done: ["a"], failed: "c" });
    expect(end.stuck).toEqual([{ node: "b", back: "gate-former b broke" }]);
    expect(done).not.toContain("back a");
  });

  it("waits for those that are changed at the same time before it goes back", async () => {
    const done: string[] = [];
    const end = await rollFleet(fleetOf(["a", "b", "c"], ["apply b"], done, { maxUnavailable: 2 }));
    expect(end).toMatchObject({ outcome: "rolled_back", failed: "b" });
    expect(done.indexOf("back c")).toBeGreaterThan(done.indexOf("gate c"));
  });

  it("takes back, too, what an interrupted run left half done and this one did not reach", async () => {
    const at = "2030-01-31T12:00:00Z";
    const done: string[] = [];
    const found = foundIn([{ name: "apply b", state: "begun", at }]);
    const end = await rollFleet(fleetOf(["a", "b"], ["gate a"], done, { found }));
    expect(end).toMatchObject({ outcome: "rolled_back", done: [], failed: "a" });
    expect(done).toEqual(["apply a", "gate a", "back a", "gate-former a", "back b", "gate-former b"]);
  });

  it("that was going back goes on with that", async () => {
    const at = "2030-01-31T12:00:00Z";
    const steps = (["apply a", "gate a", "apply b"] as const).map((name) => ({ name, state: "done", at }) as const);
    const found = foundIn([...steps, { name: "gate b", state: "failed", at }, { name: "back b", state: "begun", at }]);
    const done: string[] = [];
    const end = await rollFleet(fleetOf(["b"], [], done, { found }));
    expect(end).toMatchObject({ outcome: "rolled_back", done: [], failed: "b" });
    expect(done).toEqual(["back b", "gate-former b", "back a", "gate-former a"]);
  });

  it("changes nothing while too many are out of service, and says why", async () => {
    const done: string[] = [];
    const admit = async () => "z is out of service.";
    const end = await rollFleet(fleetOf(["a"], [], done, { admit }));
    expect(end).toMatchObject({ outcome: "paused", done: [], reason: "z is out of service." });
    expect(done).toEqual([]);
  });
});
