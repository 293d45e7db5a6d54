/** How long and how closely a node is watched after its gate, on a virtual clock. */

import { describe, expect, it } from "vitest";
import type { NodeDriver, NodeObservation } from "../../../control/rollout/contracts.ts";
import { changeOf } from "../../../control/rollout/driven-node.ts";

const READY: NodeObservation = { image: "new", version: "1.0.0", ready: true, instance: "one" };
const UNREADY = { ...READY, ready: false, instance: "" };

/** Milliseconds that a node was watched which showed this, look by look, and then stayed as it was. */
async function watched(...observations: readonly NodeObservation[]): Promise<number> {
  let now = 0;
  const remaining = [...observations];
  const driver: NodeDriver = {
    name: "a",
    observe: async () => (remaining.length > 1 ? remaining.shift() : remaining[0]) ?? READY,
    fence: async () => undefined,
    drain: async () => undefined,
    swap: async () => undefined,
    gate: async () => undefined,
  };
  const clock = {
    now: () => new Date(now),
    monotonic: () => now,
    sleep: async (ms: number) => {
      now += ms;
    },
  };
  const lease = {
    number: 1,
    signal: new AbortController().signal,
    token: () => ({ fleet: "f", lease: 1, command: 1 }),
  };
  const commands = { clock, lease, signal: lease.signal };
  const record = <T>(_name: string, work: () => Promise<T>): Promise<T> => work();
  const { forward } = changeOf(commands, driver, { to: "new", from: "old" }, { record, isUnrelated: () => false });
  await forward[1]?.run();
  return now;
}

describe("a node after its gate", () => {
  it("is watched for half a minute", async () => {
    expect(await watched(READY)).toBe(30_000);
  });

  it("may be not ready at one look, and is watched until it is", async () => {
    expect(await watched(READY, UNREADY, READY)).toBe(30_000);
    expect(await watched(UNREADY, READY)).toBe(30_000);
    const last = [...Array.from({ length: 6 }, () => READY), UNREADY, READY];
    expect(await watched(...last)).toBe(35_000);
  });

  it.each([
    ["is not ready at two looks", [READY, UNREADY, UNREADY, READY], "it does not say that it is ready"],
    ["was started anew", [READY, { ...READY, instance: "two" }], "it was started anew"],
    [
      "was started anew between two looks at which it was ready",
      [READY, UNREADY, { ...READY, instance: "two" }],
      "anew",
    ],
    ["runs another image", [READY, { ...READY, image: "old" }], "it runs another image"],
    ["is gone", [READY, { ...UNREADY, image: null }], "it is gone"],
  ] as const)("fails where it %s", async (_what, observations, why) => {
    await expect(watched(...observations)).rejects.toThrow(why);
  });
});
