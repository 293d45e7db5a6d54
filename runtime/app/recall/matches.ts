import type { Queryable } from "../../contracts/database.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import { chooseTerms, type Term, type TermChoice, type TermExpression } from "../../domain/term-choice.ts";
import { type Filters, isFiltered, messageConditions, summaryConditions } from "./filters.ts";
import { type Finding, type FindingRow, findingOf, NOTHING, type RowRef, readFinding } from "./found.ts";
import type { AnalyzedQuery, QueryTerm } from "./query-analysis.ts";
import { containing, plannedForItsValues, quoteLexeme, Values } from "./sql.ts";

/** The best rows by the words of a query alone, and rows that look like its identifiers: a bounded number, at any size. */

export interface MatchRequest {
  readonly scope: SearchScope;
  readonly filters: Filters;
  /** Looked up by trigrams beside the stems. */
  readonly identifiers: readonly string[];
  /** Best rows of each kind that are returned. */
  readonly top: number;
  /** So many of the best messages bring their neighbours. */
  readonly withNeighbours: number;
  readonly nextNumber: () => number;
}

/** Rows that are fetched and scored: aimed at, too few, and at most. */
const LIMITS = { wanted: 250, enough: 50, most: 4_000 };
/** Where rows are less independent than expected, more match; the rest of them is left out. */
const FETCHED = 8_000;
/** Summaries are long, and each costs some ten pages; words in them are still less independent. */
const LIMITS_OF_SUMMARIES = { wanted: 80, enough: 30, most: 400 };
const FETCHED_SUMMARIES = 400;
/** Of matches that are too many. */
const NEWEST = 200;
const SIMILAR = 50;

export async function findMatches(database: Queryable, query: AnalyzedQuery, request: MatchRequest): Promise<Finding> {
  const choice = chooseTerms(query.terms, query.visible, LIMITS);
  const found = await fetchMatches(database, query, request, choice);
  if (choice === null || choice.complete || found.rows.length >= LIMITS.enough) return found;
  // Fewer than expected: the words avoid each other, or the filters do.
  const wider = chooseTerms(
    query.terms,
    query.visible * Math.min(0.1, (found.rows.length + 1) / LIMITS.wanted),
    LIMITS,
  );
  return wider === null || sameFetch(choice, wider) ? found : fetchMatches(database, query, request, wider);
}

function sameFetch(one: TermChoice, other: TermChoice): boolean {
  return one.expected === other.expected || JSON.stringify(one) === JSON.stringify(other);
}

async function fetchMatches(
  database: Queryable,
  query: AnalyzedQuery,
  request: MatchRequest,
  choice: TermChoice | null,
): Promise<Finding> {
  const values = new Values();
  const branches = [
    ...(choice === null ? [] : wordBranches(query, request, choice, values)),
    ...(request.identifiers.length === 0 ? [] : identifierBranches(request, values)),
  ];
  if (branches.length === 0) return NOTHING;
  const sql = findingOf(eachOnce(branches, request), request, values);
  // Without filters the index of words is right whatever they are: then it is planned once, which takes half of the time.
  const plain = request.identifiers.length === 0 && !isFiltered(request.filters) && (choice?.newest ?? null) === null;
  const text = plain ? sql : plannedForItsValues(sql, request.nextNumber());
  return readFinding((await database.query<FindingRow>(text, values.list)).rows);
}

/** SQL for rows of one kind. */
interface Branch {
  readonly kind: RowRef["kind"];
  readonly sql: string;
}

/** A row may be found in several ways: by rare words and among the newest with a common one, or by identifiers in it. */
function eachOnce(branches: readonly Branch[], { identifiers }: MatchRequest): string {
  const every = branches.map(({ sql }) => sql).join("\nunion all\n");
  const differ = new Set(branches.map(({ kind }) => kind)).size === branches.length && identifiers.length === 0;
  return differ
    ? every
    : `select distinct on (kind, id) * from (\n${every}\n) as any_way order by kind, id, value desc`;
}

function wordBranches(
  query: AnalyzedQuery,
  { scope, filters, top }: MatchRequest,
  choice: TermChoice,
  values: Values,
): Branch[] {
  const score = scoreColumns(query.terms, values);
  const branches: Branch[] = [];
  const best = (kind: RowRef["kind"], rows: string): Branch => ({
    kind,
    sql: `(select '${kind}' as kind, row.id, (${score.sum(values.add(query.averageLength[kind]))})::float8 as value,
    row.conversation_id, row.seq
  from (
    select id, conversation_id, seq, length(words)::float8 as size, ${score.ranks("words")} from (${rows}) as fetched offset 0
  ) as row order by value desc, seq desc limit ${top})`,
  });
  // A long text's words are stored apart: by the concatenation they are fetched once, and not for each term.
  const columns = (alias: string) =>
    `${alias}.id, ${alias}.conversation_id, ${alias}.seq, ${alias}.content_tsv || ''::tsvector as words`;
  // Limits are written out: a plan for any value would take them for small ones.
  if (scope !== "summaries") {
    const conditions = messageConditions(filters, values);
    if (choice.fetch !== null) {
      branches.push(
        best(
          "message",
          `select ${columns("m")} from messages m
    where m.content_tsv @@ ${values.add(tsqueryOf(choice.fetch))}::tsquery${conditions} limit ${FETCHED}`,
        ),
      );
    }
    if (choice.newest !== null) {
      branches.push(
        best(
          "message",
          `select ${columns("m")} from messages m
    where m.content_tsv @@ ${values.add(tsqueryOf(choice.newest))}::tsquery${conditions}
    order by m.created_at desc, m.seq desc limit ${NEWEST}`,
        ),
      );
    }
  }
  if (scope !== "messages" && query.summaries > 0) {
    const conditions = summaryConditions(filters, values);
    const chosen = chooseTerms(termsOfSummaries(query), query.summaries, LIMITS_OF_SUMMARIES);
    const limits: readonly (readonly [TermExpression | null, string])[] = [
      [chosen?.fetch ?? null, `limit ${FETCHED_SUMMARIES}`],
      [chosen?.newest ?? null, `order by s.seq + 0 desc limit ${NEWEST}`],
    ];
    for (const [wanted, limit] of limits) {
      if (wanted === null) continue;
      branches.push(
        best(
          "summary",
          `select ${columns("s")} from summaries s
    where s.content_tsv @@ ${values.add(tsqueryOf(wanted))}::tsquery${conditions} ${limit}`,
        ),
      );
    }
  }
  return branches;
}

/** As common as words are in rows that are so much longer. */
function termsOfSummaries({ terms, averageLength }: AnalyzedQuery): Term[] {
  const longer = Math.max(1, averageLength.summary / averageLength.message);
  return terms.map(({ lexeme, share }) => ({ lexeme, share: 1 - (1 - share) ** longer }));
}

/**
 * BM25 (k1 1.2, b 0.75). How often a term stands in a row is in its ts_rank: the sum of 1/n² over its occurrences, over
 * π²/6, which is as good here.
 */
function scoreColumns(terms: readonly QueryTerm[], values: Values) {
  const queries = terms.map(({ lexeme }) => `${values.add(quoteLexeme(lexeme))}::tsquery`);
  const idfs = terms.map(({ idf }) => `${values.add(idf)}::float8`);
  return {
    ranks: (tsv: string) =>
      queries.map((query, index) => `ts_rank('{1,1,1,1}', ${tsv}, ${query})::float8 as r${index}`).join(", "),
    sum: (average: string) =>
      idfs
        .map((idf, index) => `r${index} * ${idf} / (r${index} + 0.73 * (0.25 + 0.75 * size / ${average}::float8))`)
        .join(" + "),
  };
}

/**
 * Rows that contain an identifier, as a whole or as a part of a longer one; the newest come, before rows that have words
 * only. Containment is quick with the index of trigrams at any size; similarity takes seconds at a million rows.
 */
function identifierBranches({ scope, filters, identifiers }: MatchRequest, values: Values): Branch[] {
  const wanted = `unnest(${values.add(identifiers)}::text[], ${values.add(identifiers.map(containing))}::text[]) as wanted (word, pattern)`;
  const branch = (kind: RowRef["kind"], table: string, alias: "m" | "s", conditions: string): Branch => ({
    kind,
    sql: `(select '${kind}' as kind, row.id, (100 + word_similarity(wanted.word, row.content))::float8 as value,
    row.conversation_id, row.seq from ${wanted} cross join lateral (
    select * from (
      select ${alias}.id, ${alias}.conversation_id, ${alias}.seq, ${alias}.content from ${table} ${alias}
      where ${alias}.content ilike wanted.pattern${conditions} limit ${FETCHED}
    ) as row order by seq desc limit ${SIMILAR}) as row)`,
  });
  return [
    ...(scope === "summaries" ? [] : [branch("message", "messages", "m", messageConditions(filters, values))]),
    ...(scope === "messages" ? [] : [branch("summary", "summaries", "s", summaryConditions(filters, values))]),
  ];
}

/** In the text form of a tsquery. */
function tsqueryOf(expression: TermExpression): string {
  if ("term" in expression) return quoteLexeme(expression.term);
  if ("all" in expression) return `(${expression.all.map(tsqueryOf).join(" & ")})`;
  return `(${expression.any.map(tsqueryOf).join(" | ")})`;
}
