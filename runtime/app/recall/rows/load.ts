import type { Queryable } from "../../../contracts/database.ts";
import { lexemeCounts } from "../../../domain/lexemes.ts";
import { numbersIn, type RowRef } from "../found.ts";
import type { EmbeddingModel } from "../query-analysis.ts";
import { Values } from "../sql.ts";
import { type Access, NEVER } from "./access-count-cache.ts";
import { CachedRow, NEIGHBOURS, type RowFacts } from "./cached-row.ts";
import { idsOf, type Position } from "./changes.ts";
import { readState, STATE, type StoreState } from "./state.ts";
import { cosineTo, readCosine, readVector, vectorOf } from "./vector.ts";

/** Reads rows as they are cached, and their neighbours, in one statement. */

export interface LoadRequest {
  readonly model: EmbeddingModel | null;
  readonly rows: readonly RowRef[];
  /** Of `rows`, the messages that bring those beside them. */
  readonly surrounded: readonly RowRef[];
  /** Messages by their place. */
  readonly places: readonly Position[];
  /** Lexemes of the query. */
  readonly lexemes: readonly string[];
  /** Whether it is wanted of every row which messages are beside it, and not only of those of `surrounded`. */
  readonly whole: boolean;
  /** Whether vectors are wanted. */
  readonly vectors: boolean;
  /** The query's vector as a parameter, where the cosines with it are wanted; else null. */
  readonly near: Buffer | null;
  /** Units of the content that are wanted. */
  readonly head: number;
}

export interface Loaded {
  readonly row: CachedRow;
  /** Whether nothing of it can change, and all of it is there. */
  readonly lasting: boolean;
  readonly vector: Float32Array | null;
  /** Where vectors are not sent. */
  readonly cosine: number | null | undefined;
  readonly access: Access;
}

export interface Loading {
  /** Undefined when no row was found. */
  readonly state: StoreState | undefined;
  readonly rows: readonly Loaded[];
}

/**
 * Longer than anything that is captured; in characters. Reading all words of such a text would take milliseconds: only those
 * of the query are asked for, at each search anew.
 */
const LONG = 20_000;

interface Row
  extends Pick<RowFacts, "kind" | "id" | "agent" | "channel" | "role" | "depth" | "length" | "head" | "whole"> {
  /** In one of the rows of each kind. */
  readonly state: string | null;
  readonly conversation_id: string | null;
  readonly seq: number;
  readonly speaker: string | null;
  readonly summary_kind: RowFacts["summaryKind"];
  readonly created_ms: number;
  readonly happened_ms: number;
  readonly words: string | null;
  /** Of a long text: how often each of the query's lexemes occurs. */
  readonly counts: string | null;
  readonly empty: boolean;
  readonly before: string | null;
  readonly after: string | null;
  readonly vector: string | null;
  readonly cosine: number | null;
  readonly access_count: number | null;
  readonly accessed_ms: number | null;
}

export async function loadRows(database: Queryable, request: LoadRequest): Promise<Loading> {
  const values = new Values();
  const messages = idsOf(request.rows, "message");
  const summaries = idsOf(request.rows, "summary");
  const lexemes = values.add(request.lexemes);
  const given = { request, values, lexemes, head: values.add(request.head) };
  const branches: string[] = [];
  if (messages.length > 0 || request.places.length > 0) branches.push(messageBranch(messages, given));
  if (summaries.length > 0) branches.push(summaryBranch(summaries, given));
  if (branches.length === 0) return { state: undefined, rows: [] };
  const { rows } = await database.query<Row>(branches.join("\nunion all\n"), values.list);
  const state = rows.find(({ state }) => state !== null)?.state;
  return {
    state: state === null || state === undefined ? undefined : readState(state),
    rows: rows.map((row) => loaded(row, request)),
  };
}

interface Given {
  readonly request: LoadRequest;
  readonly values: Values;
  readonly lexemes: string;
  readonly head: string;
}

/** It is long, and one is enough. */
const STATE_ONCE = `case when row_number() over () = 1 then ${STATE} end as state`;

function messageBranch(ids: readonly string[], given: Given): string {
  const { request, values } = given;
  const neighbours = (side: "<" | ">", direction: "desc" | "asc", of: string) => `
      select o.seq from messages o where o.conversation_id = ${of}.conversation_id and o.seq ${side} ${of}.seq
      order by o.conversation_id ${direction}, o.seq ${direction} limit ${NEIGHBOURS}`;
  const surrounded = values.add(idsOf(request.surrounded, "message"));
  const included = request.whole ? "true" : `m.id = any(${surrounded}::uuid[])`;
  const seqs = (side: "<" | ">", direction: "desc" | "asc") => `case when ${included} then (
    select coalesce(string_agg(o.seq::text, ' ' order by o.seq ${direction}), '') from (${neighbours(side, direction, "m")}) as o) end`;
  const places = {
    conversations: values.add(request.places.map(({ conversationId }) => conversationId)),
    seqs: values.add(request.places.map(({ seq }) => seq)),
  };
  return `
(with found as materialized (
  select m.id, m.conversation_id, m.seq from unnest(${values.add(ids)}::uuid[]) as wanted (id)
  cross join lateral (select * from messages m where m.id = wanted.id limit 1) as m
), place as (
  select conversation_id, seq from found
  union
  select found.conversation_id, neighbour.seq from found
  cross join lateral ((${neighbours("<", "desc", "found")}) union all (${neighbours(">", "asc", "found")})) as neighbour
  where found.id = any(${surrounded}::uuid[])
  union
  select * from unnest(${places.conversations}::uuid[], ${places.seqs}::int8[])
), m as materialized (
  select row.* from place cross join lateral (
    select * from messages m where m.conversation_id = place.conversation_id and m.seq = place.seq limit 1
  ) as row
)
select ${STATE_ONCE}, 'message' as kind, m.id, m.conversation_id, m.seq, m.agent, m.channel, m.role,
  m.metadata ->> 'speaker' as speaker, ${epochMs("m.created_at")} as created_ms, ${epochMs("m.created_at")} as happened_ms,
  null::int as depth, null::text as summary_kind, ${seqs("<", "desc")} as before, ${seqs(">", "asc")} as after,
  ${ofContent("m", "message", given)}
from m left join ${accessOf("m", "message")})`;
}

function summaryBranch(ids: readonly string[], given: Given): string {
  return `
(with s as materialized (
  select row.* from unnest(${given.values.add(ids)}::uuid[]) as wanted (id)
  cross join lateral (select * from summaries s where s.id = wanted.id limit 1) as row
)
select ${STATE_ONCE}, 'summary' as kind, s.id, s.conversation_id, s.seq, c.agent, c.channel, null::text as role,
  null::text as speaker, ${epochMs("s.created_at")} as created_ms,
  ${epochMs("coalesce(s.latest_at, s.created_at)")} as happened_ms, s.depth, s.kind as summary_kind,
  null::text as before, null::text as after,
  ${ofContent("s", "summary", given)}
from s left join lateral (select * from conversations c where c.id = s.conversation_id limit 1) as c on true
left join ${accessOf("s", "summary")})`;
}

function ofContent(alias: "m" | "s", kind: RowRef["kind"], { request, values, lexemes, head }: Given): string {
  const { model, near } = request;
  const id = `${alias}.id`;
  const vector = model === null || !request.vectors ? "null::text" : vectorOf(model, kind, id);
  const cosine = model === null || near === null ? "null::float8" : cosineTo(values.add(near), model, kind, id);
  const long = `length(${alias}.content) > ${LONG}`;
  return `length(${alias}.content_tsv) as length, case when not ${long} then ${alias}.content_tsv::text end as words,
  case when ${long} then (select string_agg(coalesce(cardinality(word.positions), 0)::text, ' ' order by asked.n)
    from unnest(${lexemes}::text[]) with ordinality as asked (lexeme, n)
    left join unnest(${alias}.content_tsv) as word on word.lexeme = asked.lexeme) end as counts,
  left(${alias}.content, ${head}::int) as head, length(${alias}.content) <= ${head}::int as whole,
  ${alias}.content = '' as empty, ${vector} as vector, ${cosine} as cosine,
  access.access_count, ${epochMs("access.last_accessed_at")} as accessed_ms`;
}

/** By the list of the rows: row by row the planner would read all of a table that is small yet. */
function accessOf(rows: "m" | "s", kind: RowRef["kind"]): string {
  return `(select id, access_count, last_accessed_at from access
    where access.kind = '${kind}' and access.id = any(array(select ${rows}.id from ${rows}))) as access on access.id = ${rows}.id`;
}

function epochMs(time: string): string {
  return `(extract(epoch from ${time}) * 1000)::float8`;
}

function loaded(row: Row, { lexemes, near }: LoadRequest): Loaded {
  const facts: RowFacts = {
    kind: row.kind,
    id: row.id,
    conversationId: row.conversation_id,
    seq: row.seq,
    agent: row.agent,
    channel: row.channel,
    role: row.role,
    speaker: row.speaker ?? speakerIn(row.head),
    createdMs: row.created_ms,
    happenedMs: row.happened_ms,
    depth: row.depth,
    summaryKind: row.summary_kind,
    length: row.length,
    words: row.words === null ? wordsOf(lexemes, numbersIn(row.counts)) : lexemeCounts(row.words),
    head: row.head,
    whole: row.whole,
    before: row.before === null ? null : numbersIn(row.before),
  };
  return {
    row: new CachedRow(facts, row.after === null ? null : numbersIn(row.after)),
    // The content of a tool call may come later.
    lasting: row.words !== null && !row.empty,
    vector: row.vector === null ? null : readVector(row.vector),
    cosine: near === null ? undefined : readCosine(row.cosine),
    access: row.access_count === null ? NEVER : { count: row.access_count, lastMs: row.accessed_ms },
  };
}

function wordsOf(lexemes: readonly string[], counts: readonly number[]): ReadonlyMap<string, number> {
  return new Map(lexemes.map((lexeme, n) => [lexeme, counts[n] ?? 0]));
}

/** `Ada: I was there.` */
const SPEAKER = /^(\p{Lu}[\p{L}'’.-]{0,30}(?: \p{Lu}[\p{L}'’.-]{0,30}){0,2}): /u;

/** The name that a content begins with. */
export function speakerIn(head: string): string | null {
  return SPEAKER.exec(head)?.[1] ?? null;
}
