/** What turns use of models is counted once: with fallbacks, over crashes and shutdowns, and for turns that fail. */

import { afterEach, expect, it } from "vitest";
import { createUsageLedger } from "../../../../runtime/app/usage/report.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { MemoryError, ProviderError } from "../../../../runtime/contracts/errors.ts";
import type { AnyHook } from "../../../../runtime/contracts/hooks.ts";
import type { ChatChunk } from "../../../../runtime/contracts/provider.ts";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import type { UsageKey } from "../../../../runtime/contracts/usage.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { through } from "../../../support/through.ts";
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

describeDatabase("the ledger of usage", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database">, database?: Database): Promise<Harness> {
    const harness = await startHarness({ database: database ?? (await open()), ...options });
    running.push(harness);
    return harness;
  }

  /** Of one agent, since tests share a store. */
  async function counted({ agentName }: Harness) {
    const database = await open();
    const { rows } = await database.query<{ line: string }>(
      `select format('%s:%s %s calls, %s unpriced, %s in (%s cached, %s written), %s out, %s USD', provider, model, calls,
         unpriced_calls, input_tokens, cached_input_tokens, cache_write_input_tokens, output_tokens, trim_scale(cost_usd)) as line
       from model_usage where agent = $1 and day = (now() at time zone 'utc')::date order by provider collate "C", model`,
      [agentName],
    );
    return rows.map(({ line }) => line);
  }

  const done: Tool = {
    name: "work",
    description: "work",
    parameters: { type: "object" },
    execute: async () => ({ content: "done" }),
  };
  const workThenAnswer: HarnessOptions["script"] = ({ messages }) =>
    messages.at(-1)?.role === "user" ? [toolCall("c1", "work"), end("tool_calls")] : [text("Finished."), end()];

  it("has every call of a turn, with its money where the provider has prices", async () => {
    const harness = await start({
      script: workThenAnswer,
      tools: [done],
      prices: { scripted: { input: 3, output: 15 } },
    });
    await harness.say("go");
    // Twice 10 tokens in and 5 out.
    expect(await counted(harness)).toEqual([
      "scripted:scripted-1 2 calls, 0 unpriced, 20 in (0 cached, 0 written), 10 out, 0.00021 USD",
    ]);
    await harness.say("go");
    expect(await counted(harness)).toEqual([
      "scripted:scripted-1 4 calls, 0 unpriced, 40 in (0 cached, 0 written), 20 out, 0.00042 USD",
    ]);
  });

  it("has the provider and the model that answered, and those whose answer was of no use", async () => {
    const refuse: AnyHook = {
      name: "refuse",
      event: "provider:after",
      priority: 50,
      policy: "closed",
      run: async ({ provider }) => {
        if (provider === "second") throw new ProviderError("PROVIDER_BAD_RESPONSE", "not this one");
      },
    };
    const ended = (model: string, cachedInputTokens: number): ChatChunk => ({
      type: "end",
      stopReason: "end",
      usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens },
      model,
    });
    const harness = await start({
      script: () => {
        throw new ProviderError("PROVIDER_OVERLOADED", "later");
      },
      others: { second: () => [ended("two", 0)], third: () => [text("Hello."), ended("three", 4)] },
      agent: { fallbacks: ["second:x", "third:y"] },
      hooks: [refuse],
      prices: { third: { input: 1, output: 1, cacheRead: 0 } },
    });
    expect(await harness.say("hello")).toMatchObject({ text: "Hello." });
    expect(await counted(harness)).toEqual([
      "second:two 1 calls, 1 unpriced, 10 in (0 cached, 0 written), 5 out, 0 USD",
      "third:three 1 calls, 0 unpriced, 10 in (4 cached, 0 written), 5 out, 0.000011 USD",
    ]);
  });

  it("counts what a turn used before it failed or was stopped", async () => {
    const failing = await start({
      script: (_, call) => {
        if (call > 1) throw new ProviderError("PROVIDER_UNAUTHORIZED", "no");
        return [toolCall("c1", "work"), end("tool_calls")];
      },
      tools: [done],
    });
    await expect(failing.say("go")).rejects.toMatchObject({ code: "PROVIDER_UNAUTHORIZED" });
    expect(await counted(failing)).toEqual([expect.stringContaining(" 1 calls, ")]);

    // Its reply is there when the turn fails, and stands in no step.
    const refused = await start({
      script: () => [text("Hello."), end()],
      hooks: [
        {
          name: "refuse",
          event: "turn:after",
          priority: 50,
          policy: "closed",
          run: async () => {
            throw new ProviderError("PROVIDER_BAD_RESPONSE", "no such reply");
          },
        },
      ],
    });
    await expect(refused.say("go")).rejects.toThrow();
    expect(await counted(refused)).toEqual([expect.stringContaining(" 1 calls, ")]);
  });

  it("counts no step again that a resumed turn finds recorded", async () => {
    const doomed = await startHarness({
      database: await open(),
      script: workThenAnswer,
      tools: [{ ...done, execute: () => hang() }],
    });
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await expect.poll(() => counted(doomed)).toEqual([expect.stringContaining(" 1 calls, ")]);
    await doomed.die();
    const next = await start({ script: workThenAnswer, tools: [done], ...doomed.next });
    expect(await next.turns.wait(next.agentName, turnId)).toMatchObject({ text: "Finished.", interrupted: true });
    expect(await counted(next)).toEqual([expect.stringContaining(" 2 calls, ")]);
  });

  it("counts nothing twice when the answers to its commits are lost", async () => {
    const database = await open();
    const lost = new Set<string>();
    const losing = through(database, {
      // Each kind of transaction loses the answer to its first commit.
      transaction: async (work, options) => {
        let kind = "";
        const result = await database.transaction(
          (tx) =>
            work({
              query: (sql, values) => {
                kind = /turn:(?:reply|outbox)/.exec(sql)?.[0] ?? kind;
                return tx.query(sql, values);
              },
              savepoint: (inner) => tx.savepoint(inner),
              limit: (ms) => tx.limit(ms),
            }),
          options,
        );
        if (kind === "" || lost.has(kind)) return result;
        lost.add(kind);
        throw new MemoryError("MEMORY_UNAVAILABLE", "The connection was lost.");
      },
    });
    const harness = await start({ script: workThenAnswer, tools: [done] }, losing);
    expect(await harness.say("go")).toMatchObject({ text: "Finished." });
    expect([...lost].sort()).toEqual(["turn:outbox", "turn:reply"]);
    expect(await counted(harness)).toEqual([expect.stringContaining(" 2 calls, ")]);
  });

  it("counts an answer that a shutdown left without a step, and the one that its resumed turn asks for", async () => {
    const stopping = Promise.withResolvers<void>();
    const first = await startHarness({
      database: await open(),
      script: () => [text("Hello."), end()],
      hooks: [
        {
          name: "slow",
          event: "turn:after",
          priority: 50,
          policy: "closed",
          run: async (_context, signal) => {
            stopping.resolve();
            await hang(signal);
          },
        },
      ],
    });
    const { turnId } = await first.turns.accept(first.message("go"));
    await stopping.promise;
    await first.drain(0);
    await first.stop();
    expect(await counted(first)).toEqual([expect.stringContaining(" 1 calls, ")]);
    const next = await start({ script: () => [text("Hello again."), end()], ...first.next });
    expect(await next.turns.wait(next.agentName, turnId)).toMatchObject({ text: "Hello again." });
    expect(await counted(next)).toEqual([expect.stringContaining(" 2 calls, ")]);
  });

  it.each([
    ["/stop", (harness: Harness) => harness.command("/stop")],
    ["/interrupt", (harness: Harness) => harness.command("/interrupt be quick")],
    ["a shutdown", (harness: Harness) => harness.drain(0)],
  ])("counts what a provider has told of a call that %s ends", async (_what, endIt) => {
    const harness = await start({
      script: ({ messages, options }) =>
        (async function* (): AsyncGenerator<ChatChunk> {
          if (messages.at(-1)?.content !== "go") return yield* [text("Quick."), end()];
          yield { type: "usage", usage: { inputTokens: 100_000, outputTokens: 1 }, model: "told" };
          yield text("Half a sen");
          await hang(options.signal);
        })(),
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect.poll(() => harness.hub.since(turnId, 0).length).toBeGreaterThan(1);
    await endIt(harness);
    await expect
      .poll(() => counted(harness))
      .toContain("scripted:told 1 calls, 1 unpriced, 100000 in (0 cached, 0 written), 1 out, 0 USD");
  });

  it("tells sums by day, agent, provider and model of the days that were asked for", async () => {
    const database = await open({ fresh: true });
    for (const [day, agent, provider, model, calls, unpriced, cost] of [
      ["2026-01-31", "ada", "p", "m", 1, 0, "0.1"],
      ["2026-02-01", "ada", "p", "m", 2, 0, "0.1"],
      ["2026-02-01", "ada", "q", "m", 3, 3, "0"],
      ["2026-02-03", "bob", "p", "n", 4, 1, "0.2"],
    ]) {
      await database.query("insert into model_usage values ($1, $2, $3, $4, $5, $6, 10, 4, 2, 5, $7)", [
        day,
        agent,
        provider,
        model,
        calls,
        unpriced,
        cost,
      ]);
    }
    const clock = { ...realClock, now: () => new Date("2026-02-28T23:59:00Z") };
    const ledger = createUsageLedger({ database, clock, timezone: "UTC" });
    const lines = async (by: UsageKey, days: { from?: string; to?: string } = { from: "2026-02-01" }) => {
      const { rows, total, from, to } = await ledger.report({ by, ...days });
      const listed = [...rows, { key: `${from} to ${to}`, ...total }];
      return listed.map(({ key, calls, unpriced_calls, cost_usd }) => `${key}: ${calls} ${unpriced_calls} ${cost_usd}`);
    };
    const total = "2026-02-01 to 2026-02-28: 9 4 0.3";
    expect(await lines("day")).toEqual(["2026-02-01: 5 3 0.1", "2026-02-03: 4 1 0.2", total]);
    expect(await lines("agent")).toEqual(["ada: 5 3 0.1", "bob: 4 1 0.2", total]);
    expect(await lines("provider")).toEqual(["p: 6 1 0.3", "q: 3 3 null", total]);
    expect(await lines("model")).toEqual(["p:m: 2 0 0.1", "p:n: 4 1 0.2", "q:m: 3 3 null", total]);
    expect(await lines("agent", {})).toEqual(["ada: 6 3 0.2", "bob: 4 1 0.2", "2026-01-29 to 2026-02-28: 10 4 0.4"]);
    expect(await lines("day", { from: "2020-01-01", to: "2020-01-31" })).toEqual([
      "2020-01-01 to 2020-01-31: 0 0 null",
    ]);
    await expect(ledger.report({ by: "day", from: "2026-02-02", to: "2026-02-01" })).rejects.toMatchObject({
      code: "RUNTIME_INVALID_REQUEST",
    });
    const { total: sums } = await ledger.report({ by: "day", from: "2026-02-01" });
    expect(sums).toMatchObject({
      input_tokens: 30,
      cached_input_tokens: 12,
      cache_write_input_tokens: 6,
      output_tokens: 15,
    });
  });
});
