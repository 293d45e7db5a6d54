import type { Database } from "../../contracts/database.ts";
import type { MemoryHit } from "../../contracts/memory.ts";

/** How often and when last a row was handed out as a search result: what keeps it from fading. */

export interface AccessedRow {
  readonly kind: "message" | "summary";
  readonly id: string;
}

/** Counts each row once. Ordered, so that two searches with the same finds never wait for each other in a circle. */
export async function countAccess(database: Database, rows: readonly AccessedRow[], at: Date): Promise<void> {
  const unique = new Map(rows.map((row) => [`${row.kind} ${row.id}`, row]));
  if (unique.size === 0) return;
  await database.transaction(
    (tx) =>
      tx.query(
        `insert into access (kind, id, access_count, last_accessed_at)
         select kind, id, 1, $3 from unnest($1::text[], $2::uuid[]) as seen (kind, id) order by kind, id
         on conflict (kind, id) do update set
           access_count = access.access_count + 1,
           last_accessed_at = greatest(access.last_accessed_at, excluded.last_accessed_at)`,
        [[...unique.values()].map(({ kind }) => kind), [...unique.values()].map(({ id }) => id), at.toISOString()],
      ),
    { durable: false },
  );
}

/** Every row of an answer, the expanded ones too. */
export function rowsOf(hits: readonly MemoryHit[]): AccessedRow[] {
  return hits.flatMap((hit) => [
    { kind: hit.kind, id: hit.id },
    ...rowsOf(hit.children ?? []),
    ...rowsOf(hit.sources ?? []),
  ]);
}
