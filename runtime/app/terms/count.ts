import type { Database, Queryable } from "../../contracts/database.ts";
import { type Span, spansBetween, withoutSeqs } from "../../domain/sequence-gaps.ts";

/**
 * Counts in how many messages each word stands, in batches in the order of insertion, one counter at a time in the whole
 * fleet. What is counted and how far it has come are committed together, so that a crash counts nothing twice. A number
 * that has no row yet is a gap, which is looked at again until no transaction is left that could fill it.
 */

export type CountedKind = "message" | "summary";

export interface CountReport {
  /** Rows that were counted. */
  readonly rows: number;
  /** Whether there may be more to count at once. */
  readonly more: boolean;
}

const LOCK = "select pg_try_advisory_xact_lock(hashtextextended('cairn.search_terms', 0)) as locked";
const TABLES: Readonly<Record<CountedKind, string>> = { message: "messages", summary: "summaries" };
/** Hashes and encoded data, not words: each stands in one row, which is what a word is taken for that was never counted. */
const LONGEST_LEXEME = 64;
/** Between taking its number and having a transaction id a writer does next to nothing; this is ample for it. */
const GAP_AGE_S = 600;

/** Null when another node is counting. */
export async function countBatch(database: Database, kind: CountedKind, limit: number): Promise<CountReport | null> {
  return database.transaction(async (tx) => {
    // In a statement of its own: the next one sees what the last holder has committed.
    const { rows } = await tx.query<{ readonly locked: boolean }>(LOCK);
    if (rows[0]?.locked !== true) return null;
    const seen = await readUncounted(tx, kind, limit);
    const counting = [...seen.fresh, ...seen.late];
    if (seen.to > 0) await tx.query("insert into search_totals (kind) values ($1) on conflict do nothing", [kind]);
    if (counting.length > 0) await add(tx, kind, counting);
    await keepGaps(tx, kind, seen);
    if (seen.to > seen.from)
      await tx.query("update search_totals set counted_to = $2 where kind = $1", [kind, seen.to]);
    return { rows: counting.length, more: seen.full };
  });
}

interface Seen {
  /** New rows with content, by their numbers. */
  readonly fresh: readonly number[];
  /** Rows with content that have come to stand in gaps. */
  readonly late: readonly number[];
  readonly gaps: readonly Span[];
  /** New gaps between new rows. */
  readonly opened: readonly Span[];
  readonly from: number;
  readonly to: number;
  readonly full: boolean;
}

/** Everything is decided from this one look: what is committed meanwhile is for the next. */
async function readUncounted(tx: Queryable, kind: CountedKind, limit: number): Promise<Seen> {
  const table = TABLES[kind];
  const { rows } = await tx.query<{
    readonly from: number;
    readonly passed: readonly number[];
    readonly empty: readonly number[];
    readonly gaps: readonly Span[];
    readonly late: readonly number[];
  }>(
    `with passed as materialized (
       select o.seq + 0 as seq, o.content = '' as empty from ${table} o
       where o.seq + 0 > coalesce((select counted_to from search_totals where kind = $1), 0) order by o.seq + 0 limit $2
     ), gap as materialized (
       select first, last from search_gaps where kind = $1
     )
     select coalesce((select counted_to from search_totals where kind = $1), 0) as "from",
       coalesce((select jsonb_agg(seq order by seq) from passed), '[]') as passed,
       coalesce((select jsonb_agg(seq) from passed where empty), '[]') as empty,
       coalesce((select jsonb_agg(jsonb_build_object('first', first, 'last', last)) from gap), '[]') as gaps,
       coalesce((select jsonb_agg(distinct found.seq) from gap cross join lateral (
         select o.seq + 0 as seq from ${table} o where o.seq + 0 between gap.first and gap.last and o.content <> '' offset 0
       ) as found), '[]') as late`,
    [kind, limit],
  );
  const { from = 0, passed = [], empty = [], gaps = [], late = [] } = rows[0] ?? {};
  const without = new Set(empty);
  const passedSeqs = new Set(passed);
  const to = passed.at(-1) ?? from;
  return {
    fresh: passed.filter((seq) => !without.has(seq)),
    // What is not passed yet is not late: it is fresh when it is passed.
    late: late.filter((seq) => seq <= from && !passedSeqs.has(seq)),
    gaps,
    opened: spansBetween(from, passed),
    from,
    to,
    full: passed.length >= limit,
  };
}

async function add(tx: Queryable, kind: CountedKind, seqs: readonly number[]): Promise<void> {
  const counted = `from unnest($1::bigint[]) as wanted (seq)
    cross join lateral (select o.* from ${TABLES[kind]} o where o.seq + 0 = wanted.seq offset 0) as o`;
  await tx.query(
    `update search_totals as total set documents = total.documents + added.documents, lexemes = total.lexemes + added.lexemes
     from (select count(*) as documents, coalesce(sum(length(o.content_tsv)), 0) as lexemes ${counted}) as added
     where kind = '${kind}'`,
    [seqs],
  );
  // Summaries say again what messages said: words are as common as they are in messages.
  if (kind === "summary") return;
  await tx.query(
    `insert into search_agents as agents (agent, documents)
     select o.agent, count(*) ${counted} group by o.agent
     on conflict (agent) do update set documents = agents.documents + excluded.documents`,
    [seqs],
  );
  await tx.query(
    `insert into search_terms as terms (lexeme, documents)
     select lexeme, count(*) ${counted} cross join lateral unnest(tsvector_to_array(o.content_tsv)) as lexeme
     where length(lexeme) <= ${LONGEST_LEXEME} group by lexeme
     on conflict (lexeme) do update set documents = terms.documents + excluded.documents`,
    [seqs],
  );
}

async function keepGaps(tx: Queryable, kind: CountedKind, { gaps, opened, fresh, late }: Seen): Promise<void> {
  const counted = [...fresh, ...late];
  const filled = gaps.filter(({ first, last }) => counted.some((seq) => seq >= first && seq <= last));
  const rest = [...filled.flatMap((gap) => withoutSeqs(gap, counted)), ...opened];
  if (filled.length > 0) {
    const firsts = filled.map(({ first }) => first);
    await tx.query("delete from search_gaps where kind = $1 and first = any($2::bigint[])", [kind, firsts]);
  }
  if (rest.length > 0) {
    await tx.query(
      `insert into search_gaps as gaps (kind, first, last)
       select $1, first, last from unnest($2::bigint[], $3::bigint[]) as given (first, last)
       on conflict (kind, first) do update set last = greatest(gaps.last, excluded.last)`,
      [kind, rest.map(({ first }) => first), rest.map(({ last }) => last)],
    );
  }
  await tx.query(
    `delete from search_gaps where kind = $1 and noted_at < now() - make_interval(secs => ${GAP_AGE_S})
       and noted_xid < pg_snapshot_xmin(pg_current_snapshot())
       and last <= (select counted_to from search_totals where kind = $1)`,
    [kind],
  );
}
