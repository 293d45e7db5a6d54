/** A runner dies, is paused, or is shut down: the turn goes on, nothing recorded runs again, and the user is told. */

import { afterEach, describe, expect, it } from "vitest";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import {
  end,
  type Harness,
  type HarnessOptions,
  hang,
  realClock,
  startHarness,
  text,
  toolCall,
} from "../../../support/turn-harness.ts";

describeEachDatabase("takeover of turns", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database">): Promise<Harness> {
    const harness = await startHarness({ database: await open(), ...options });
    running.push(harness);
    return harness;
  }
  /** Dies with what it was doing; not stopped at the end, since its turn would never end. */
  async function startDoomed(options: Omit<HarnessOptions, "database">): Promise<Harness> {
    return startHarness({ database: await open(), ...options });
  }

  /** As if nobody had renewed it for long enough. */
  async function endLease(name: string): Promise<void> {
    const database = await open();
    await database.query("update leases set expires_at = now() - interval '1 second' where name = $1", [name]);
  }

  /** Counts what really happened, apart from our own tables. */
  function effects() {
    const counts: Record<string, number> = {};
    const tool = (name: string, then: () => Promise<unknown> = async () => undefined): Tool => ({
      name,
      description: name,
      parameters: { type: "object" },
      execute: async () => {
        counts[name] = (counts[name] ?? 0) + 1;
        await then();
        return { content: `${name} done` };
      },
    });
    return { counts, tool };
  }

  const twoCalls: HarnessOptions["script"] = ({ messages }) =>
    messages.at(-1)?.role === "user"
      ? [text("On it."), toolCall("c1", "first"), toolCall("c2", "second"), toolCall("c3", "third"), end("tool_calls")]
      : [text("Finished."), end()];

  it("reuses recorded results, runs no begun call again, and runs what was never begun", async () => {
    const { counts, tool } = effects();
    const doomed = await startDoomed({
      script: twoCalls,
      tools: [tool("first"), tool("second", () => hang()), tool("third")],
    });
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await expect.poll(() => counts).toEqual({ first: 1, second: 1 });
    await doomed.die();

    const next = await start({
      script: twoCalls,
      tools: [tool("first"), tool("second"), tool("third")],
      ...doomed.next,
    });
    const result = await next.turns.wait(next.agentName, turnId);
    expect(counts).toEqual({ first: 1, second: 1, third: 1 });
    expect(result).toMatchObject({ text: "On it.\n\nFinished.", interrupted: true });
    expect(result.notice).toContain("interrupted");
    const results = next.requests[0]?.messages.filter(({ role }) => role === "tool");
    expect(results?.map(({ content }) => String(content).split(":")[0])).toEqual([
      "first done",
      "TOOL_OUTCOME_UNKNOWN",
      "third done",
    ]);
    const rows = await next.transcript();
    expect(rows.map(({ role, content, tool_name }) => tool_name ?? `${role}: ${content}`)).toEqual([
      "user: go",
      "assistant: On it.",
      "first",
      "second",
      "third",
      "assistant: Finished.",
    ]);
    expect(rows[3]?.metadata).toMatchObject({ outcome: "unknown" });
  });

  /** Runs a turn on one node after the other, each of which dies while the model is asked. */
  async function crash(times: number, options: Omit<HarnessOptions, "database">) {
    let harness = await startDoomed(options);
    const { turnId } = await harness.turns.accept(harness.message("go"));
    for (let crashes = 1; ; crashes++) {
      const asked = harness.requests.length + 1;
      await expect.poll(() => harness.requests.length).toBeGreaterThanOrEqual(asked);
      await harness.die();
      if (crashes === times) return { turnId, last: harness };
      harness = await startDoomed({ ...options, ...harness.next });
    }
  }

  it("goes on from the half of a reply that was stored before the process died", async () => {
    const doomed = await startDoomed({
      script: () => [text("Once upon")],
      others: { second: async () => hang() },
      agent: { fallbacks: ["second:small"] },
    });
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await expect.poll(() => doomed.requests.length).toBe(2);
    await doomed.die();

    const next = await start({ script: () => [text("a time."), end()], ...doomed.next });
    const result = await next.turns.wait(next.agentName, turnId);
    expect(result).toMatchObject({ text: "Once upon\n\na time.", interrupted: true });
    expect(next.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect((await next.transcript()).map(({ content }) => content)).toEqual(["go", "Once upon", "a time."]);
  });

  it("resumes a turn after five crashes, and gives it up visibly after the sixth", async () => {
    const script: HarnessOptions["script"] = async () => hang();
    const { turnId, last } = await crash(5, { script });
    const resumed = await start({ script: () => [text("at last"), end()], ...last.next });
    expect(await resumed.turns.wait(resumed.agentName, turnId)).toMatchObject({ text: "at last", interrupted: true });

    const again = await crash(6, { script });
    const refusing = await start({ script, ...again.last.next });
    await expect(refusing.turns.wait(refusing.agentName, again.turnId)).rejects.toMatchObject({
      code: "RUNTIME_TURN_INTERRUPTED",
      retryable: false,
      details: { turnId: again.turnId },
    });
    expect(refusing.requests).toHaveLength(0);
    await expect.poll(() => refusing.sent.at(-1)?.notice).toContain("given up");
  });

  it("gives a turn with a call of unknown outcome up after the second crash", async () => {
    const { counts, tool } = effects();
    const tools = [tool("first"), tool("second", () => hang()), tool("third")];
    const first = await startDoomed({ script: twoCalls, tools });
    const { turnId } = await first.turns.accept(first.message("go"));
    await expect.poll(() => counts).toEqual({ first: 1, second: 1 });
    await first.die();
    const second = await startDoomed({ script: async () => hang(), tools: [tool("third")], ...first.next });
    await expect.poll(() => second.requests.length).toBe(1);
    await second.die();
    const third = await start({ script: twoCalls, ...first.next });
    await expect(third.turns.wait(third.agentName, turnId)).rejects.toMatchObject({ code: "RUNTIME_TURN_INTERRUPTED" });
    expect(third.requests).toHaveLength(0);
    expect(counts).toEqual({ first: 1, second: 1, third: 1 });
  });

  /** A process that is stalled past its leases at times: what its polls find then. */
  function stallable() {
    let stalledMs = 0;
    return {
      clock: { now: realClock.now, monotonic: () => performance.now() + stalledMs },
      async expire(harness: Harness, turnId: string): Promise<void> {
        const database = await open();
        await database.query("update turns set lease_until = now() - interval '1 second' where id = $1", [turnId]);
        stalledMs += 3_600_000;
        harness.placement.renewNow();
      },
    };
  }

  it("does not count a lease that expired in a process that lives on as a crash", async () => {
    const { counts, tool } = effects();
    const first = await startDoomed({ script: twoCalls, tools: [tool("first", () => hang())] });
    const { turnId } = await first.turns.accept(first.message("go"));
    await expect.poll(() => counts).toEqual({ first: 1 });
    await first.die();
    const { clock, expire } = stallable();
    const stalled = await start({
      clock,
      script: ({ options }, call) => (call <= 2 ? hang(options.signal) : [text("at last"), end()]),
      tools: [tool("second"), tool("third")],
      ...first.next,
    });
    for (const requests of [1, 2]) {
      await expect.poll(() => stalled.requests.length).toBe(requests);
      await expire(stalled, turnId);
    }
    expect(await stalled.turns.wait(stalled.agentName, turnId)).toMatchObject({
      text: "On it.\n\nat last",
      interrupted: true,
    });
  });

  it("gives a turn up whose lease expires again and again in the same process", async () => {
    const { clock, expire } = stallable();
    const stalled = await start({ clock, script: ({ options }) => hang(options.signal) });
    const { turnId } = await stalled.turns.accept(stalled.message("go"));
    const ended = stalled.turns.wait(stalled.agentName, turnId);
    let requests = 0;
    const interrupted = expect(ended).rejects.toMatchObject({ code: "RUNTIME_TURN_INTERRUPTED" });
    for (; requests < 11; requests++) {
      await expect.poll(() => stalled.requests.length).toBe(requests + 1);
      await expire(stalled, turnId);
    }
    await interrupted;
    expect(stalled.requests).toHaveLength(requests);
  });

  it("ends a runner whose turn the same process has claimed again, and keeps the new one", async () => {
    const aborted: unknown[] = [];
    const gate = Promise.withResolvers<void>();
    const { clock, expire } = stallable();
    const stalled = await start({
      clock,
      script: async ({ options }, call) => {
        if (call === 1) {
          options.signal?.addEventListener("abort", () => aborted.push(options.signal?.reason), { once: true });
          return hang(options.signal);
        }
        await gate.promise;
        return [text("once"), end()];
      },
      limits: { leaseMs: 6_000 },
    });
    const { turnId } = await stalled.turns.accept(stalled.message("go"));
    await expect.poll(() => stalled.requests.length).toBe(1);
    await expire(stalled, turnId);
    await expect.poll(() => stalled.requests.length).toBe(2);
    expect(aborted).toMatchObject([{ code: "RUNTIME_LEASE_LOST" }]);
    // Its lease is renewed although the former runner has ended meanwhile.
    const database = await open();
    await database.query("update turns set lease_until = now() + interval '3 seconds' where id = $1", [turnId]);
    const renewed = async () =>
      (
        await database.query("select 1 from turns where id = $1 and lease_until > now() + interval '3 seconds'", [
          turnId,
        ])
      ).count;
    await expect.poll(renewed).toBe(1);
    expect(stalled.dispatcher.activeTurns).toBe(1);
    gate.resolve();
    expect(await stalled.turns.wait(stalled.agentName, turnId)).toMatchObject({ text: "once" });
    expect(stalled.requests).toHaveLength(2);
  });

  describe("when the clock of the database jumps by an hour", () => {
    /** Stored times, as they are found after a jump: later than expected where the clock was set back. */
    async function jump(by: "1 hour" | "-1 hour", { agentName, next }: Harness, turnId: string): Promise<void> {
      const database = await open();
      const moved = by === "1 hour" ? "-1 hour" : "1 hour";
      await database.transaction(async (tx) => {
        await tx.query(
          `update leases set expires_at = expires_at + $2::interval,
             data = data || jsonb_build_object('granted_at', (data->>'granted_at')::timestamptz + $2::interval) where name = any($1::text[])`,
          [[`agent:${agentName}`, `node:${next.node}`], moved],
        );
        await tx.query("update turns set lease_until = lease_until + $2::interval where id = $1", [turnId, moved]);
      });
    }

    const isRenewed = async (turnId: string) => {
      const within = "select 1 from turns where id = $1 and lease_until between now() and now() + interval '1 minute'";
      return (await (await open()).query(within, [turnId])).count === 1;
    };

    it.each(["1 hour", "-1 hour"] as const)("by %s, goes on with the turns that it runs", async (by) => {
      const gate = Promise.withResolvers<void>();
      const holder = await start({
        script: async () => {
          await gate.promise;
          return [text("done"), end()];
        },
        limits: { leaseMs: 6_000 },
      });
      const { turnId } = await holder.turns.accept(holder.message("go"));
      await expect.poll(() => holder.requests.length).toBe(1);
      await jump(by, holder, turnId);
      holder.dispatcher.kick();
      await expect.poll(() => isRenewed(turnId)).toBe(true);
      gate.resolve();
      expect(await holder.turns.wait(holder.agentName, turnId)).toMatchObject({ text: "done", interrupted: false });
      expect(holder.requests).toHaveLength(1);
    });

    it.each([
      ["another node", { node: "another-node" }],
      ["the same node after a restart of its machine", { place: "after a restart" }],
    ])("back, %s takes over from one that has died when its lease has lasted its time", async (_who, next) => {
      const doomed = await startDoomed({ script: async () => hang(), limits: { leaseMs: 1_500 } });
      const { turnId } = await doomed.turns.accept(doomed.message("go"));
      await expect.poll(() => doomed.requests.length).toBe(1);
      await doomed.die();
      await jump("-1 hour", doomed, turnId);
      const other = await start({
        script: () => [text("taken over"), end()],
        limits: { leaseMs: 1_500 },
        ...doomed.next,
        ...next,
      });
      expect(await other.turns.wait(other.agentName, turnId)).toMatchObject({ text: "taken over", interrupted: true });
    });

    it("ahead, steps down where another node has come first, whose reply is the only one", async () => {
      const gate = Promise.withResolvers<void>();
      const holder = await start({
        script: async () => {
          await gate.promise;
          return [text("late"), end()];
        },
        limits: { leaseMs: 6_000 },
      });
      const { turnId } = await holder.turns.accept(holder.message("go"));
      await expect.poll(() => holder.requests.length).toBe(1);
      await jump("1 hour", holder, turnId);
      const other = await start({
        script: () => [text("first"), end()],
        agent: { name: holder.agentName },
        node: "another-node",
        limits: { leaseMs: 6_000 },
      });
      expect(await other.turns.wait(other.agentName, turnId)).toMatchObject({ text: "first", interrupted: true });
      gate.resolve();
      await expect.poll(() => holder.dispatcher.activeTurns).toBe(0);
      expect((await other.transcript()).map(({ content }) => content)).toEqual(["go", "first"]);
    });
  });

  it("ends a turn that was to be stopped while no process ran it, with what it had said", async () => {
    const { counts, tool } = effects();
    const doomed = await startDoomed({ script: twoCalls, tools: [tool("first", () => hang())] });
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await expect.poll(() => counts).toEqual({ first: 1 });
    await doomed.die();
    const database = await open();
    // As another node does at /stop: the process that ran the turn cannot hear it any more.
    await database.query("update turns set abort_requested = true where id = $1", [turnId]);
    const next = await start({ script: twoCalls, tools: [tool("second")], ...doomed.next });
    const stopped = await next.turns.wait(next.agentName, turnId);
    expect(stopped).toMatchObject({ text: "On it.", interrupted: true, notice: "Stopped." });
    expect(next.requests).toHaveLength(0);
    expect(counts).toEqual({ first: 1 });
  });

  it("lets a runner that was paused past its lease write nothing", async () => {
    const { counts, tool } = effects();
    const gate = Promise.withResolvers<void>();
    // The paused runner's clock stands still, so that it does not notice by itself that its lease has ended.
    const paused = { now: realClock.now, monotonic: () => 0 };
    const slow = await startDoomed({
      script: twoCalls,
      tools: [tool("first", () => gate.promise), tool("second"), tool("third")],
      clock: paused,
    });
    const { turnId } = await slow.turns.accept(slow.message("go"));
    await expect.poll(() => counts).toEqual({ first: 1 });
    await slow.die();
    await endLease(`agent:${slow.agentName}`);
    const database = await open();
    await database.query("update turns set lease_until = now() - interval '1 second' where id = $1", [turnId]);

    const other = await start({
      script: twoCalls,
      tools: [tool("first"), tool("second"), tool("third")],
      agent: { name: slow.agentName },
      node: "another-node",
    });
    const result = await other.turns.wait(other.agentName, turnId);
    const before = await other.transcript();
    gate.resolve();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(counts).toEqual({ first: 1, second: 1, third: 1 });
    expect(await other.transcript()).toEqual(before);
    expect(result.interrupted).toBe(true);
    expect(await other.turns.read(other.agentName, turnId)).toMatchObject({ state: "finished" });
  });

  it("makes a claim wait for a write that has passed the fence and not yet committed", async () => {
    const database = await open();
    if (database.backend === "embedded") return;
    const doomed = await startDoomed({ script: async () => hang() });
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await expect.poll(() => doomed.requests.length).toBe(1);
    await doomed.die();
    const epoch = 1;
    const written = Promise.withResolvers<void>();
    const passed = Promise.withResolvers<void>();
    const hold = doomed.store.fenced({ turnId, epoch }, async () => {
      passed.resolve();
      await written.promise;
    });
    // Rejects at once if the fence is not passed.
    await Promise.race([passed.promise, hold]);
    const next = await start({ script: () => [text("ok"), end()], ...doomed.next });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(next.requests).toHaveLength(0);
    written.resolve();
    await hold;
    expect((await next.turns.wait(next.agentName, turnId)).text).toBe("ok");
    await expect(doomed.store.fenced({ turnId, epoch }, async () => undefined)).rejects.toMatchObject({
      code: "RUNTIME_LEASE_LOST",
    });
  });

  it("drains: an active turn ends, a new message is refused, a queued one waits for the next start", async () => {
    const gate = Promise.withResolvers<void>();
    const harness = await startDoomed({
      script: async ({ messages }) => {
        await gate.promise;
        return [text(`re: ${String(messages.at(-1)?.content)}`), end()];
      },
    });
    const active = await harness.turns.accept(harness.message("active"));
    const queued = await harness.turns.accept(harness.message("queued"));
    await expect.poll(() => harness.requests.length).toBe(1);
    const drained = harness.drain(10_000);
    await expect(harness.turns.accept(harness.message("late"))).rejects.toMatchObject({ code: "RUNTIME_DRAINING" });
    gate.resolve();
    await drained;
    expect((await harness.turns.wait(harness.agentName, active.turnId)).text).toBe("re: active");
    expect(await harness.turns.read(harness.agentName, queued.turnId)).toMatchObject({ state: "queued" });
    await harness.die();
    const next = await start({ script: () => [text("later"), end()], ...harness.next });
    expect(await next.turns.wait(next.agentName, queued.turnId)).toMatchObject({ text: "later", interrupted: false });
  });

  it("checkpoints a turn at the drain deadline; the next start goes on with it, as often as it takes", async () => {
    const { counts, tool } = effects();
    const script: HarnessOptions["script"] = async ({ messages, options }) => {
      if (messages.at(-1)?.role === "user") return [toolCall("c1", "first"), end("tool_calls")];
      return hang(options.signal);
    };
    let harness = await startDoomed({ script, tools: [tool("first")] });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    for (let shutdown = 0; shutdown < 3; shutdown++) {
      await expect.poll(() => harness.requests.length).toBe(shutdown === 0 ? 2 : 1);
      await harness.drain(0);
      await harness.die();
      if (shutdown < 2) harness = await startDoomed({ script, tools: [tool("first")], ...harness.next });
    }
    const last = await start({ script: () => [text("at last"), end()], tools: [tool("first")], ...harness.next });
    expect(await last.turns.wait(last.agentName, turnId)).toMatchObject({ text: "at last", interrupted: true });
    expect(counts).toEqual({ first: 1 });
  });

  it("aborts nothing at the deadline of a drain that was called off, and drains again when it is asked again", async () => {
    const gate = Promise.withResolvers<void>();
    const harness = await start({
      script: async () => {
        await gate.promise;
        return [text("whole"), end()];
      },
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect.poll(() => harness.requests.length).toBe(1);
    const drained = harness.dispatcher.drain(200);
    harness.dispatcher.resume();
    await drained;
    await new Promise((resolve) => setTimeout(resolve, 300));
    const again = harness.dispatcher.drain(10_000);
    gate.resolve();
    await again;
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({ text: "whole", interrupted: false });
  });

  it("refuses to be a second node of the same identity while the first lives, and takes over when that has ended", async () => {
    const script: HarnessOptions["script"] = ({ messages }) => [text(`re: ${String(messages.at(-1)?.content)}`), end()];
    const one = await start({ script, place: "here" });
    const copy = { script, place: "a copy", agent: { name: one.agentName }, node: one.node.id };
    // It waits no longer than its own lease would last.
    const refused = start({ ...copy, limits: { leaseMs: 200 } });
    refused.catch(() => undefined);
    const said: string[] = [];
    for (let n = 0; n < 8; n++) said.push((await one.say(`m${n}`)).text);
    await expect(refused).rejects.toMatchObject({ code: "RUNTIME_ALREADY_RUNNING" });
    expect(said).toEqual(said.map((_text, n) => `re: m${n}`));
    await one.die();
    await endLease(`node:${one.node.id}`);
    const two = await start(copy);
    expect(await two.say("after")).toMatchObject({ text: "re: after", interrupted: false });
  });

  it("hands its agent over at once when it stops, and only one of two nodes runs its turns", async () => {
    const script: HarnessOptions["script"] = ({ messages }) => [text(`re: ${String(messages.at(-1)?.content)}`), end()];
    const one = await start({ script, node: "one" });
    const two = await start({ script, node: "two", agent: { name: one.agentName } });
    for (let n = 0; n < 5; n++) await one.say(`m${n}`);
    expect(one.requests).toHaveLength(5);
    expect(two.requests).toHaveLength(0);
  });

  it("goes on with a turn whose database was unavailable for a moment", async () => {
    const database = await open();
    let failures = 0;
    const flaky: typeof database = new Proxy(database, {
      get(target, property, receiver) {
        const value: unknown = Reflect.get(target, property, receiver);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          const statement = typeof args[0] === "string" ? args[0] : "";
          if (statement.includes("turn:intention") && failures++ < 3) {
            return import("../../../../runtime/contracts/errors.ts").then(({ MemoryError }) => {
              throw new MemoryError("MEMORY_UNAVAILABLE", "away");
            });
          }
          return Reflect.apply(value, target, args);
        };
      },
    });
    const { counts, tool } = effects();
    const harness = await startHarness({
      database: flaky,
      script: twoCalls,
      tools: [tool("first"), tool("second"), tool("third")],
    });
    running.push(harness);
    expect(await harness.say("go")).toMatchObject({ text: "On it.\n\nFinished.", interrupted: false });
    expect(counts).toEqual({ first: 1, second: 1, third: 1 });
  });
});
