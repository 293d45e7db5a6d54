import type { Database, Queryable } from "../../contracts/database.ts";

/**
 * One table a model holds its vectors, with its index made while it is empty (an expression of a fixed dimension needs
 * one, and an index over many rows takes minutes to build); only a restore fills it first. `embedding_models` lists the tables.
 */

export function embeddingTable(modelId: number): string {
  if (!Number.isSafeInteger(modelId) || modelId < 1) throw new RangeError("The id of an embedding model is a number.");
  return `embeddings_${modelId}`;
}

type Backend = Database["backend"];

/**
 * The column's type: two bytes a number, but four in the embedded store. Its WebAssembly has no instruction that converts
 * half floats, so each comparison would do it number by number (5,000 rows of 384 dimensions: adding a row to the index took
 * 61 ms against 14, a search 61 against 7). The numbers are the same: they are rounded to halves before they are stored.
 */
export function vectorType(backend: Backend, dimensions: number): string {
  return `${backend === "embedded" ? "vector" : "halfvec"}(${dimensions})`;
}

/**
 * Whether the index holds one bit of each dimension and not the vectors: of long ones it is built in an eighth of the time
 * and takes a twentieth of the room (measured with 4,000 dimensions), and enough of its finds are then compared as they are.
 */
export function isQuantized(dimensions: number): boolean {
  return dimensions > LONGEST_AS_IT_IS;
}

/** Of a shorter one too little is left in its bits. */
const LONGEST_AS_IT_IS = 1_000;

/** The bits of a vector, as the index has them. */
export function quantized(vector: string, dimensions: number): string {
  return `binary_quantize(${vector})::bit(${dimensions})`;
}

interface Model {
  readonly id: number;
  readonly dimensions: number;
}

/** Makes the model's table with its indexes where they are missing. Call it under the lock that guards migrations. */
export async function createEmbeddingTable(database: Queryable, backend: Backend, model: Model): Promise<void> {
  await createUnindexedTable(database, backend, model);
  await indexEmbeddingTable(database, backend, model);
}

/** Makes the model's table alone, for a restore: it is filled first, and then indexed as a whole. */
export async function createUnindexedTable(
  database: Queryable,
  backend: Backend,
  { id, dimensions }: Model,
): Promise<void> {
  if (!Number.isSafeInteger(dimensions) || dimensions < 1 || dimensions > 4_000) {
    throw new RangeError("An embedding has between 1 and 4,000 dimensions.");
  }
  await database.query(`create table if not exists ${embeddingTable(id)} (
    kind text not null check (kind in ('message', 'summary')),
    id uuid not null,
    embedding ${vectorType(backend, dimensions)} not null,
    created_at timestamptz not null default now(),
    primary key (kind, id))`);
}

/** Indexes the vectors of the model's table, which `createUnindexedTable` has made. */
export async function indexEmbeddingTable(
  database: Queryable,
  backend: Backend,
  { id, dimensions }: Model,
): Promise<void> {
  const table = embeddingTable(id);
  const indexed = isQuantized(dimensions)
    ? `(${quantized("embedding", dimensions)}) bit_hamming_ops`
    : `embedding ${backend === "embedded" ? "vector" : "halfvec"}_cosine_ops`;
  await database.query(`create index if not exists ${table}_nearest on ${table} using hnsw (${indexed})`);
  // Among all vectors those of summaries are few: a search for them alone would pass by too many others.
  await database.query(
    `create index if not exists ${table}_summaries on ${table} using hnsw (${indexed}) where kind = 'summary'`,
  );
}
