import type { Queryable } from "../../../contracts/database.ts";
import { embeddingTable } from "../embedding-tables.ts";
import { numbersIn, type RowRef } from "../found.ts";
import type { EmbeddingModel } from "../query-analysis.ts";
import { Values } from "../sql.ts";
import type { Access } from "./access-count-cache.ts";
import { NEIGHBOURS } from "./cached-row.ts";
import { readState, STATE, type StoreState } from "./state.ts";
import { readCosine, readVector, sentVector, similarity } from "./vector.ts";

/** What may have changed about rows that are known, as far as the statements that found them have not told: in one statement. */

export interface Position {
  readonly conversationId: string;
  readonly seq: number;
}

export interface ChangesRequest {
  readonly model: EmbeddingModel | null;
  /** Whose accesses are wanted. */
  readonly rows: readonly RowRef[];
  /** Which messages follow these places is wanted. */
  readonly ends: readonly Position[];
  /** Whose vectors or cosines are wanted: they had none, or it is not known any more. */
  readonly vectors: readonly RowRef[];
  /** The query's vector as a parameter, where the cosines with it are wanted; else null. */
  readonly near: Buffer | null;
}

export interface Changes {
  readonly state: StoreState;
  /** By id, for each kind. */
  readonly accesses: Readonly<Record<RowRef["kind"], ReadonlyMap<string, Access>>>;
  /** For each of the ends: numbers of the next messages of its conversation, at most two. */
  readonly following: readonly (readonly number[])[];
  readonly vectors: readonly (RowRef & { readonly vector: Float32Array })[];
  readonly cosines: readonly (RowRef & { readonly cosine: number | null })[];
}

interface Row {
  readonly what: "state" | "access" | "end" | "vector" | "cosine";
  readonly kind: RowRef["kind"] | null;
  readonly id: string | null;
  readonly text: string | null;
  /** Accesses, a cosine, or the number of an end from 1 on. */
  readonly n: number | null;
  readonly ms: number | null;
}

export async function readChanges(database: Queryable, request: ChangesRequest): Promise<Changes> {
  const values = new Values();
  const { rows } = await database.query<Row>(statement(request, values), values.list);
  const accesses = { message: new Map<string, Access>(), summary: new Map<string, Access>() };
  const following: (readonly number[])[] = request.ends.map(() => []);
  const vectors: (RowRef & { readonly vector: Float32Array })[] = [];
  const cosines: (RowRef & { readonly cosine: number | null })[] = [];
  let state = readState("");
  for (const { what, kind, id, text, n, ms } of rows) {
    if (what === "state") state = readState(text ?? "");
    else if (what === "end") following[(n ?? 0) - 1] = numbersIn(text);
    else if (kind === null || id === null) continue;
    else if (what === "access") accesses[kind].set(id, { count: n ?? 0, lastMs: ms });
    else if (what === "cosine") cosines.push({ kind, id, cosine: readCosine(n) });
    else if (text !== null) vectors.push({ kind, id, vector: readVector(text) });
  }
  return { state, accesses, following, vectors, cosines };
}

function statement({ model, rows, ends, vectors, near }: ChangesRequest, values: Values): string {
  const branches = [
    `select 'state' as what, null::text as kind, null::uuid as id, ${STATE} as text,
  null::float8 as n, null::float8 as ms`,
  ];
  for (const kind of ["message", "summary"] as const) {
    const accessed = idsOf(rows, kind);
    if (accessed.length > 0) {
      branches.push(`select 'access', '${kind}', id, null, access_count::float8, (extract(epoch from last_accessed_at) * 1000)::float8
from access where kind = '${kind}' and id = any(${values.add(accessed)}::uuid[])`);
    }
    const unknown = idsOf(vectors, kind);
    if (unknown.length > 0 && model !== null) {
      const included =
        near === null
          ? `'vector', '${kind}', v.id, ${sentVector("v.embedding")}, null`
          : `'cosine', '${kind}', v.id, null, ${similarity("v.embedding", values.add(near))}`;
      branches.push(`select ${included}, null
from ${embeddingTable(model.id)} v where v.kind = '${kind}' and v.id = any(${values.add(unknown)}::uuid[])`);
    }
  }
  if (ends.length > 0) {
    const conversations = values.add(ends.map(({ conversationId }) => conversationId));
    const numbers = values.add(ends.map(({ seq }) => seq));
    branches.push(`select 'end', null, null, (select string_agg(next.seq::text, ' ' order by next.seq) from (
    select o.seq from messages o where o.conversation_id = last.conversation_id and o.seq > last.seq
    order by o.conversation_id, o.seq limit ${NEIGHBOURS}) as next), last.n::float8, null
from unnest(${conversations}::uuid[], ${numbers}::int8[]) with ordinality as last (conversation_id, seq, n)`);
  }
  return branches.join("\nunion all\n");
}

export function idsOf(rows: readonly RowRef[], kind: RowRef["kind"]): string[] {
  return rows.flatMap((row) => (row.kind === kind ? [row.id] : []));
}
