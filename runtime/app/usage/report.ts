/** What the ledger of usage says of a time, by day, agent, provider or model. */

import type { Database } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Clock } from "../../contracts/ports.ts";
import type { UsageCounts, UsageKey, UsageQuery, UsageReport } from "../../contracts/usage.ts";
import { isoDay } from "../../domain/time-window.ts";

export interface UsageLedger {
  /** RUNTIME_INVALID_REQUEST when the time ends before it begins. */
  report(query: UsageQuery): Promise<UsageReport>;
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

const KEY: Readonly<Record<UsageKey, string>> = {
  day: "to_char(day, 'YYYY-MM-DD')",
  agent: "agent",
  provider: "provider",
  model: "provider || ':' || model",
};

export function createUsageLedger(deps: { database: Database; clock: Clock; timezone: string }): UsageLedger {
  const { database, clock, timezone } = deps;
  return {
    async report({ by = "day", from: wanted, to = isoDay(clock.now(), timezone) }) {
      const from = wanted ?? toDay(Date.parse(to) - DEFAULT_DAYS * DAY_MS);
      if (from > to) {
        throw new RuntimeError("RUNTIME_INVALID_REQUEST", `The time ends (${to}) before it begins (${from}).`);
      }
      const { rows } = await database.query<CountsRow>(
        `/* usage:report */ select key, coalesce(sum(calls), 0)::float8 as calls,
           coalesce(sum(unpriced_calls), 0)::float8 as unpriced_calls, coalesce(sum(input_tokens), 0)::float8 as input_tokens,
           coalesce(sum(cached_input_tokens), 0)::float8 as cached_input_tokens,
           coalesce(sum(cache_write_input_tokens), 0)::float8 as cache_write_input_tokens,
           coalesce(sum(output_tokens), 0)::float8 as output_tokens, coalesce(sum(cost_usd), 0)::float8 as cost_usd
         from (select *, ${KEY[by]} collate "C" as key from model_usage where day between $1::date and $2::date) counted
         group by grouping sets ((key), ()) order by key nulls last`,
        [from, to],
      );
      const total = rows.find(({ key }) => key === null);
      return {
        from,
        to,
        by,
        rows: rows.flatMap((row) => (row.key === null ? [] : [{ key: row.key, ...toCounts(row) }])),
        total: toCounts(total ?? NOTHING),
      };
    },
  };
}

interface CountsRow extends UsageCounts {
  /** Null: the sum of all. */
  readonly key: string | null;
  readonly cost_usd: number;
}

const NOTHING: CountsRow = {
  key: null,
  calls: 0,
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  unpriced_calls: 0,
};

function toCounts({ key: _, cost_usd, ...row }: CountsRow): UsageCounts {
  return { ...row, cost_usd: row.calls === row.unpriced_calls ? null : cost_usd };
}

function toDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
