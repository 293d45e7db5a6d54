/** How calls of models come into the ledger of usage: as a part of the statement that records what they were made for. */

/**
 * SQL that adds calls to the ledger, for each row of `guard` (a relation, or what an earlier part of the statement has changed):
 * where that has no row, nothing is counted. `agent` and `calls` are expressions; `calls` is a jsonb array of `CountedCall`.
 * The rows that it locks are shared by turns of the agent: it belongs into the last statement of a transaction.
 */
export function countUsage({ guard, agent, calls }: { guard: string; agent: string; calls: string }): string {
  return `insert into model_usage as u (day, agent, provider, model, calls, unpriced_calls,
      input_tokens, cached_input_tokens, cache_write_input_tokens, output_tokens, cost_usd)
    select c.day, ${agent}, c.provider, c.model, count(*), count(*) filter (where c."costUsd" is null),
      sum(c."inputTokens"), sum(c."cachedInputTokens"), sum(c."cacheWriteInputTokens"), sum(c."outputTokens"),
      coalesce(sum(c."costUsd"), 0)
    from ${guard} cross join jsonb_to_recordset(${calls}) as c (day date, provider text, model text, "inputTokens" bigint,
      "cachedInputTokens" bigint, "cacheWriteInputTokens" bigint, "outputTokens" bigint, "costUsd" numeric)
    group by 1, 2, 3, 4 order by 1, 3, 4
    on conflict (day, agent, provider, model) do update set
      calls = u.calls + excluded.calls, unpriced_calls = u.unpriced_calls + excluded.unpriced_calls,
      input_tokens = u.input_tokens + excluded.input_tokens,
      cached_input_tokens = u.cached_input_tokens + excluded.cached_input_tokens,
      cache_write_input_tokens = u.cache_write_input_tokens + excluded.cache_write_input_tokens,
      output_tokens = u.output_tokens + excluded.output_tokens, cost_usd = u.cost_usd + excluded.cost_usd`;
}
