/**
 * Budgets of agents, checked before each call of a model against the ledger, which all nodes of the database share, and after it
 * with what the call has used. Nothing is kept from one check to the next: other turns and nodes use the same budget meanwhile.
 */

import type { Database } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { BudgetReport, LimitUse } from "../../contracts/health-report.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import {
  addSpending,
  type Budget,
  limitUses,
  limitWords,
  NEAR,
  reachedLimit,
  type Spending,
} from "../../domain/budget.ts";
import { isoDay } from "../../domain/time-window.ts";
import { type CountedCall, tokensOf } from "../../domain/usage.ts";

export interface Budgets {
  /** Of an agent, for the calls of one turn. */
  of(agent: string): TurnBudget;
  /** Of the agents of this node that have one. */
  report(): Promise<ReadonlyMap<string, BudgetReport>>;
}

export interface TurnBudget {
  /**
   * RUNTIME_BUDGET_EXCEEDED where the agent may use no more; else what its user is to read, once a period. `pending`: calls of the turn
   * that the ledger does not have yet.
   */
  before(pending: readonly CountedCall[]): Promise<string | null>;
  /** What the user is to read, once a period, where this call has reached a limit. */
  after(call: CountedCall): string | null;
}

interface Sums {
  readonly day: string;
  readonly spending: Spending;
}

const UNLIMITED: TurnBudget = { before: async () => null, after: () => null };

export function createBudgets(deps: {
  readonly database: Pick<Database, "query">;
  readonly agents: ReadonlyMap<string, { readonly budget?: Budget }>;
  readonly timezone: string;
  readonly clock: Clock;
  readonly logger: Logger;
}): Budgets {
  const { database, agents, timezone, clock, logger } = deps;
  /** By agent and limit: the end of the period in which it was last reported. */
  const reported = new Map<string, string>();

  async function readSums(agent: string, pending: readonly CountedCall[] = []): Promise<Sums> {
    const day = isoDay(clock.now(), timezone);
    const { rows } = await database.query<SumsRow>(
      `/* usage:budget */ select coalesce(sum(tokens) filter (where day = $2::date), 0)::float8 as day_tokens,
         coalesce(sum(cost_usd) filter (where day = $2::date), 0)::float8 as day_usd,
         coalesce(sum(tokens), 0)::float8 as month_tokens, coalesce(sum(cost_usd), 0)::float8 as month_usd
       from (select day, cost_usd, input_tokens + output_tokens as tokens from model_usage
             where agent = $1 and day between date_trunc('month', $2::date)::date and $2::date) counted`,
      [agent, day],
    );
    const [row] = rows;
    const spending = {
      day: { tokens: row?.day_tokens ?? 0, usd: row?.day_usd ?? 0 },
      month: { tokens: row?.month_tokens ?? 0, usd: row?.month_usd ?? 0 },
    };
    return pending.reduce(withCall, { day, spending });
  }

  function usesOf(budget: Budget, { spending, day }: Sums): readonly LimitUse[] {
    return limitUses(budget, spending, day, timezone);
  }

  /** The notice of a limit that is reached, the first time in its period. */
  function firstNotice(agent: string, { onLimit }: Budget, reached: LimitUse): string | null {
    const key = `${agent}/${reached.limit}`;
    if (reported.get(key) === reached.resets_at) return null;
    reported.set(key, reached.resets_at);
    const { limit, used, max, resets_at } = reached;
    logger.warn({ agent, limit, used, max, resets_at, on_limit: onLimit }, "an agent has reached its budget");
    const then = onLimit === "stop" ? ` Until ${resets_at} it answers no more.` : "";
    return `The budget of the agent ${agent} is used up: ${limitWords(reached)}.${then}`;
  }

  return {
    of(agent) {
      const budget = agents.get(agent)?.budget;
      if (budget === undefined) return UNLIMITED;
      let sums: Sums | null = null;
      return {
        async before(pending) {
          sums = await readSums(agent, pending);
          const reached = reachedLimit(usesOf(budget, sums));
          if (reached === null) return null;
          const notice = firstNotice(agent, budget, reached);
          if (budget.onLimit === "stop") throw exceeded(agent, reached, clock.now());
          return notice;
        },
        after(call) {
          if (sums === null) return null;
          sums = withCall(sums, call);
          const reached = reachedLimit(usesOf(budget, sums));
          return reached === null ? null : firstNotice(agent, budget, reached);
        },
      };
    },
    async report() {
      const withBudget = [...agents].flatMap(([name, { budget }]) => (budget === undefined ? [] : [{ name, budget }]));
      const entries = withBudget.map(async ({ name, budget }): Promise<[string, BudgetReport]> => {
        const limits = usesOf(budget, await readSums(name));
        const near = limits.some(({ share }) => share >= NEAR);
        const state = reachedLimit(limits) !== null ? "reached" : near ? "near" : "ok";
        return [name, { on_limit: budget.onLimit, state, limits }];
      });
      return new Map(await Promise.all(entries));
    },
  };
}

/** A call of a turn that goes on over midnight may be of an earlier day, and still of the month. */
function withCall({ day, spending }: Sums, call: CountedCall): Sums {
  const added = addSpending(spending, { tokens: tokensOf(call), usd: call.costUsd ?? 0 });
  return {
    day,
    spending: {
      day: call.day === day ? added.day : spending.day,
      month: monthOf(call.day) === monthOf(day) ? added.month : spending.month,
    },
  };
}

function monthOf(day: string): string {
  return day.slice(0, "YYYY-MM".length);
}

interface SumsRow {
  readonly day_tokens: number;
  readonly day_usd: number;
  readonly month_tokens: number;
  readonly month_usd: number;
}

function exceeded(agent: string, reached: LimitUse, now: Date): RuntimeError {
  const { limit, resets_at } = reached;
  return new RuntimeError(
    "RUNTIME_BUDGET_EXCEEDED",
    `The budget of the agent ${agent} is used up: ${limitWords(reached)}. It answers again from ${resets_at} on.`,
    {
      retryAfterS: Math.max(1, Math.ceil((Date.parse(resets_at) - now.getTime()) / 1_000)),
      hint: `Wait until then, or raise agents.${agent}.budget.${limit}.`,
    },
  );
}
