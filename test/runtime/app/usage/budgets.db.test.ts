/** Turns of an agent with a budget: what the ledger has decides, whoever wrote it, and no call is made beyond it. */

import { afterEach, expect, it } from "vitest";
import { createBudgets } from "../../../../runtime/app/usage/budgets.ts";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import type { Budget } from "../../../../runtime/domain/budget.ts";
import { describeEachDatabase, quietLogger } from "../../../support/databases.ts";
import {
  end,
  type Harness,
  type HarnessOptions,
  realClock,
  startHarness,
  text,
  toolCall,
} from "../../../support/turn-harness.ts";

describeEachDatabase("budgets", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  /** Each call uses 15 tokens. */
  async function start(budget: Budget, options: Partial<HarnessOptions> = {}): Promise<Harness> {
    const script = () => [text("fine"), end()];
    const harness = await startHarness({
      database: await open(),
      script,
      ...options,
      agent: { ...options.agent, budget },
    });
    running.push(harness);
    return harness;
  }
  /** What another node has written. */
  async function used(agent: string, day: string, tokens: number, usd = 0): Promise<void> {
    const database = await open();
    await database.query(`insert into model_usage values ($1, $2, 'other', 'm', 1, 0, $3, 0, 0, 0, $4)`, [
      day,
      agent,
      tokens,
      usd,
    ]);
  }
  const at = (iso: string) => ({ ...realClock, now: () => new Date(iso) });
  const stop = (limits: Budget["limits"]): Budget => ({ limits, onLimit: "stop" });

  it("answer until the limit is reached, say so in that reply, and refuse the next turn without a call", async () => {
    const harness = await start(stop({ daily_tokens: 30 }));
    expect((await harness.say("one")).notice).toBeUndefined();
    expect((await harness.say("two")).notice).toContain("30 of 30 tokens a day. Until ");
    await expect(harness.say("three")).rejects.toMatchObject({
      code: "RUNTIME_BUDGET_EXCEEDED",
      details: { hint: expect.stringContaining(`raise agents.${harness.agentName}.budget.daily_tokens`) },
    });
    expect(harness.requests).toHaveLength(2);
    await expect.poll(() => harness.sent.at(-1)?.notice).toContain("RUNTIME_BUDGET_EXCEEDED");
  });

  it("end a turn between two calls, and keep what it had said", async () => {
    const tool: Tool = {
      name: "work",
      description: "work",
      parameters: { type: "object" },
      execute: async () => ({ content: "ok" }),
    };
    const harness = await start(stop({ monthly_tokens: 15 }), {
      script: (_request, call) => [text(`step ${call}`), toolCall(`c${call}`, "work"), end("tool_calls")],
      tools: [tool],
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect(harness.turns.wait(harness.agentName, turnId)).rejects.toMatchObject({
      code: "RUNTIME_BUDGET_EXCEEDED",
    });
    expect(harness.requests).toHaveLength(1);
    await expect.poll(() => harness.sent.at(-1)?.text).toBe("step 1");
  });

  it("count what other nodes have used, in the day and the month of the zone alone", async () => {
    // In Berlin the first of April has begun; in UTC it is still March.
    const options = { clock: at("2030-03-31T22:30:00Z"), limits: { timezone: "Europe/Berlin" } };
    const harness = await start(stop({ daily_tokens: 100, monthly_usd: 5 }), options);
    await used(harness.agentName, "2030-03-31", 1_000, 50);
    await used(harness.agentName, "2030-04-02", 1_000, 50);
    expect((await harness.say("hi")).text).toBe("fine");
    const { rows } = await (await open()).query(
      "select day::text, input_tokens::int from model_usage where agent = $1 and provider = 'scripted'",
      [harness.agentName],
    );
    expect(rows).toEqual([{ day: "2030-04-01", input_tokens: 10 }]);
    await used(harness.agentName, "2030-04-01", 10, 5);
    await harness.stop();
    const full = await start(stop({ daily_tokens: 100, monthly_usd: 5 }), { ...options, ...harness.next });
    await expect(full.say("hi")).rejects.toMatchObject({
      code: "RUNTIME_BUDGET_EXCEEDED",
      message: expect.stringContaining("5 of 5 USD a month"),
    });
    expect(full.requests).toHaveLength(0);
  });

  it("of on_limit warn go on, with one notice a period", async () => {
    const harness = await start({ limits: { daily_tokens: 20 }, onLimit: "warn" });
    const notices: unknown[] = [];
    for (const word of ["one", "two", "three"]) notices.push((await harness.say(word)).notice);
    expect(notices).toEqual([undefined, expect.stringContaining("30 of 20 tokens a day."), undefined]);
    expect(harness.requests).toHaveLength(3);
  });

  it("are read from the ledger before each call, however little of them is used", async () => {
    const database = await open();
    const agent = `agent-of-reads-${Math.random()}`;
    const budgets = createBudgets({
      database,
      agents: new Map([[agent, { budget: stop({ daily_tokens: 100 }) }]]),
      timezone: "UTC",
      clock: at("2030-05-05T12:00:00Z"),
      logger: quietLogger,
    });
    const turn = budgets.of(agent);
    expect(await turn.before([])).toBeNull();
    const call = { provider: "p", model: "m", inputTokens: 95, outputTokens: 5, cachedInputTokens: 0 };
    const counted = { ...call, cacheWriteInputTokens: 0, costUsd: null, day: "2030-05-05" };
    expect(turn.after(counted)).toContain("100 of 100 tokens a day");
    // The ledger, which does not have the call, is what decides.
    expect(await turn.before([])).toBeNull();
    await used(agent, "2030-05-05", 100);
    await expect(turn.before([])).rejects.toMatchObject({
      code: "RUNTIME_BUDGET_EXCEEDED",
      details: { retryAfterS: 12 * 3_600 },
    });
    expect((await budgets.report()).get(agent)).toMatchObject({ state: "reached", limits: [{ used: 100, max: 100 }] });
  });

  it.each([
    ["monthly", "2030-05-04", "2030-05-05", true],
    ["daily", "2030-05-04", "2030-05-05", false],
    ["monthly", "2030-04-30", "2030-05-01", false],
  ] as const)("count in the %s limit calls of %s that the ledger lacks on %s: %s", async (period, day, now, isFull) => {
    const agent = `agent-of-midnight-${Math.random()}`;
    const budgets = createBudgets({
      database: await open(),
      agents: new Map([[agent, { budget: stop({ [`${period}_tokens`]: 100 }) }]]),
      timezone: "UTC",
      clock: at(`${now}T00:00:05Z`),
      logger: quietLogger,
    });
    const call = { provider: "p", model: "m", inputTokens: 95, outputTokens: 5, cachedInputTokens: 0 };
    const pending = budgets.of(agent).before([{ ...call, cacheWriteInputTokens: 0, costUsd: null, day }]);
    if (isFull) await expect(pending).rejects.toMatchObject({ code: "RUNTIME_BUDGET_EXCEEDED" });
    else expect(await pending).toBeNull();
  });

  it("are not passed by a node that has seen little of them, when another node uses them up", async () => {
    const one = await start(stop({ daily_tokens: 40 }));
    await one.say("one");
    const two = await start(stop({ daily_tokens: 40 }), { agent: { name: one.agentName } });
    await two.say("two");
    await two.say("three");
    await expect(one.say("four")).rejects.toMatchObject({ code: "RUNTIME_BUDGET_EXCEEDED" });
    expect(one.requests).toHaveLength(1);
  });

  it("are not passed by a turn whose sums are read while another turn's call is counted", async () => {
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const harness = await start(stop({ daily_tokens: 40 }));
    const database = await open();
    let isSlow = false;
    const budgets = createBudgets({
      database: {
        query: async (...args: Parameters<typeof database.query>) => {
          const sums = await database.query(...args);
          if (!isSlow) return sums;
          isSlow = false;
          asked.resolve();
          await gate.promise;
          return sums;
        },
      } as typeof database,
      agents: new Map([[harness.agentName, { budget: stop({ daily_tokens: 40 }) }]]),
      timezone: "UTC",
      clock: realClock,
      logger: quietLogger,
    });
    isSlow = true;
    const slow = budgets.of(harness.agentName).before([]);
    await asked.promise;
    for (const word of ["one", "two", "three"]) await harness.say(word);
    gate.resolve();
    // As of the moment when it was asked.
    expect(await slow).toBeNull();
    await expect(budgets.of(harness.agentName).before([])).rejects.toMatchObject({ code: "RUNTIME_BUDGET_EXCEEDED" });
  });
});
