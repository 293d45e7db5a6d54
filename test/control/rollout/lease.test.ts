/** A fleet's lease while it is held: when it is renewed, and when no command is numbered any more. */

import { describe, expect, it } from "vitest";
import type { FleetLease, RolloutClock } from "../../../control/rollout/contracts.ts";
import { type HeldLease, withLease } from "../../../control/rollout/lease.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { VirtualClock } from "../../support/rollout/virtual-clock.ts";

const never = new AbortController().signal;

/** Holds a lease of 30 s for `seconds`; `seen` gets whether a command was numbered, second by second. */
async function held(
  renew: (second: number) => Promise<void>,
  seconds: number,
): Promise<{ readonly seen: readonly boolean[]; readonly renewals: readonly number[]; readonly released: boolean }> {
  const virtual = new VirtualClock();
  const clock: RolloutClock = {
    now: () => new Date(0),
    monotonic: () => virtual.time,
    sleep: (ms, signal) => virtual.sleep(ms, signal),
  };
  const renewals: number[] = [];
  let released = false;
  const lease: FleetLease = {
    acquire: async () => ({ fleet: "fleet", number: 7, ttlMs: 30_000 }),
    async renew() {
      renewals.push(virtual.time / 1_000);
      await renew(virtual.time / 1_000);
    },
    async release() {
      released = true;
    },
  };
  const seen: boolean[] = [];
  const numbered = (one: HeldLease): boolean => {
    try {
      return one.token().lease === 7;
    } catch {
      return false;
    }
  };
  const work = withLease({ clock, lease }, "me", never, async (one) => {
    for (let second = 0; second < seconds; second++) {
      seen.push(numbered(one));
      await virtual.sleep(1_000);
    }
  });
  let isDone = false;
  void work.then(() => {
    isDone = true;
  });
  await virtual.run(
    () => isDone,
    () => undefined,
  );
  return { seen, renewals, released };
}

describe("a fleet's lease", () => {
  it("is renewed while it is held, and released at the end", async () => {
    const { seen, renewals, released } = await held(async () => undefined, 45);
    expect(seen).not.toContain(false);
    expect(renewals).toEqual([10, 20, 30, 40]);
    expect(released).toBe(true);
  });

  it.each<[string, () => Promise<void>]>([
    ["is not answered", () => new Promise(() => undefined)],
    ["fails", () => Promise.reject(new Error("the database does not answer"))],
  ])(
    "numbers no command from 5 s before its end on where a renewal %s, and is left to expire",
    async (_words, renew) => {
      const { seen, released } = await held(renew, 40);
      expect(seen.indexOf(false)).toBe(25);
      expect(seen.lastIndexOf(true)).toBe(24);
      expect(released).toBe(false);
    },
  );

  it("is kept where a later renewal is answered in time", async () => {
    const { seen } = await held(async (second) => {
      if (second < 20) throw new Error("the database does not answer");
    }, 45);
    expect(seen).not.toContain(false);
  });

  it("ends at once where it is another's", async () => {
    const { seen } = await held(() => Promise.reject(new InfraError("INFRA_LOCKED", "another")), 15);
    expect(seen.indexOf(false)).toBe(10);
  });
});
