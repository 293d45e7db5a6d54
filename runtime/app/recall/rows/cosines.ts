import type { Database } from "../../../contracts/database.ts";
import { embeddingTable } from "../embedding-tables.ts";
import { idsOf, type RowRef, rowKey } from "../found.ts";
import { Values } from "../sql.ts";
import type { CachedRows } from "./row-cache.ts";
import { cosineOf, queryDirection, readCosine, readVector, sentVector, vectorParameter } from "./vector.ts";

export interface CosineRequest {
  readonly rows: readonly RowRef[];
  /** The query's, in the model's dimensions. */
  readonly vector: readonly number[];
  readonly model: { readonly id: number; readonly dimensions: number };
  /** Messages that there are, about. */
  readonly messages: number;
}

/**
 * Cosines of the query's vector and those of the rows, by `rowKey`; rows without a vector are left out. Vectors of a store
 * that could be cached as a whole are read once. Of a larger one most rows are met once, so that the database compares them.
 */
export async function cosinesOf(
  database: Database,
  cache: CachedRows,
  { rows, vector, model, messages }: CosineRequest,
): Promise<ReadonlyMap<string, number | null>> {
  if (!cache.couldHold(messages, model.dimensions)) {
    const near = vectorParameter(database.backend, vector);
    const compared = await select<number>(
      database,
      model.id,
      rows,
      (embedding, values) => `1 - (${embedding} <=> ${values.add(near)})`,
    );
    return new Map(compared.map(({ value, ...row }) => [rowKey(row), readCosine(value)]));
  }
  const asked = queryDirection(vector);
  const cosines = new Map<string, number | null>();
  const missing: RowRef[] = [];
  for (const row of rows) {
    const cached = cache.vector(row);
    if (cached === undefined) missing.push(row);
    else cosines.set(rowKey(row), cosineOf(cached, asked));
  }
  for (const { value, ...row } of await select<string>(database, model.id, missing, sentVector)) {
    const read = readVector(value);
    cache.keepVector(row, read);
    cosines.set(rowKey(row), cosineOf(read, asked));
  }
  return cosines;
}

type Selected<Value> = RowRef & { readonly value: Value };

async function select<Value>(
  database: Database,
  modelId: number,
  rows: readonly RowRef[],
  expressionOf: (embedding: string, values: Values) => string,
): Promise<readonly Selected<Value>[]> {
  if (rows.length === 0) return [];
  const values = new Values();
  const value = expressionOf("v.embedding", values);
  const branches = (["message", "summary"] as const).flatMap((kind) => {
    const ids = idsOf(rows, kind);
    return ids.length === 0
      ? []
      : `select v.kind, v.id, ${value} as value from ${embeddingTable(modelId)} v
where v.kind = '${kind}' and v.id = any(${values.add(ids)}::uuid[])`;
  });
  return (await database.query<Selected<Value>>(branches.join("\nunion all\n"), values.list)).rows;
}
