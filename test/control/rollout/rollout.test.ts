/** What a rollout that could not go on says: nodes have changed by then, so that it is not a failure that changed nothing. */

import { expect, it } from "vitest";
import type { NodeDriver, RolloutEntry } from "../../../control/rollout/contracts.ts";
import { beginRollout, resumeRollout } from "../../../control/rollout/rollout.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";

const never = new AbortController().signal;

/** `lost`: how many writes of the journal work. */
function fleet(lost = Number.POSITIVE_INFINITY) {
  let time = 0;
  let writes = lost;
  let entry: RolloutEntry | null = null;
  const images = new Map([
    ["one", "a"],
    ["two", "a"],
  ]);
  const tested: string[] = [];
  /** What the gate of a node throws. */
  const faults = new Map<string, Error>();
  const driver = (name: string): NodeDriver => ({
    name,
    observe: async () => ({ image: images.get(name) ?? null, version: null, ready: true, instance: "1" }),
    fence: async () => undefined,
    drain: async () => undefined,
    swap: async (image) => void images.set(name, image),
    async gate() {
      const fault = faults.get(name);
      if (fault !== undefined) throw fault;
      tested.push(name);
    },
  });
  const ports = {
    clock: {
      now: () => new Date(time),
      monotonic: () => time,
      sleep: async (ms: number) => {
        time += ms;
        await new Promise(setImmediate);
      },
    },
    lease: {
      acquire: async () => ({ fleet: "f", number: 1, ttlMs: 30_000 }),
      renew: async () => undefined,
      release: async () => undefined,
    },
    journal: {
      read: async () => entry,
      async write(given: RolloutEntry) {
        if (writes-- <= 0) throw new InfraError("INFRA_HOST_UNREACHABLE", "No node of the fleet answers.");
        entry = given;
      },
    },
    nodes: ["one", "two"].map(driver),
  };
  return { ports, images, tested, faults, mend: () => (writes = Number.POSITIVE_INFINITY) };
}

it("that it was cut off and is resumed, where its journal cannot be written any more", async () => {
  const { ports, images, mend } = fleet(5);
  const request = { id: "1", holder: "me", to: "b", onFailure: "rollback", maxUnavailable: 1 } as const;
  await expect(beginRollout(ports, request, never)).rejects.toMatchObject({
    code: "INFRA_INTERRUPTED",
    message: "The rollout was cut off: No node of the fleet answers.",
    details: { hint: expect.stringContaining("`cairn update --mesh --resume`") },
  });
  expect(Object.fromEntries(images)).toEqual({ one: "b", two: "a" });
  mend();
  expect(await resumeRollout(ports, "me", never)).toMatchObject({ outcome: "passed" });
  expect(Object.fromEntries(images)).toEqual({ one: "b", two: "b" });
});

it("that a node has the image only once it was tested, which one that was not reached after its change was not", async () => {
  const { ports, images, tested, faults } = fleet();
  const request = { holder: "me", to: "b", onFailure: "rollback", maxUnavailable: 1 } as const;
  faults.set("two", new InfraError("INFRA_HOST_UNREACHABLE", "two is away."));
  const first = await beginRollout(ports, { ...request, id: "1" }, never);
  expect(first).toMatchObject({ outcome: "paused", done: ["one"], unknown: ["two"] });
  expect(Object.fromEntries(images)).toEqual({ one: "b", two: "b" });
  faults.set("two", new Error("it answers no turn"));
  const second = await beginRollout(ports, { ...request, id: "2" }, never);
  expect(second).toMatchObject({ outcome: "operator", stuck: [{ node: "two" }] });
  faults.clear();
  expect(await beginRollout(ports, { ...request, id: "3" }, never)).toMatchObject({ outcome: "passed", done: ["two"] });
  expect(tested).toEqual(["one", "two"]);
});
