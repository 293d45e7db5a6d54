import type { Database } from "../../contracts/database.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import type { Neighbour } from "./candidates.ts";
import { type Filters, messageConditions, summaryConditions } from "./filters.ts";
import type { EmbeddingModel } from "./query-analysis.ts";
import { plannedForItsValues, Values } from "./sql.ts";

/** The nearest rows to a vector, through the index of the current model's table, filters inside the scan. */

/** What makes a vector of a query by the model that searches compare with; null when it cannot be reached now. */
export type Embed = (text: string, signal?: AbortSignal, model?: EmbeddingModel) => Promise<readonly number[] | null>;

/** Vector in the form that pgvector reads; cut or zero-padded to the model's dimensions. */
export function vectorText(vector: readonly number[], dimensions: number): string {
  const values = Array.from({ length: dimensions }, (_, index) => {
    const value = vector[index] ?? 0;
    return Number.isFinite(value) ? value : 0;
  });
  return `[${values.join(",")}]`;
}

/** Nearest first. Needs one transaction: how far the index is scanned is a setting of it. */
export async function nearest(
  database: Database,
  model: EmbeddingModel,
  request: {
    readonly vector: string;
    readonly scope: SearchScope;
    readonly filters: Filters;
    readonly limit: number;
    readonly number: number;
  },
): Promise<Neighbour[]> {
  const values = new Values();
  const conditions: string[] = [];
  if (request.scope !== "summaries") {
    const filters = messageConditions(request.filters, values);
    conditions.push(
      filters === ""
        ? "v.kind = 'message'"
        : `v.kind = 'message' and exists (select 1 from messages m where m.id = v.id${filters})`,
    );
  }
  if (request.scope !== "messages") {
    const filters = summaryConditions(request.filters, values);
    conditions.push(
      filters === ""
        ? "v.kind = 'summary'"
        : `v.kind = 'summary' and exists (select 1 from summaries s where s.id = v.id${filters})`,
    );
  }
  const sql = `
select v.kind, v.id from embeddings_${model.id} as v
where ${conditions.map((condition) => `(${condition})`).join(" or ")}
order by v.embedding <=> ${values.add(request.vector)}::halfvec(${model.dimensions})
limit ${values.add(request.limit)}`;
  return database.transaction(async (tx) => {
    await tx.query(
      "select set_config('hnsw.ef_search', $1, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)",
      [String(Math.min(1_000, Math.max(40, request.limit * 2)))],
    );
    const { rows } = await tx.query<Neighbour>(plannedForItsValues(sql, request.number), values.list);
    return rows;
  });
}
