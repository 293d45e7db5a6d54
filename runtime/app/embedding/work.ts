import type { Database, Transaction } from "../../contracts/database.ts";
import { sanitize } from "../../domain/cap.ts";
import type { Vector } from "../../domain/embedding-vector.ts";
import { claimEnd, RELEASED, UNCLAIMED } from "../claims.ts";
import { embeddingTable } from "../recall/embedding-tables.ts";

/**
 * Who embeds what: rows are claimed for a time in short transactions, so that several workers share the work and none
 * holds a connection while a model thinks. A worker that dies loses its claims when their time is over.
 */

export type RecordKind = "message" | "summary";

export interface Claimed {
  readonly kind: RecordKind;
  readonly id: string;
  /** The head of it, as far as it counts for a vector. */
  readonly content: string;
  /** How often it has failed by itself. */
  readonly attempts: number;
}

export interface Claim {
  readonly rows: readonly Claimed[];
  /** How far the scan has come; hand it to the next claim. */
  readonly scanned: Scanned;
  /** Whether the scan has passed every row there is. */
  readonly complete: boolean;
}

/** The insertion numbers up to which every row has a vector, a place in the work table, or nothing to embed. */
export type Scanned = Readonly<Record<RecordKind, number>>;

export const NOTHING_SCANNED: Scanned = { message: 0, summary: 0 };

export interface ClaimRequest {
  readonly modelId: number;
  /** Of one run of a worker. */
  readonly owner: string;
  readonly limit: number;
  /** Most rows of the claim that have failed before: they come back one by one and must not hold up the others. */
  readonly limitFailed: number;
  readonly leaseMs: number;
  readonly scanned: Scanned;
}

/** Rows that one statement looks at: it stays quick however many have their vectors. */
const WINDOW = 1_000;
/** What counts of a content, in characters; more than the chunks that are made of it. */
const HEAD = 256_000;
/** Keeps the planner from joining instead: with statistics from before the table grew, it would read all of it. */
const LOOKUP = "offset 0";
const TABLES: Readonly<Record<RecordKind, string>> = { message: "messages", summary: "summaries" };
/** Rows of one insert. An index over vectors grows slowly, and the embedded store does nothing else meanwhile. */
const VECTORS_PER_STATEMENT = 16;

/** Claims rows that are due, then rows that have never been looked at; each row is one worker's at a time. */
export async function claim(database: Database, request: ClaimRequest): Promise<Claim> {
  const { modelId, limit } = request;
  return database.transaction(async (tx) => {
    // In a statement of its own: the next one sees what the last holder has claimed.
    await tx.query("select pg_advisory_xact_lock(hashtextextended('cairn.embedding:' || $1::text, 0))", [modelId]);
    const rows = await claimDue(tx, request);
    let scanned = request.scanned;
    let complete = true;
    // Summaries are few, and each covers many messages.
    for (const kind of ["summary", "message"] as const) {
      const found = await claimNew(tx, kind, { ...request, limit: limit - rows.length, from: scanned[kind] });
      rows.push(...found.rows);
      scanned = { ...scanned, [kind]: found.to };
      complete &&= found.complete;
    }
    return { rows, scanned, complete };
  });
}

async function claimDue(tx: Transaction, request: ClaimRequest): Promise<Claimed[]> {
  const { rows } = await tx.query<Claimed>(
    `with due as (
       (select kind, id, attempts from embedding_work
        where model_id = $1 and due_at <= now() and ${UNCLAIMED} and attempts = 0
        order by due_at limit $3)
       union all
       (select kind, id, attempts from embedding_work
        where model_id = $1 and due_at <= now() and ${UNCLAIMED} and attempts > 0
        order by due_at limit $4)
       limit $3
     ), taken as (
       update embedding_work as work set claimed_by = $2, claimed_until = ${claimEnd("$5")}
       from due where work.model_id = $1 and work.kind = due.kind and work.id = due.id
       returning work.kind, work.id, work.attempts
     )
     select taken.kind, taken.id, taken.attempts, left(coalesce(m.content, s.content), ${HEAD}) as content
     from taken
     left join messages m on taken.kind = 'message' and m.id = taken.id
     left join summaries s on taken.kind = 'summary' and s.id = taken.id`,
    [request.modelId, request.owner, request.limit, request.limitFailed, request.leaseMs],
  );
  // What a restore of an older state left without a record has no content either.
  return rows.map((row) => ({ ...row, content: row.content ?? "" }));
}

interface NewRows {
  readonly rows: readonly Claimed[];
  readonly to: number;
  readonly complete: boolean;
}

async function claimNew(
  tx: Transaction,
  kind: RecordKind,
  request: ClaimRequest & { readonly from: number },
): Promise<NewRows> {
  if (request.limit <= 0) return { rows: [], to: request.from, complete: false };
  const { rows } = await tx.query<{ rows: readonly Omit<Claimed, "kind">[]; to: number | null; seen: number }>(
    `with passed as (
       select o.id, o.seq + 0 as seq, o.content <> '' as has_content from ${TABLES[kind]} as o
       where o.seq + 0 > $1 order by o.seq + 0 limit ${WINDOW} -- as the index has it
     ), fresh as (
       select passed.id, passed.seq from passed
       where has_content
         and not exists (select 1 from ${embeddingTable(request.modelId)} v where v.kind = '${kind}' and v.id = passed.id ${LOOKUP})
         and not exists (select 1 from embedding_work w where w.model_id = $2 and w.kind = '${kind}' and w.id = passed.id ${LOOKUP})
       order by seq limit $4
     ), taken as (
       insert into embedding_work (model_id, kind, id, claimed_by, claimed_until)
       select $2, '${kind}', id, $3, ${claimEnd("$5")} from fresh
     )
     select
       coalesce((select jsonb_agg(jsonb_build_object('id', o.id, 'content', left(o.content, ${HEAD})) order by o.seq)
         from fresh join ${TABLES[kind]} o on o.id = fresh.id), '[]') as rows,
       case when (select count(*) from fresh) < $4 then (select max(seq) from passed)
         else (select max(seq) from fresh) end as to,
       (select count(*) from passed)::int as seen`,
    [request.from, request.modelId, request.owner, request.limit, request.leaseMs],
  );
  const found = rows[0];
  const fresh = found?.rows ?? [];
  return {
    rows: fresh.map(({ id, content }) => ({ kind, id, content, attempts: 0 })),
    to: found?.to ?? request.from,
    complete: fresh.length < request.limit && (found?.seen ?? 0) < WINDOW,
  };
}

export interface Embedded {
  readonly kind: RecordKind;
  readonly id: string;
  readonly vector: Vector;
}

/**
 * Stores vectors and ends the work on their rows. A row that another worker has embedded meanwhile stays as it is; one that was
 * forgotten meanwhile has lost its place in the work table, and gets none.
 */
export async function store(
  database: Database,
  model: { readonly id: number; readonly dimensions: number },
  embedded: readonly Embedded[],
): Promise<void> {
  for (let from = 0; from < embedded.length; from += VECTORS_PER_STATEMENT) {
    const part = embedded.slice(from, from + VECTORS_PER_STATEMENT);
    await database.query(
      `with given as (
         select * from unnest($1::text[], $2::uuid[], $3::text[]) as given (kind, id, vector)
       ), done as (
         delete from embedding_work w using given where w.model_id = $4 and w.kind = given.kind and w.id = given.id
         returning w.kind, w.id
       )
       insert into ${embeddingTable(model.id)} (kind, id, embedding)
       select kind, id, vector::halfvec(${model.dimensions}) from given join done using (kind, id)
       on conflict (kind, id) do nothing`,
      [
        part.map(({ kind }) => kind),
        part.map(({ id }) => id),
        part.map(({ vector }) => `[${vector.join(",")}]`),
        model.id,
      ],
    );
  }
}

export interface FailedRow {
  readonly kind: RecordKind;
  readonly id: string;
  readonly attempts: number;
  readonly error: string;
  /** Until the next attempt; null when there is none. */
  readonly againInMs: number | null;
}

/** Notes a row's own failure. */
export async function recordFailure(database: Database, modelId: number, failed: FailedRow): Promise<void> {
  await database.query(
    `update embedding_work set attempts = $4, error = $5, ${RELEASED},
       due_at = now() + make_interval(secs => $6::float8), failed_at = case when $6::float8 is null then now() end
     where model_id = $1 and kind = $2 and id = $3`,
    [
      modelId,
      failed.kind,
      failed.id,
      failed.attempts,
      sanitize(failed.error),
      failed.againInMs === null ? null : failed.againInMs / 1_000,
    ],
  );
}

/** Whether a row is still another worker's, or has never failed and waits: then the model does not cover the store yet. */
export async function hasWork(database: Database, modelId: number): Promise<boolean> {
  const { rows } = await database.query<{ remaining: boolean }>(
    `select exists (select 1 from embedding_work where model_id = $1 and due_at is not null and attempts = 0) as remaining`,
    [modelId],
  );
  return rows[0]?.remaining ?? false;
}
