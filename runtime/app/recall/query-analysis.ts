import type { Queryable } from "../../contracts/database.ts";
import { sanitize } from "../../domain/cap.ts";

/** A query taken apart by the database: its stems, how common each is, and which vectors there are to compare with. */

export interface QueryTerm {
  readonly lexeme: string;
  /** Share of the messages that contain it, as the planner's statistics know it; null when it is rare or unknown. */
  readonly frequency: number | null;
}

export interface EmbeddingModel {
  readonly id: number;
  readonly name: string;
  readonly dimensions: number;
}

export interface AnalyzedQuery {
  /** Rarest first. */
  readonly terms: readonly QueryTerm[];
  /** The terms whose matches are all candidates. */
  readonly selective: readonly string[];
  /** The rarest of the other terms, which are common: its newest matches are candidates too. The rest only score. */
  readonly common: string | null;
  /** Whether the selective terms are known to match few rows, so that reading all of their matches is cheapest. */
  readonly few: boolean;
  /** How many messages there are, about. */
  readonly messages: number;
  /** Whether the planner has statistics about the messages. */
  readonly statistics: boolean;
  readonly model: EmbeddingModel | null;
}

/** Only the head of a query is analyzed: a whole document as a query would match everything. */
const MAX_QUERY_UNITS = 4_000;
const MAX_TERMS = 48;
/** Matches that one search is willing to fetch through the index. */
const MATCHES_WANTED = 3_000;
/** So many rows are read and ranked in little time. */
const FEW = 2 * MATCHES_WANTED;

interface Row {
  readonly lexeme: string | null;
  readonly frequency: number | null;
  readonly messages: number | null;
  readonly statistics: boolean;
  readonly model_id: number | null;
  readonly model_name: string | null;
  readonly dimensions: number | null;
}

/** Nothing is ever deleted, so that the sequence counts the messages. */
const ANALYZE = `
with common as materialized (
  select element.lexeme, element.frequency
  from pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs) as element (lexeme, frequency)
  where schemaname = current_schema() and tablename = 'messages' and attname = 'content_tsv'
)
select term.lexeme, common.frequency, (select last_value from messages_seq_seq)::float8 as messages,
  exists (select 1 from common) as statistics, model.id as model_id, model.name as model_name, model.dimensions
from (select 1) as one
left join embedding_models as model on model.current
left join unnest(to_tsvector('english', $1)) as term on true
left join common on common.lexeme = term.lexeme`;

export async function analyzeQuery(database: Queryable, query: string): Promise<AnalyzedQuery> {
  const { rows } = await database.query<Row>(ANALYZE, [sanitize(query.slice(0, MAX_QUERY_UNITS))]);
  const first = rows[0];
  const terms = rows
    .flatMap(({ lexeme, frequency }) => (lexeme === null ? [] : [{ lexeme, frequency }]))
    .sort((a, b) => (a.frequency ?? 0) - (b.frequency ?? 0))
    .slice(0, MAX_TERMS);
  const messages = first?.messages ?? 0;
  const statistics = first?.statistics ?? false;
  const { selective, common, expected } = selectiveTerms(terms, messages);
  return {
    terms,
    selective,
    common,
    few: messages <= FEW || (statistics && expected <= FEW),
    messages,
    statistics,
    model:
      first === undefined || first.model_id === null || first.model_name === null || first.dimensions === null
        ? null
        : { id: first.model_id, name: first.model_name, dimensions: first.dimensions },
  };
}

/**
 * The rarest terms, until they are expected to match enough, never none of them; and the one that would be too much. A
 * term that the statistics do not know may well match nothing.
 */
export function selectiveTerms(
  terms: readonly QueryTerm[],
  messages: number,
): { readonly selective: string[]; readonly common: string | null; readonly expected: number } {
  const selective: string[] = [];
  let expected = 0;
  for (const { lexeme, frequency } of terms) {
    const more = (frequency ?? 0) * messages;
    if (selective.length > 0 && expected + more > MATCHES_WANTED) return { selective, common: lexeme, expected };
    selective.push(lexeme);
    expected += more;
  }
  return { selective, common: null, expected };
}
