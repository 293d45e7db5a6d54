/** The summaries at the heads of prompts as they are stored: one row for each conversation that has become too long for its model. */

import type { Database, Queryable } from "../../contracts/database.ts";
import type { SourceMessage, SourceSummary } from "../../domain/summaries/entries.ts";
import { lockSession } from "../transcript/writer.ts";

export interface PromptSummary {
  /** Empty: nothing is summarized yet. */
  readonly text: string;
  readonly coveredSeq: number;
  /** The last message that it covers; null where it covers none. */
  readonly throughId: string | null;
  /** No model is to be asked now, since one has failed at it. */
  readonly paused: boolean;
}

export const NO_SUMMARY: PromptSummary = { text: "", coveredSeq: 0, throughId: null, paused: false };

export async function readPromptSummary(database: Queryable, conversationId: string): Promise<PromptSummary> {
  const { rows } = await database.query<PromptSummary>(
    `/* prompt-summary:read */ select p.content as text, p.covered_seq as "coveredSeq",
       coalesce(p.retry_at > now(), false) as paused,
       (select m.id from messages m where m.conversation_id = p.conversation_id and m.seq <= p.covered_seq
        order by m.seq desc limit 1) as "throughId"
     from prompt_summaries p where p.conversation_id = $1`,
    [conversationId],
  );
  return rows[0] ?? NO_SUMMARY;
}

/** Insertion numbers of messages, by their ids. */
export async function seqsOf(database: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await database.query<{ readonly id: string; readonly seq: number }>(
    "select id, seq from messages where id = any($1::uuid[])",
    [ids],
  );
  return new Map(rows.map(({ id, seq }) => [id, seq]));
}

/** A summary of the background whose messages all lie in the range, and that no higher one in it says again. */
export interface BackgroundSummary extends SourceSummary {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Whether it begins with a user's message. */
  readonly opens: boolean;
  /** The leaves of which it is made, itself where it is one. */
  readonly leaves: readonly string[];
}

/** Of the messages after `after` up to `through`, oldest first. */
export async function backgroundSummaries(
  database: Queryable,
  conversationId: string,
  { after, through }: { readonly after: number; readonly through: number },
): Promise<readonly BackgroundSummary[]> {
  const { rows } = await database.query<BackgroundSummary>(
    `/* prompt-summary:background */ with recursive under (top, id, depth) as (
       select s.id, s.id, s.depth from summaries s where s.conversation_id = $1
       union all
       select under.top, child.id, child.depth from under
       join summaries child on child.parent_id = under.id and child.depth < under.depth
     ), spans as (
       select under.top as id, min(m.seq) as first_seq, max(m.seq) as last_seq, array_agg(distinct under.id::text) as leaves
       from under join summary_sources link on link.summary_id = under.id join messages m on m.id = link.message_id
       group by under.top having min(m.seq) > $2 and max(m.seq) <= $3
     )
     select s.id, s.kind, s.content, s.message_count, coalesce(s.earliest_at, s.created_at) as earliest_at,
       coalesce(s.latest_at, s.created_at) as latest_at, spans.first_seq as "firstSeq", spans.last_seq as "lastSeq", spans.leaves,
       exists (select 1 from messages m where m.conversation_id = $1 and m.seq = spans.first_seq
         and m.role = 'user' and m.tool_name is null) as opens
     from spans join summaries s on s.id = spans.id
     where not exists (select 1 from spans above_span join summaries above on above.id = above_span.id
       where above.id = s.parent_id and above.depth > s.depth)
     order by spans.first_seq`,
    [conversationId, after, through],
  );
  return rows;
}

/** The first message after `after` that none of the leaves holds; null where all of them do. */
export async function firstUncovered(
  database: Queryable,
  conversationId: string,
  { after, leaves }: { readonly after: number; readonly leaves: readonly string[] },
): Promise<number | null> {
  const { rows } = await database.query<{ readonly seq: number | null }>(
    `/* prompt-summary:uncovered */ select min(m.seq) as seq from messages m where m.conversation_id = $1 and m.seq > $2
       and not exists (select 1 from summary_sources link where link.message_id = m.id and link.summary_id = any($3::uuid[]))`,
    [conversationId, after, leaves],
  );
  return rows[0]?.seq ?? null;
}

export interface ReadRow extends SourceMessage {
  readonly seq: number;
}

/** Bounds of one statement. */
const PAGE_ROWS = 200;
const PAGE_BYTES = 1_000_000;

/** Messages after `after` up to `through` that none of the leaves holds, oldest first: a page of them, none at the end. */
export async function readRows(
  database: Queryable,
  conversationId: string,
  range: { readonly after: number; readonly through: number; readonly leaves: readonly string[] },
): Promise<readonly ReadRow[]> {
  const { rows } = await database.query<ReadRow>(
    `/* prompt-summary:rows */ with page as (
       select m.id, m.seq, octet_length(m.content) + coalesce(octet_length(m.tool_result), 0)
         + coalesce(pg_column_size(m.tool_args), 0) as size
       from messages m where m.conversation_id = $1 and m.seq > $2 and m.seq <= $3
         and not exists (select 1 from summary_sources link where link.message_id = m.id and link.summary_id = any($4::uuid[]))
       order by m.seq limit ${PAGE_ROWS}
     ), bounded as (select id, sum(size) over (order by seq) - size as before from page)
     select m.id, m.seq, m.agent, m.role, m.content, m.tool_name, m.tool_args, m.tool_result, m.created_at,
       null::float8 as full_result_length
     from bounded join messages m on m.id = bounded.id where bounded.before < ${PAGE_BYTES} order by m.seq`,
    [conversationId, range.after, range.through, range.leaves],
  );
  return rows;
}

/** How many messages there are up to an insertion number; fewer later mean that some were erased. */
export async function countMessages(database: Queryable, conversationId: string, through: number): Promise<number> {
  const { rows } = await database.query<{ readonly n: number }>(
    "select count(*)::int as n from messages where conversation_id = $1 and seq <= $2",
    [conversationId, through],
  );
  return rows[0]?.n ?? 0;
}

export interface NewPromptSummary {
  readonly text: string;
  readonly coveredSeq: number;
  /** Null: put together from summaries of the background. */
  readonly model: string | null;
}

/**
 * Under the session's lock, as all writers and the owner's erasure. False where another node has stored one meanwhile, a message that
 * it covers was erased, or the conversation was closed: nothing is stored then.
 */
export function storePromptSummary(
  database: Database,
  conversation: { readonly id: string; readonly sessionKey: string },
  read: { readonly coveredSeq: number; readonly through: number; readonly messages: number },
  { text, coveredSeq, model }: NewPromptSummary,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    await lockSession(tx, conversation.sessionKey);
    if ((await countMessages(tx, conversation.id, read.through)) !== read.messages) return false;
    const { count } = await tx.query(
      `/* prompt-summary:store */ insert into prompt_summaries as p (conversation_id, content, covered_seq, model)
       select c.id, $2, $3, $4 from conversations c where c.id = $1 and c.active
         and coalesce((select covered_seq from prompt_summaries where conversation_id = $1), 0) = $5
       on conflict (conversation_id) do update set content = excluded.content, covered_seq = excluded.covered_seq,
         model = excluded.model, retry_at = null, updated_at = now()`,
      [conversation.id, text, coveredSeq, model, read.coveredSeq],
    );
    return count > 0;
  });
}

/** No model is asked for the conversation in this time. */
export async function pauseSummaries(database: Queryable, conversationId: string, pauseMs: number): Promise<void> {
  await database.query(
    `/* prompt-summary:pause */ insert into prompt_summaries as p (conversation_id, retry_at)
     select id, now() + make_interval(secs => $2) from conversations where id = $1
     on conflict (conversation_id) do update set retry_at = excluded.retry_at`,
    [conversationId, pauseMs / 1_000],
  );
}

/** True for the first call: one notice a conversation says that messages are left out. */
export async function reportOnce(database: Queryable, conversationId: string): Promise<boolean> {
  const { count } = await database.query(
    `/* prompt-summary:report */ insert into prompt_summaries as p (conversation_id, told)
     select id, true from conversations where id = $1
     on conflict (conversation_id) do update set told = true where not p.told`,
    [conversationId],
  );
  return count > 0;
}
