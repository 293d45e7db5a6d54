import type { Database, Queryable } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { costlyRegex } from "../../domain/regex-cost.ts";
import type { Candidate } from "./candidates.ts";
import { type Filters, messageConditions, summaryConditions } from "./filters.ts";
import { anyOf, containing, plannedForItsValues, Values } from "./sql.ts";

/** Finding by letters: what looks like the query (trigrams), and what matches it as a regular expression. */

export interface PatternRequest {
  readonly scope: SearchScope;
  readonly filters: Filters;
  /** Newest matches that are scored. */
  readonly pool: number;
  readonly top: number;
  readonly head: number;
  readonly number: number;
}

/** How trigram search goes about it. */
export interface SimilarityOptions {
  /** Share of a word's groups of three letters that a row has to have, 0 to 1. */
  readonly similarity: number;
  readonly deadlineMs: number;
}

/** The embedded store does nothing else meanwhile, and loses its thread at the deadline. */
const REGEX_DEADLINE_MS = 2_000;
const MAX_REGEX_UNITS = 1_000;
const INVALID_REGEX = "2201B";

/** Of so few messages each is compared with the words; of more, those are found that have words like them. */
const FEW_MESSAGES = 2_000;
/** Words of the store that are looked up for one of the query. */
const LIKE_ONE = 6;
const MIN_WORD_SIMILARITY = 0.3;
/** Rows that contain a word itself are fetched up to here, to take the newest of them. */
const FETCHED = 2_000;

/** Rows that contain something like the query, or like some of its words; `fts` is the similarity. */
export async function findSimilar(
  database: Database,
  query: string,
  words: readonly string[],
  request: PatternRequest & SimilarityOptions,
): Promise<Candidate[]> {
  return database.transaction(
    async (tx) => {
      const similarity = String(request.similarity);
      // How many rows are alike the planner can only guess, and it guesses so many that it would read the table for them.
      await tx.query(
        `select set_config('pg_trgm.word_similarity_threshold', $1, true), set_config('jit', 'off', true),
           set_config('pg_trgm.similarity_threshold', $2, true), set_config('enable_seqscan', 'off', true)`,
        [similarity, String(MIN_WORD_SIMILARITY)],
      );
      const near = await wordsLike(tx, words);
      const lexemes = near.messages > FEW_MESSAGES ? near.lexemes : null;
      const { sql, values } = similarStatement(query, words, lexemes, request);
      const { rows } = await tx.query<Candidate>(plannedForItsValues(sql, request.number), values.list);
      return rows;
    },
    { statementTimeoutMs: request.deadlineMs },
  );
}

/** The words of the store that are most like the given ones. */
async function wordsLike(tx: Queryable, words: readonly string[]) {
  const { rows } = await tx.query<{ readonly messages: number; readonly lexemes: readonly string[] }>(
    `select (select last_value from messages_seq_seq)::float8 as messages,
       array(select distinct near.lexeme from unnest($1::text[]) as wanted (word) cross join lateral (
         select term.lexeme from search_terms term where term.lexeme % lower(wanted.word)
         order by similarity(term.lexeme, lower(wanted.word)) desc, term.documents desc limit ${LIKE_ONE}
       ) as near) as lexemes`,
    [words],
  );
  return rows[0] ?? { messages: 0, lexemes: [] };
}

/** `lexemes` are the words that rows are found by; with null each row is compared with the query's own. */
function similarStatement(
  query: string,
  words: readonly string[],
  lexemes: readonly string[] | null,
  request: PatternRequest,
): { readonly sql: string; readonly values: Values } {
  const values = new Values();
  const all = [...new Set([query, ...words])];
  const wanted = values.add(all);
  const patterns = values.add(all.map(containing));
  const whole = values.add(query);
  const parts = values.add(words.length > 0 ? words : [query]);
  const tsquery = lexemes === null ? null : values.add(anyOf(lexemes) ?? "");
  const similarity = (content: string) => `greatest(word_similarity(${whole}, ${content}),
      (select avg(word_similarity(part, ${content})) from unnest(${parts}::text[]) as part))::float8`;
  const sql = statement(request, values, (table, alias, conditions) => {
    const pool = values.add(request.pool);
    const from = `select ${alias}.* from ${table} ${alias} where`;
    // Rows with the word itself are found quickly, all of them; similar words take long, so that the first ones have to do.
    const similar =
      tsquery === null
        ? `(${from} ${alias}.content %> wanted.word${conditions} limit ${pool})`
        : `(${from} ${alias}.content_tsv @@ ${tsquery}::tsquery${conditions} and wanted.word = ${whole} limit ${FETCHED})`;
    return `select distinct on (${alias}.id) ${alias}.*, ${similarity(`${alias}.content`)} as fts
    from unnest(${wanted}::text[], ${patterns}::text[]) as wanted (word, pattern) cross join lateral (
      (select * from (${from} ${alias}.content ilike wanted.pattern${conditions} limit ${FETCHED}) as ${alias}
        order by ${alias}.seq desc limit ${pool})
      union all (select * from ${similar} as ${alias} order by ${alias}.seq desc limit ${pool})) as ${alias}`;
  });
  return { sql, values };
}

/**
 * Rows whose content matches, newest first. Upper and lower case are the same unless the expression begins with `(?c)`.
 * MEMORY_INVALID_ARGUMENT for an expression that is none, or that the embedded store does not take; MEMORY_TIMEOUT for one
 * that takes too long.
 */
export async function findMatching(database: Database, regex: string, request: PatternRequest): Promise<Candidate[]> {
  if (regex.length > MAX_REGEX_UNITS) {
    const message = `A regular expression has at most ${MAX_REGEX_UNITS} characters.`;
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", message, { issues: [{ path: "query", message }] });
  }
  const costly = costlyRegex(regex, database.backend === "postgres");
  if (costly !== null) {
    const message = `This store takes no regular expression with ${costly}.`;
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", message, { issues: [{ path: "query", message }] });
  }
  const values = new Values();
  const pattern = values.add(regex);
  const sql = statement(
    request,
    values,
    (table, alias, conditions) => `select ${alias}.*, 1::float8 as fts from ${table} ${alias}
    where ${alias}.content ~* ${pattern}${conditions}
    order by ${alias}.created_at desc, ${alias}.seq desc limit ${values.add(request.pool)}`,
  );
  try {
    const { rows } = await database.transaction(
      (tx) => tx.query<Candidate>(plannedForItsValues(sql, request.number), values.list),
      { statementTimeoutMs: REGEX_DEADLINE_MS },
    );
    return rows;
  } catch (error) {
    throw invalidRegex(error) ?? error;
  }
}

function statement(
  request: PatternRequest,
  values: Values,
  found: (table: string, alias: "m" | "s", conditions: string) => string,
): string {
  const { scope, filters, top, head } = request;
  const parts: string[] = [];
  if (scope !== "summaries") {
    parts.push(`select 'message'::text as kind, m.id, m.conversation_id, m.agent, m.channel, m.role, m.created_at,
    m.created_at as happened_at, null::int as depth, null::text as summary_kind, m.content, m.fts
  from (${found("messages", "m", messageConditions(filters, values))}) as m`);
  }
  if (scope !== "messages") {
    parts.push(`select 'summary'::text as kind, s.id, s.conversation_id, c.agent, c.channel, null::text as role, s.created_at,
    coalesce(s.latest_at, s.created_at) as happened_at, s.depth, s.kind as summary_kind, s.content, s.fts
  from (${found("summaries", "s", summaryConditions(filters, values))}) as s
  left join conversations c on c.id = s.conversation_id`);
  }
  const units = values.add(head);
  return `
select found.kind, found.id, conversation_id, agent, channel, role, created_at, happened_at, depth, summary_kind,
  coalesce(access.access_count, 0) as access_count, access.last_accessed_at, fts, null::float8 as semantic,
  left(content, ${units}) as head, length(content) <= ${units} as whole
from (${parts.join("\n  union all\n  ")}) as found
left join access on access.kind = found.kind and access.id = found.id
order by fts desc, created_at desc, found.id desc
limit ${values.add(top)}`;
}

function invalidRegex(error: unknown): MemoryError | undefined {
  const cause = error instanceof MemoryError ? error.details.cause : undefined;
  if (!(cause instanceof Error) || codeOf(cause) !== INVALID_REGEX) return undefined;
  return new MemoryError("MEMORY_INVALID_ARGUMENT", `The regular expression is not valid: ${cause.message}.`, {
    cause: error,
    issues: [{ path: "query", message: cause.message }],
  });
}
