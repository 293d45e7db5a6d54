import type { Database } from "../../contracts/database.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import { embeddingTable, isQuantized, quantized, vectorType } from "./embedding-tables.ts";
import { type Filters, isFiltered, messageConditions, summaryConditions } from "./filters.ts";
import { type Finding, type FoundRow, following, nextOf, type RowRef } from "./found.ts";
import type { EmbeddingModel } from "./query-analysis.ts";
import { readState, STATE } from "./rows/state.ts";
import { readCosine } from "./rows/vector.ts";
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

/**
 * As a parameter that is compared with stored vectors of the backend's type, in the binary form that this type receives:
 * dimensions, an unused field, the numbers. Text of it would be eight times as long and is read number by number.
 */
export function vectorParameter(backend: Database["backend"], vector: readonly number[]): Buffer {
  const size = backend === "embedded" ? 4 : 2;
  const bytes = Buffer.alloc(VECTOR_HEADER + size * vector.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  view.setInt16(0, vector.length);
  let at = VECTOR_HEADER;
  for (const value of vector) {
    if (size === 4) view.setFloat32(at, value);
    else view.setFloat16(at, value);
    at += size;
  }
  return bytes;
}

const VECTOR_HEADER = 4;

export interface NearestRequest {
  /** In the model's dimensions. */
  readonly vector: readonly number[];
  readonly scope: SearchScope;
  readonly filters: Filters;
  /** Messages that there are, and that the filters let through, about. */
  readonly messages: number;
  readonly visible: number;
  readonly limit: number;
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

interface Row {
  readonly kind: RowRef["kind"] | "state";
  readonly id: string;
  readonly distance: number;
  /** From 1 on. */
  readonly rank: number;
  /** Numbers of messages, or the state. */
  readonly text: string | null;
}

export async function nearest(database: Database, model: EmbeddingModel, request: NearestRequest): Promise<Finding> {
  const values = new Values();
  const found = isEachCheaper(request)
    ? amongFew(database.backend, model, request, values)
    : throughIndex(database.backend, model, request, values);
  const sql = `
select near.kind, near.id, near.distance, near.rank::float8 as rank, ${following("near.rank", "near")} as text from (
  select found.kind, found.id, found.distance, m.conversation_id, m.seq, row_number() over (order by found.distance) as rank
  from (${found}) as found left join messages m on found.kind = 'message' and m.id = found.id
) as near
union all
select 'state', null, null, null, ${STATE}`;
  const text = isFiltered(request.filters) ? plannedForItsValues(sql, request.nextNumber()) : sql;
  const { rows } = await database.query<Row>(text, values.list);
  const state = rows.find(({ kind }) => kind === "state")?.text;
  const near = rows.filter(({ kind }) => kind !== "state").sort((a, b) => a.rank - b.rank);
  return {
    rows: near.flatMap(({ kind, id, distance, text }): FoundRow[] =>
      kind === "state" ? [] : [{ kind, id, cosine: readCosine(1 - distance), next: nextOf(text) }],
    ),
    state: state === undefined || state === null ? undefined : readState(state),
  };
}

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
  const most = `limit ${values.add(limit)}`;
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
  return `select kind, id, distance from (${branches.join("\n  union all")}) as few order by distance limit ${values.add(limit)}`;
}
