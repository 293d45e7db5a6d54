/** What the workers of a node have still to do, and whether they did anything twice. */

import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

export interface Backlog {
  /** Messages and summaries with text. */
  readonly withoutVector: number;
  /** Tool calls. */
  readonly withoutSentence: number;
  /** Conversations with as many messages in no summary as make one due. */
  readonly unsummarized: number;
  /** Messages whose words are not counted. */
  readonly uncounted: number;
}

export interface Summarized {
  readonly summaries: number;
  /** Messages in a summary. */
  readonly messages: number;
  /** Messages in two leaves. */
  readonly twice: number;
}

const DUE_MESSAGES = 10;
const POLL_MS = 2_000;

export async function readBacklog(client: pg.Client): Promise<Backlog> {
  const model = await client.query<{ readonly id: number }>("select id from embedding_models where current");
  const id = model.rows[0]?.id;
  const vectorless = (table: string, kind: string) =>
    id === undefined
      ? `(select count(*) from ${table} where content <> '')`
      : `(select count(*) from ${table} r where content <> ''
          and not exists (select 1 from embeddings_${id} e where e.kind = '${kind}' and e.id = r.id))`;
  const { rows } = await client.query<Backlog>(
    `select (${vectorless("messages", "message")} + ${vectorless("summaries", "summary")})::int as "withoutVector",
       (select count(*)::int from messages where content = '' and tool_name is not null) as "withoutSentence",
       (select count(*)::int from (
         select from messages m where not exists (select 1 from summary_sources s where s.message_id = m.id)
         group by conversation_id having count(*) >= ${DUE_MESSAGES}) as due) as unsummarized,
       (select count(*)::int from messages
         where seq > coalesce((select counted_to from search_totals where kind = 'message'), 0)) as uncounted`,
  );
  return rows[0] ?? { withoutVector: 0, withoutSentence: 0, unsummarized: 0, uncounted: 0 };
}

/** Once nothing is left, or nothing has changed about what is left for so long. */
export async function workedOff(client: pg.Client, stuckMs: number, signal: AbortSignal): Promise<Backlog> {
  let before = "";
  let since = performance.now();
  for (;;) {
    const remaining = await readBacklog(client);
    const now = JSON.stringify(remaining);
    if (Object.values(remaining).every((count) => count === 0)) return remaining;
    if (now !== before) since = performance.now();
    else if (performance.now() - since > stuckMs) return remaining;
    before = now;
    process.stderr.write(`  left to do: ${now}\n`);
    await sleep(POLL_MS, undefined, { signal });
  }
}

export async function readSummaries(client: pg.Client): Promise<Summarized> {
  const { rows } = await client.query<Summarized>(
    `select (select count(*)::int from summaries) as summaries, count(*)::int as messages,
       (count(*) filter (where leaves > 1))::int as twice
     from (select count(*) as leaves from summary_sources group by message_id) as linked`,
  );
  return rows[0] ?? { summaries: 0, messages: 0, twice: 0 };
}
