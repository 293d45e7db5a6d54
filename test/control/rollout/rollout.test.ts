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
  const driver = (name: string): NodeDriver => ({
    name,
    observe: async () => ({ image: images.get(name) ?? null, version: null, ready: true, instance: "1" }),
    fence: async () => undefined,
    drain: async () => undefined,
    swap: async (image) => void images.set(name, image),
    gate: async () => undefined,
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
  return { ports, images, mend: () => (writes = Number.POSITIVE_INFINITY) };
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
