import type { Queryable } from "../../../contracts/database.ts";
import { lexemeCounts } from "../../../domain/lexemes.ts";
import { idsOf, type RowRef } from "../found.ts";
import { Values } from "../sql.ts";
import { CachedRow, CONTENT_CHARACTERS, type RowFacts } from "./cached-row.ts";
import type { CachedRows } from "./row-cache.ts";

/** The rows, from the cache and, where it has not all of them, from the database in one statement. */
export async function rowsOf(
  database: Queryable,
  cache: CachedRows,
  refs: readonly RowRef[],
  lexemes: readonly string[],
): Promise<CachedRow[]> {
  const rows: CachedRow[] = [];
  const missing: RowRef[] = [];
  for (const ref of refs) {
    const row = cache.row(ref);
    if (row === undefined) missing.push(ref);
    else rows.push(row);
  }
  for (const { row, cacheable } of await loadRows(database, missing, lexemes)) {
    rows.push(row);
    if (cacheable) cache.keep(row);
  }
  return rows;
}

/**
 * Longer than anything that is captured; in characters. Reading all words of such a text would take milliseconds: only those
 * of the query are asked for, at each search anew.
 */
const LONG = 20_000;

interface Row
  extends Pick<RowFacts, "kind" | "id" | "agent" | "channel" | "role" | "depth" | "length" | "content" | "whole"> {
  readonly conversation_id: string | null;
  readonly seq: number;
  readonly speaker: string | null;
  readonly summary_kind: RowFacts["summaryKind"];
  readonly created_at: Date;
  readonly happened_at: Date;
  readonly words: string | null;
  /** Of a long text: how often each of the query's lexemes occurs. */
  readonly counts: string | null;
}

interface Loaded {
  readonly row: CachedRow;
  /** Whether nothing of it can change, and all of it is there. */
  readonly cacheable: boolean;
}

async function loadRows(database: Queryable, refs: readonly RowRef[], lexemes: readonly string[]): Promise<Loaded[]> {
  if (refs.length === 0) return [];
  const values = new Values();
  const asked = values.add(lexemes);
  const messages = idsOf(refs, "message");
  const summaries = idsOf(refs, "summary");
  const branches = [
    ...(messages.length === 0 ? [] : [messageBranch(values.add(messages), asked)]),
    ...(summaries.length === 0 ? [] : [summaryBranch(values.add(summaries), asked)]),
  ];
  const { rows } = await database.query<Row>(branches.join("\nunion all\n"), values.list);
  return rows.map((row) => loaded(row, lexemes));
}

/** Each row is looked up by itself: for some dozens the planner would read a whole table that is not large yet. */
function messageBranch(ids: string, lexemes: string): string {
  return `
select 'message' as kind, m.id, m.conversation_id, m.seq, m.agent, m.channel, m.role, m.metadata ->> 'speaker' as speaker,
  m.created_at, m.created_at as happened_at, null::int as depth, null::text as summary_kind, ${ofContent("m", lexemes)}
from unnest(${ids}::uuid[]) as wanted (id) cross join lateral (select * from messages m where m.id = wanted.id limit 1) as m`;
}

function summaryBranch(ids: string, lexemes: string): string {
  return `
select 'summary' as kind, s.id, s.conversation_id, s.seq, c.agent, c.channel, null::text as role, null::text as speaker,
  s.created_at, coalesce(s.latest_at, s.created_at) as happened_at, s.depth, s.kind as summary_kind, ${ofContent("s", lexemes)}
from unnest(${ids}::uuid[]) as wanted (id) cross join lateral (select * from summaries s where s.id = wanted.id limit 1) as s
left join lateral (select * from conversations c where c.id = s.conversation_id limit 1) as c on true`;
}

function ofContent(row: "m" | "s", lexemes: string): string {
  const long = `length(${row}.content) > ${LONG}`;
  return `length(${row}.content_tsv) as length, case when not ${long} then ${row}.content_tsv::text end as words,
  case when ${long} then (select string_agg(coalesce(cardinality(word.positions), 0)::text, ' ' order by asked.n)
    from unnest(${lexemes}::text[]) with ordinality as asked (lexeme, n)
    left join unnest(${row}.content_tsv) as word on word.lexeme = asked.lexeme) end as counts,
  left(${row}.content, ${CONTENT_CHARACTERS}) as content, length(${row}.content) <= ${CONTENT_CHARACTERS} as whole`;
}

function loaded(row: Row, lexemes: readonly string[]): Loaded {
  const facts: RowFacts = {
    kind: row.kind,
    id: row.id,
    conversationId: row.conversation_id,
    position: row.seq,
    agent: row.agent,
    channel: row.channel,
    role: row.role,
    speaker: row.speaker ?? speakerIn(row.content),
    createdAt: row.created_at,
    happenedAt: row.happened_at,
    depth: row.depth,
    summaryKind: row.summary_kind,
    length: row.length,
    content: row.content,
    whole: row.whole,
  };
  const words = row.words === null ? countsOf(lexemes, row.counts) : lexemeCounts(row.words);
  // The content of a tool call may come later.
  return { row: new CachedRow(facts, words), cacheable: row.words !== null && row.content !== "" };
}

/** `7 0 12` */
function countsOf(lexemes: readonly string[], counts: string | null): ReadonlyMap<string, number> {
  const numbers = (counts ?? "").split(" ").map(Number);
  return new Map(lexemes.map((lexeme, n) => [lexeme, numbers[n] ?? 0]));
}

/** `Ada: I was there.` */
const SPEAKER = /^(\p{Lu}[\p{L}'’.-]{0,30}(?: \p{Lu}[\p{L}'’.-]{0,30}){0,2}): /u;

/** The name that a content begins with. */
function speakerIn(content: string): string | null {
  return SPEAKER.exec(content)?.[1] ?? null;
}
