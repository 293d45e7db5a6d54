/** Accounts whose messages one node receives at a time: who receives, hand-over, lost leases, reconnection. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLeaseTable, type LeaseTable } from "../../../runtime/app/leases.ts";
import { createReceivers, type Receivers } from "../../../runtime/app/receivers.ts";
import type { Reconnect } from "../../../runtime/app/reconnection.ts";
import type { Receiver, Reception } from "../../../runtime/contracts/channel.ts";
import { ChannelError } from "../../../runtime/contracts/errors.ts";
import { describeEachDatabase } from "../../support/databases.ts";
import { until } from "../../support/eventually.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

/** A platform that refuses a second receiver of its account, and counts. */
function platform() {
  const seen = { now: 0, most: 0, refused: 0, began: [] as string[] };
  const receiver = (node: string, receive?: (reception: Reception) => Promise<void>): Receiver => ({
    account: "bot",
    async receive(reception) {
      if (seen.now > 0) {
        seen.refused++;
        throw new Error("another program receives");
      }
      seen.began.push(node);
      seen.most = Math.max(seen.most, ++seen.now);
      try {
        await (receive ?? untilAborted)(reception);
      } finally {
        seen.now--;
      }
    },
  });
  return { seen, receiver };
}

async function untilAborted({ signal, connected }: Reception): Promise<void> {
  connected();
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

describeEachDatabase("receivers", (open) => {
  async function nodes() {
    const database = await open({ fresh: true });
    const leases = createLeaseTable(database);
    const all: Receivers[] = [];
    const node = (
      name: string,
      receiver: Receiver,
      more: {
        leaseMs?: number;
        leases?: typeof leases;
        reconnect?: Reconnect;
        onConnected?: (channel: string) => void;
      } = {},
    ) => {
      const receivers = createReceivers({
        channels: [
          {
            id: "chat",
            platform: "chat",
            receiver,
            reconnect: more.reconnect ?? { maxRetries: 2, initialDelayMs: 10, maxDelayMs: 20 },
          },
        ],
        leases: more.leases ?? leases,
        node: { name },
        boot: `boot of ${name}`,
        place: `place of ${name}`,
        leaseMs: more.leaseMs ?? 60_000,
        clock: { now: () => new Date(), monotonic: () => performance.now() },
        logger: quietLogger,
        onConnected: more.onConnected ?? (() => undefined),
        announceRelease: async () => {
          for (const one of all) one.retryNow();
        },
      });
      all.push(receivers);
      onTestFinished(() => receivers.stop().catch(() => undefined));
      receivers.start();
      return receivers;
    };
    return { node, leases };
  }
  const isUp = (receivers: Receivers) => until(() => receivers.state("chat")?.state === "up");
  const isOnStandby = (receivers: Receivers) => until(() => receivers.state("chat")?.state === "standby");

  it("lets one node receive; another begins when that is drained, and it comes back when called", async () => {
    const { seen, receiver } = platform();
    const { node } = await nodes();
    const one = node("one", receiver("one"));
    await isUp(one);
    const two = node("two", receiver("two"));
    await isOnStandby(two);
    expect(two.state("chat")).toEqual({ state: "standby", reason: "one receives" });
    await one.handOver();
    await isUp(two);
    one.takeBack();
    await until(() => one.state("chat")?.reason === "two receives");
    await two.stop();
    await isUp(one);
    expect(seen).toEqual({ now: 1, most: 1, refused: 0, began: ["one", "two", "one"] });
    expect(one.state("mail")).toBeUndefined();
  });

  it("begins again at once after a kill, in the place where the killed one was", async () => {
    const { receiver } = platform();
    const { node, leases } = await nodes();
    await leases.acquire("channel:chat:bot", "an earlier start", 600_000, "place of one");
    await isUp(node("one", receiver("one")));
  });

  it("keeps others from beginning while a channel ignores that it is to stop, and its process has to end", async () => {
    const { seen, receiver } = platform();
    const { node } = await nodes();
    const ends = Promise.withResolvers<void>();
    const one = node(
      "one",
      receiver("one", ({ connected }) => {
        connected();
        return ends.promise;
      }),
      { leaseMs: 1_500 },
    );
    await isUp(one);
    const two = node("two", receiver("two"), { leaseMs: 1_500 });
    await isOnStandby(two);
    await one.handOver();
    expect(one.state("chat")).toEqual({
      state: "degraded",
      reason: "it goes on receiving though it was told to stop",
    });
    await expect(one.stop()).rejects.toMatchObject({
      code: "RUNTIME_STOP_TIMEOUT",
      message: "Told to stop, these channels go on receiving: chat.",
    });
    // Longer than a lease lasts: it is renewed.
    expect(two.state("chat")?.state).toBe("standby");
    expect(seen).toMatchObject({ most: 1, refused: 0, began: ["one"] });
    ends.resolve();
    await isUp(two);
  });

  describe("whose lease cannot be renewed", () => {
    async function cutOff(receive?: (reception: Reception) => Promise<void>) {
      const { seen, receiver } = platform();
      const { node, leases } = await nodes();
      let cut = false;
      const unreachable = (): never => {
        throw new Error("no database");
      };
      const through: LeaseTable = {
        ...leases,
        acquire: async (...args) => (cut ? unreachable() : leases.acquire(...args)),
        release: async (...args) => (cut ? unreachable() : leases.release(...args)),
      };
      const one = node("one", receiver("one", receive), { leaseMs: 1_500, leases: through });
      await isUp(one);
      const two = node("two", receiver("two"), { leaseMs: 1_500 });
      await isOnStandby(two);
      cut = true;
      return { seen, one, two };
    }

    it("has ended before another one begins", async () => {
      const { seen, one, two } = await cutOff();
      await isUp(two);
      expect(seen).toMatchObject({ most: 1, refused: 0, began: ["one", "two"] });
      expect(one.state("chat")).toMatchObject({ state: "connecting" });
    });

    it("is unfit where the channel goes on", async () => {
      const ends = Promise.withResolvers<void>();
      onTestFinished(() => ends.resolve());
      const { one } = await cutOff(({ connected }) => {
        connected();
        return ends.promise;
      });
      await expect(one.unfit).rejects.toMatchObject({ code: "RUNTIME_LEASE_LOST" });
    });
  });

  it("accuses no channel where the database alone is slow to take the lease back", async () => {
    const { receiver } = platform();
    const { node, leases } = await nodes();
    const one = node("one", receiver("one"), {
      leases: { ...leases, release: () => new Promise(() => undefined) },
    });
    await isUp(one);
    await one.stop();
    expect(one.state("chat")?.state).not.toBe("degraded");
  });

  it("connects anew after pauses, says so, and that it is down after too many failures, until it is up", async () => {
    const { receiver } = platform();
    const { node } = await nodes();
    const states: unknown[] = [];
    let works = false;
    const one: Receivers = node(
      "one",
      receiver("one", async (reception) => {
        states.push(one?.state("chat"));
        if (works) return untilAborted(reception);
        throw new Error("the platform is away");
      }),
    );
    const failing = { reason: "the platform is away" };
    await until(() => states.length > 4);
    expect(states.slice(1, 5)).toEqual(
      ["connecting", "connecting", "down", "down"].map((state) => ({ state, ...failing })),
    );
    works = true;
    await isUp(one);
  });

  it("is degraded, never down, while another program receives for the account, asks again soon, and is up after it", async () => {
    const { receiver } = platform();
    const { node } = await nodes();
    const states: unknown[] = [];
    let isOver = false;
    const one: Receivers = node(
      "one",
      receiver("one", async (reception) => {
        states.push(one?.state("chat"));
        if (isOver) return untilAborted(reception);
        if (states.length === 20) throw new Error("the connection breaks");
        throw new ChannelError("CHANNEL_CONNECTION_LOST", "another program receives", { overlap: true });
      }),
      // Pauses that doubled would be hours by now.
      { reconnect: { maxRetries: 2, initialDelayMs: 10, maxDelayMs: 86_400_000 } },
    );
    await until(() => states.length > 30);
    isOver = true;
    await isUp(one);
    const degraded = { state: "degraded", reason: "another program receives" };
    expect(states.slice(1, 20)).toEqual(Array.from({ length: 19 }, () => degraded));
    expect(states[20]).toEqual({ state: "connecting", reason: "the connection breaks" });
    expect(states.slice(21, 31)).toEqual(Array.from({ length: 10 }, () => degraded));
  });

  it("connects anew no sooner than the platform asks for", async () => {
    const { node } = await nodes();
    const attempts = { asked: 0, other: 0 };
    const lost = (retryAfterS?: number) =>
      new ChannelError("CHANNEL_CONNECTION_LOST", "away", retryAfterS === undefined ? {} : { retryAfterS });
    const one = node("one", {
      account: "asked",
      async receive() {
        attempts.asked++;
        // Longer than a timer can be set to.
        throw lost(3_000_000);
      },
    });
    await until(() => attempts.asked === 1);
    node("two", {
      account: "other",
      async receive() {
        attempts.other++;
        throw lost();
      },
    });
    await until(() => attempts.other > 10);
    expect(attempts.asked).toBe(1);
    await one.stop();
  });

  it("says once when a channel is connected, and again after each loss", async () => {
    const { receiver } = platform();
    const { node } = await nodes();
    const connected: string[] = [];
    let loss = Promise.withResolvers<void>();
    const one = node(
      "one",
      receiver("one", async (reception) => {
        reception.connected();
        reception.connected("its menu is not set");
        await Promise.race([untilAborted(reception), loss.promise]);
      }),
      { onConnected: (channel) => connected.push(channel) },
    );
    await isUp(one);
    expect(connected).toEqual(["chat"]);
    expect(one.connectedMs("chat")).toBeGreaterThan(0);
    expect(one.connectedMs("mail")).toBe(0);
    const lost = loss;
    loss = Promise.withResolvers();
    lost.reject(new Error("the platform is away"));
    await until(() => connected.length === 2);
    await one.handOver();
    expect(one.connectedMs("chat")).toBe(0);
  });

  it("says what does not work of a channel that receives all the same", async () => {
    const { receiver } = platform();
    const { node } = await nodes();
    const one = node(
      "one",
      receiver("one", async (reception) => {
        await sleep(1);
        reception.connected("its commands could not be listed");
        await untilAborted({ ...reception, connected: () => undefined });
      }),
    );
    await until(() => one.state("chat")?.state === "degraded");
    expect(one.state("chat")?.reason).toBe("its commands could not be listed");
  });

  it("keeps for an account where receiving was, from node to node, and nothing of one that receives no more", async () => {
    const { receiver } = platform();
    const { node, leases } = await nodes();
    const read: unknown[] = [];
    const receptions: Reception[] = [];
    const counting = async (reception: Reception): Promise<void> => {
      receptions.push(reception);
      const position = await reception.position.read();
      read.push(position);
      await reception.position.keep({ count: receptions.length, former: position ?? null });
      await untilAborted(reception);
    };
    const one = node("one", receiver("one", counting));
    await isUp(one);
    const two = node("two", receiver("two", counting));
    await one.handOver();
    await isUp(two);
    expect(read).toEqual([undefined, { count: 1, former: null }]);
    await expect(receptions[0]?.position.keep("late")).rejects.toMatchObject({ code: "RUNTIME_LEASE_LOST" });
    expect((await leases.read("channel:chat:bot"))?.["position"]).toEqual({
      count: 2,
      former: { count: 1, former: null },
    });
  });
});
