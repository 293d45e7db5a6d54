import type { Queryable } from "../../contracts/database.ts";
import type { SummaryKind } from "../../domain/summaries/budgets.ts";
import type { ConversationHead, SourceMessage, SourceSummary } from "../../domain/summaries/entries.ts";
import { MOST_COUNTED, type Waiting } from "../../domain/summaries/steps.ts";

/** What a summary is made from: messages that no leaf has, and summaries that none of a higher level has absorbed. */

export interface Conversation extends ConversationHead {
  readonly sessionKey: string;
  readonly waiting: Waiting;
  /** Every message up to this insertion number is in a leaf. */
  readonly summarizedSeq: number;
  readonly leaves: number;
  readonly branches: number;
}

/** Keeps the planner from joining instead: with statistics from before the table grew, it would read all of it. */
const LOOKUP = "offset 0";
const UNSUMMARIZED = `not exists (select 1 from summary_sources link where link.message_id = m.id ${LOOKUP})`;
const UNABSORBED = "not exists (select 1 from summaries above where above.id = s.parent_id and above.depth > s.depth)";

/** The conversation as it is now, looked at from the insertion number up to which it was known to be summarized. */
export async function readConversation(database: Queryable, id: string, from: number): Promise<Conversation | null> {
  const { rows } = await database.query<
    ConversationHead & {
      readonly session_key: string;
      readonly messages: number;
      readonly idle_ms: number;
      readonly ready: boolean;
      readonly first: number | null;
      readonly last: number | null;
      readonly leaves: number;
      readonly branches: number;
    }
  >(
    `select c.id, c.agent, c.channel, c.title, c.session_key, waiting.n as messages,
       (extract(epoch from now() - c.updated_at) * 1000)::float8 as idle_ms,
       (not c.active or coalesce(c.finalized_at >= c.updated_at, false)) as ready,
       waiting.first, (select max(m.seq) from messages m where m.conversation_id = c.id) as last,
       (select count(*)::int from summaries s where s.conversation_id = c.id and s.kind = 'leaf' and ${UNABSORBED}) as leaves,
       (select count(*)::int from summaries s where s.conversation_id = c.id and s.kind = 'branch' and ${UNABSORBED}) as branches
     from conversations c
     cross join lateral (
       select count(*)::int as n, min(counted.seq) as first from (
         select m.seq from messages m where m.conversation_id = c.id and m.seq > $2 and ${UNSUMMARIZED}
         order by m.seq limit ${MOST_COUNTED}
       ) as counted
     ) as waiting
     where c.id = $1`,
    [id, from],
  );
  const row = rows[0];
  if (row === undefined) return null;
  const { session_key: sessionKey, messages, idle_ms: idleMs, ready, first, last, ...markIdle } = row;
  const summarizedSeq = Math.max(from, first === null ? (last ?? 0) : first - 1);
  return { ...markIdle, sessionKey, waiting: { messages, idleMs, ready }, summarizedSeq };
}

export interface ReadMessage extends SourceMessage {
  readonly seq: number;
}

/** Bounds of one statement; a longer message comes alone. */
const PAGE_ROWS = 500;
const PAGE_BYTES = 2_000_000;

/** Unsummarized messages after an insertion number, oldest first: a page of them, none at the end. */
export async function readMessages(
  database: Queryable,
  conversationId: string,
  after: number,
): Promise<readonly ReadMessage[]> {
  const { rows } = await database.query<ReadMessage>(
    `with page as (
       select m.id, m.seq, octet_length(m.content) + coalesce(octet_length(m.tool_result), 0)
         + coalesce(pg_column_size(m.tool_args), 0) as size
       from messages m where m.conversation_id = $1 and m.seq > $2 and ${UNSUMMARIZED}
       order by m.seq limit ${PAGE_ROWS}
     ), bounded as (
       select id, sum(size) over (order by seq) - size as before from page
     )
     select m.id, m.seq, m.agent, m.role, m.content, m.tool_name, m.tool_args, m.tool_result, m.created_at,
       case when jsonb_typeof(m.metadata -> 'full_tool_result_length') = 'number'
         then (m.metadata ->> 'full_tool_result_length')::float8 end as full_result_length
     from bounded join messages m on m.id = bounded.id
     where bounded.before < ${PAGE_BYTES}
     order by m.seq`,
    [conversationId, after],
  );
  return rows;
}

/** Summaries of one level that none of the next has absorbed, oldest first. */
export async function readSummaries(
  database: Queryable,
  conversationId: string,
  kind: SummaryKind,
  limit: number,
): Promise<readonly SourceSummary[]> {
  const { rows } = await database.query<SourceSummary>(
    `select s.id, s.kind, s.content, s.message_count, coalesce(s.earliest_at, s.created_at) as earliest_at,
       coalesce(s.latest_at, s.created_at) as latest_at
     from summaries s where s.conversation_id = $1 and s.kind = $2 and ${UNABSORBED}
     order by s.seq limit $3`,
    [conversationId, kind, limit],
  );
  return rows;
}

/** System messages that lie under the given leaves or branches, in their order. */
export async function readSystemMessages(
  database: Queryable,
  summaryIds: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await database.query<{ content: string }>(
    `with given as (
       select id from summaries where id = any($1::uuid[])
       union
       select child.id from summaries child join summaries parent on parent.id = child.parent_id and child.depth < parent.depth
       where parent.id = any($1::uuid[])
     )
     select m.content from given join summary_sources link on link.summary_id = given.id
     join messages m on m.id = link.message_id and m.role = 'system'
     order by m.seq`,
    [summaryIds],
  );
  return rows.map(({ content }) => content);
}
