import type { Queryable } from "../../../contracts/database.ts";
import { idsOf, type RowRef, rowKey } from "../found.ts";
import { containing, Values } from "../sql.ts";

export interface SimilarityRequest {
  readonly rows: readonly RowRef[];
  readonly identifiers: readonly string[];
}

/**
 * How much each row is like the identifiers of the query that it contains, 0 to 1, by `rowKey`; rows that contain none are
 * left out. It is computed from letters of the whole content, which only the database has.
 */
export async function similarities(
  database: Queryable,
  { rows, identifiers }: SimilarityRequest,
): Promise<ReadonlyMap<string, number>> {
  if (identifiers.length === 0 || rows.length === 0) return new Map();
  const values = new Values();
  const given = `unnest(${values.add(identifiers)}::text[], ${values.add(identifiers.map(containing))}::text[]) as given (word, pattern)`;
  const branches = (["message", "summary"] as const).flatMap((kind) => {
    const ids = idsOf(rows, kind);
    if (ids.length === 0) return [];
    const table = kind === "message" ? "messages" : "summaries";
    return `select '${kind}' as kind, row.id, max(word_similarity(given.word, row.content))::float8 as similarity
from unnest(${values.add(ids)}::uuid[]) as wanted (id)
cross join lateral (select * from ${table} t where t.id = wanted.id limit 1) as row cross join ${given}
where row.content ilike given.pattern group by row.id`;
  });
  const { rows: similar } = await database.query<RowRef & { readonly similarity: number }>(
    branches.join("\nunion all\n"),
    values.list,
  );
  return new Map(similar.map(({ similarity, ...row }) => [rowKey(row), similarity]));
}
