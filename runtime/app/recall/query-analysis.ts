import type { Queryable } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import { sanitize } from "../../domain/cap.ts";
import type { Filters } from "./filters.ts";
import { quoteLexeme, Values } from "./sql.ts";

/** A query taken apart by the database: its stems, how common each is, and which vectors there are to compare with. */

export interface QueryTerm {
  readonly lexeme: string;
  /** Messages that contain it, of all, about: exact but for those that were not counted yet. */
  readonly documents: number;
  /** Share of the messages, 0 to 1; 0 when no counted message has it. */
  readonly share: number;
  /** Inverse document frequency, `ln(1 + (n - df + 0.5) / (df + 0.5))`. */
  readonly idf: number;
}

export interface EmbeddingModel {
  readonly id: number;
  readonly name: string;
  readonly dimensions: number;
}

export interface AnalyzedQuery {
  /** Rarest first. */
  readonly terms: readonly QueryTerm[];
  /** How many messages with content there are. */
  readonly messages: number;
  /** How many of them are not counted yet. */
  readonly uncounted: number;
  /** How many of them the filters let through, about. */
  readonly visible: number;
  /** Lexemes of a row, on the average; at least 1, though rows of emoji alone have none. */
  readonly averageLength: { readonly message: number; readonly summary: number };
  /** Summaries, about. */
  readonly summaries: number;
  readonly model: EmbeddingModel | null;
  /** Identity of the store: what was read by an id holds for as long as it is the same. */
  readonly store: string;
}

/**
 * Differs after a restart of the server, on another server, in a database that was made anew, with another model and when its
 * vectors were: a server that went back to an earlier state, by a failover or a restore, was started since. A database that
 * was copied from another one has the same tables under the same numbers, but a number of its own. Whatever changes stored
 * rows one day has to change it, too.
 */
const STORE = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()),
    (select oid from pg_database where datname = current_database()), to_regclass('messages')::oid,
    to_regclass('embeddings_' || model.id)::oid, model.id, model.dimensions, model.name)`;

/** Only the head of a query is analyzed: a whole document as a query would match everything. */
const MAX_QUERY_UNITS = 4_000;
/** Copied along with text that is written from right to left; the database may take one for a letter of the word beside it. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const MAX_TERMS = 32;
/** Counted in the index where most rows are not counted yet. */
const MAX_COUNTED_NOW = 64;
/** Taken until rows are counted. */
const USUAL_LENGTH = { message: 14, summary: 120 };
/** A word in so many rows is common. */
const COMMON = 2_000;
/** Messages of one user that are counted one by one. */
const COUNTED_VISIBLE = 5_000;

interface Row {
  readonly lexeme: string | null;
  readonly documents: number | null;
  readonly inserted: number;
  readonly counted: number;
  readonly counted_to: number;
  readonly length: number | null;
  readonly summaries: number;
  readonly summary_length: number | null;
  readonly of_agent: number | null;
  readonly of_user: number | null;
  readonly first_seq: number | null;
  readonly last_seq: number | null;
  readonly model_id: number | null;
  readonly model_name: string | null;
  readonly dimensions: number | null;
  readonly store: string;
}

/** Nothing is ever deleted, so that the sequences count the rows. Dates are taken to ascend with the insertion. */
function statement(filters: Filters, values: Values, query: string): string {
  const { agent, since, before, visibility } = filters;
  const ofAgent =
    agent === undefined
      ? "null::float8"
      : `coalesce((select documents from search_agents where agent = ${values.add(agent)}), 0)::float8`;
  const firstSeq =
    since === undefined
      ? "null::float8"
      : `coalesce((select m.seq from messages m where m.created_at >= ${values.add(since.toISOString())}
          order by m.created_at, m.seq limit 1), 1e15)::float8`;
  const lastSeq =
    before === undefined
      ? "null::float8"
      : `coalesce((select m.seq from messages m where m.created_at < ${values.add(before.toISOString())}
          order by m.created_at desc, m.seq desc limit 1), 0)::float8`;
  const ofUser =
    visibility === undefined || "all" in visibility
      ? "null::float8"
      : `(select count(*) from (select 1 from conversations c cross join lateral (
            select 1 from messages m where m.conversation_id = c.id limit ${COUNTED_VISIBLE}) as m
          where c.channel = ${values.add(visibility.channel)} and c.user_id = ${values.add(visibility.user)}
          limit ${COUNTED_VISIBLE}) as found)::float8`;
  return `
select term.lexeme, counted.documents::float8 as documents,
  (select last_value from messages_seq_seq)::float8 as inserted, coalesce(total.documents, 0)::float8 as counted,
  coalesce(total.counted_to, 0)::float8 as counted_to,
  total.lexemes::float8 / nullif(total.documents, 0) as length,
  (select last_value from summaries_seq_seq)::float8 as summaries,
  tree.lexemes::float8 / nullif(tree.documents, 0) as summary_length,
  ${ofAgent} as of_agent, ${ofUser} as of_user, ${firstSeq} as first_seq, ${lastSeq} as last_seq,
  model.id as model_id, model.name as model_name, model.dimensions, ${STORE} as store
from (select 1) as one
left join search_totals as total on total.kind = 'message'
left join search_totals as tree on tree.kind = 'summary'
left join embedding_models as model on model.current
left join unnest(to_tsvector('english', ${values.add(query)})) as term on true
left join search_terms as counted on counted.lexeme = term.lexeme`;
}

export async function analyzeQuery(database: Queryable, query: string, filters: Filters = {}): Promise<AnalyzedQuery> {
  const values = new Values();
  const words = query.slice(0, MAX_QUERY_UNITS).replace(DIRECTION_MARKS, "");
  const sql = statement(filters, values, sanitize(words));
  const { rows } = await database.query<Row>(sql, values.list);
  const first = rows[0];
  if (first === undefined) throw new MemoryError("MEMORY_QUERY_FAILED", "The totals of the search are missing.");
  const uncounted = Math.max(0, first.inserted - first.counted_to);
  const messages = first.counted + uncounted;
  const lexemes = rows.flatMap(({ lexeme, documents }) =>
    lexeme === null ? [] : [{ lexeme, documents: documents ?? 0 }],
  );
  const weighed =
    uncounted > messages / 2 ? await countNow(database, lexemes, messages) : scaled(lexemes, first.counted, messages);
  return {
    terms: weighed.sort((a, b) => a.documents - b.documents).slice(0, MAX_TERMS),
    messages,
    uncounted,
    visible: visibleRows(first, messages),
    averageLength: {
      message: Math.max(1, first.length ?? USUAL_LENGTH.message),
      summary: Math.max(1, first.summary_length ?? USUAL_LENGTH.summary),
    },
    summaries: first.summaries,
    model:
      first.model_id === null || first.model_name === null || first.dimensions === null
        ? null
        : { id: first.model_id, name: first.model_name, dimensions: first.dimensions },
    store: first.store,
  };
}

interface Counted {
  readonly lexeme: string;
  readonly documents: number;
}

/** What holds for the counted rows holds for all of them. */
function scaled(terms: readonly Counted[], counted: number, messages: number): QueryTerm[] {
  return terms.map(({ lexeme, documents }) => {
    const share = counted === 0 ? 0 : Math.min(1, documents / counted);
    return { lexeme, documents: share * messages, share, idf: idf(share * messages, messages) };
  });
}

/**
 * Most rows are not counted yet, as after a restore: the index tells, up to where a word is common anyway. Of many words
 * it is asked for the longest, which are the rarer ones more often than not; the others are taken for common.
 */
async function countNow(database: Queryable, terms: readonly Counted[], messages: number): Promise<QueryTerm[]> {
  if (terms.length === 0) return [];
  const longestFirst = [...terms].sort((a, b) => b.lexeme.length - a.lexeme.length);
  const asked = longestFirst.slice(0, MAX_COUNTED_NOW).map(({ lexeme }) => lexeme);
  const { rows } = await database.query<Counted>(
    // The fence keeps the planner from reading the table because of the limit.
    `select term.lexeme, (select count(*) from (select 1 from (
       select 1 from messages m where m.content_tsv @@ term.query::tsquery offset 0) as all_of_them
       limit ${COMMON}) as some_of_them)::float8 as documents
     from unnest($1::text[], $2::text[]) as term (lexeme, query)`,
    [asked, asked.map(quoteLexeme)],
  );
  const others = longestFirst.slice(MAX_COUNTED_NOW).map(({ lexeme }) => ({ lexeme, documents: COMMON }));
  return scaled([...rows, ...others], messages, messages);
}

function idf(documents: number, messages: number): number {
  return Math.log(1 + (Math.max(messages, documents) - documents + 0.5) / (documents + 0.5));
}

/** Filters are taken to be independent of each other. */
function visibleRows({ inserted, counted_to, of_agent, of_user, first_seq, last_seq }: Row, messages: number): number {
  if (inserted === 0) return 0;
  const uncounted = Math.max(0, inserted - counted_to);
  const ofAgent = of_agent === null ? messages : Math.min(messages, of_agent + uncounted);
  const inTime = Math.max(0, Math.min(inserted, last_seq ?? inserted) - (first_seq ?? 1) + 1);
  const ofUser = of_user === null || of_user >= COUNTED_VISIBLE ? messages : of_user;
  return Math.min((ofAgent * inTime) / inserted, ofUser);
}
