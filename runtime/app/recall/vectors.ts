import type { Database } from "../../contracts/database.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import { embeddingTable, isQuantized, quantized, vectorType } from "./embedding-tables.ts";
import { type Filters, isFiltered, messageConditions, summaryConditions } from "./filters.ts";
import { type Finding, type FindingRow, findingOf, type RowRef, readFinding, type ValuedRow } from "./found.ts";
import type { EmbeddingModel } from "./query-analysis.ts";
import { readCosine, vectorParameter } from "./rows/vector.ts";
import { plannedForItsValues, Values } from "./sql.ts";

/** The nearest rows to a vector, through the index of the current model's table, filters inside the scan. */

/** What makes a vector of a query by the model that searches compare with; null when it cannot be reached now. */
export type Embed = (text: string, signal?: AbortSignal, model?: EmbeddingModel) => Promise<readonly number[] | null>;

/**
 * The vector in so many dimensions: cut or padded with zeros, which what is no number in it becomes, too. Rounded to half
 * precision, as stored ones are.
 */
export function fitted(vector: readonly number[], dimensions: number): number[] {
  return Array.from({ length: dimensions }, (_, index) => {
    const value = Math.f16round(vector[index] ?? 0);
    return Number.isFinite(value) ? value : 0;
  });
}

/** In the form that pgvector reads. */
export function vectorText(vector: readonly number[]): string {
  return `[${vector.join(",")}]`;
}

export interface NearestRequest {
  /** In the model's dimensions. */
  readonly vector: readonly number[];
  readonly scope: SearchScope;
  readonly filters: Filters;
  /** Messages that there are, and that the filters let through, about. */
  readonly messages: number;
  readonly visible: number;
  readonly limit: number;
  /** So many of the nearest messages bring their neighbours. */
  readonly withNeighbours: number;
  readonly nextNumber: () => number;
}

/**
 * What the index brings costs so much more than a row whose vector is simply compared, measured at a million rows: the
 * fewer rows pass the filters, the more of the others it brings first.
 */
const INDEX_COST = 7;

function isEachCheaper({ filters, messages, visible, limit }: NearestRequest): boolean {
  return isFiltered(filters) && visible * visible <= INDEX_COST * limit * messages;
}

/** Rows that the index looks at for one that it brings: without some to spare it misses near ones. */
const SCANNED = 1.6;
/** Rows that an index of bits brings for one that is wanted. */
const COMPARED = 4;

export async function nearest(database: Database, model: EmbeddingModel, request: NearestRequest): Promise<Finding> {
  const values = new Values();
  const found = isEachCheaper(request)
    ? amongFew(database.backend, model, request, values)
    : throughIndex(database.backend, model, request, values);
  const sql = findingOf(
    `select found.kind, found.id, coalesce(nullif(1 - found.distance, 'NaN'), ${NO_DIRECTION}) as value, m.conversation_id, m.seq
  from (${found}) as found left join messages m on found.kind = 'message' and m.id = found.id`,
    request,
    values,
  );
  const text = isFiltered(request.filters) ? plannedForItsValues(sql, request.nextNumber()) : sql;
  const { rows, accesses } = readFinding((await database.query<FindingRow>(text, values.list)).rows);
  const cosine = ({ value }: ValuedRow) => (value === NO_DIRECTION ? null : readCosine(value));
  return { rows: rows.map((row) => ({ ...row, cosine: cosine(row) })), accesses };
}

/** In place of the cosine of a vector without a direction: behind all others. */
const NO_DIRECTION = -2;

/**
 * How far the index is scanned, until the statement ends. It stands on the outer side of a join that its inner side, the
 * scan, depends on: so it is made before the scan begins, without a transaction around it.
 */
function scanning(rows: number, values: Values): string {
  const far = values.add(String(Math.min(1_000, Math.max(40, Math.ceil(rows * SCANNED)))));
  return `(select set_config('hnsw.ef_search', ${far}, true)
  || set_config('hnsw.iterative_scan', 'relaxed_order', true) as made offset 0) as setting`;
}

function throughIndex(
  backend: Database["backend"],
  model: EmbeddingModel,
  { scope, filters, vector, limit }: NearestRequest,
  values: Values,
): string {
  // A scalar for each row that the index brings: of `exists` the planner would first make a list of all rows that pass.
  const passing = (kind: RowRef["kind"], table: string, alias: "m" | "s", conditions: string) =>
    conditions === ""
      ? `v.kind = '${kind}'`
      : `v.kind = '${kind}' and (select true from ${table} ${alias} where ${alias}.id = v.id${conditions})`;
  const conditions = [
    ...(scope === "summaries" ? [] : [passing("message", "messages", "m", messageConditions(filters, values))]),
    ...(scope === "messages" ? [] : [passing("summary", "summaries", "s", summaryConditions(filters, values))]),
  ];
  const { dimensions } = model;
  // Whatever is compared with a vector is taken for one of its type; what else is done with it needs to be told.
  const near = values.add(vectorParameter(backend, vector));
  const rows = `${embeddingTable(model.id)} as v where setting.made is not null and (${conditions.map((condition) => `(${condition})`).join(" or ")})`;
  // Written out: a plan for any limit would take it for hundreds of rows, and so be made anew for each query.
  const most = `limit ${limit}`;
  const found = isQuantized(dimensions)
    ? `
select kind, id, embedding <=> ${near} as distance from (
  select v.kind, v.id, v.embedding from ${rows}
  order by ${quantized("v.embedding", dimensions)} <~> ${quantized(`${near}::${vectorType(backend, dimensions)}`, dimensions)} limit ${limit * COMPARED}
) as rough order by distance ${most}`
    : `select v.kind, v.id, v.embedding <=> ${near} as distance from ${rows} order by v.embedding <=> ${near} ${most}`;
  const brought = limit * (isQuantized(dimensions) ? COMPARED : 1);
  return `select found.kind, found.id, found.distance from ${scanning(brought, values)} cross join lateral (${found}) as found`;
}

/** The fence lets no index over vectors walk past everything that the filters keep out. */
function amongFew(
  backend: Database["backend"],
  model: EmbeddingModel,
  { scope, filters, vector, limit }: NearestRequest,
  values: Values,
): string {
  const table = embeddingTable(model.id);
  const near = values.add(vectorParameter(backend, vector));
  const branches: string[] = [];
  const branch = (kind: RowRef["kind"], rows: string) =>
    branches.push(`
  select '${kind}' as kind, v.id, v.embedding <=> ${near} as distance from (${rows} offset 0) as row
  join ${table} v on v.kind = '${kind}' and v.id = row.id`);
  if (scope !== "summaries")
    branch("message", `select m.id from messages m where true${messageConditions(filters, values)}`);
  if (scope !== "messages")
    branch("summary", `select s.id from summaries s where true${summaryConditions(filters, values)}`);
  return `select kind, id, distance from (${branches.join("\n  union all")}) as few order by distance limit ${limit}`;
}
