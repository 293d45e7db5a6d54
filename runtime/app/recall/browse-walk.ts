import type { Queryable } from "../../contracts/database.ts";
import { type Filters, messageConditions } from "./filters.ts";
import { Values } from "./sql.ts";

/**
 * memory_browse by two or three of agent, role and channel. Each of them has an index in the order of time, and all of them
 * together have none: where each is common and hardly any row has all, no plan would find a page in time. So the rows of the
 * rarest one are walked in slices, a bounded number of them a call, and the caller goes on from where that ended.
 */

const NARROWING = ["agent", "role", "channel"] as const;
export type Column = (typeof NARROWING)[number];

export interface WalkRequest {
  readonly equal: Readonly<Partial<Record<Column, string>>>;
  /** The agent among them is that of `equal`. */
  readonly filters: Filters;
  readonly order: "asc" | "desc";
  /** Rows that are wanted. */
  readonly limit: number;
  /** The row to go on from, in microseconds; else from the beginning. */
  readonly from?: Position | undefined;
}

export interface Position {
  /** ISO 8601 with microseconds. */
  readonly position: string;
  readonly seq: number;
}

export interface Walked {
  /** In order, at most as many as were wanted. */
  readonly ids: readonly string[];
  /** The last row that was looked at, where there may be more behind it; null at the end, or where enough were found. */
  readonly stoppedAt: Position | null;
}

/** Rows of one index that are looked at in a statement, and statements of a call. */
const SLICE = 1_000;
const MOST_SLICES = 20;

/** Columns that the request narrows down by. */
export function narrowed(equal: WalkRequest["equal"]): readonly Column[] {
  return NARROWING.filter((column) => equal[column] !== undefined);
}

export async function walk(database: Queryable, request: WalkRequest): Promise<Walked> {
  const column = await rarest(database, request);
  const ids: string[] = [];
  let from = request.from ?? beginning(request);
  for (let slices = 0; slices < MOST_SLICES; slices += 1) {
    const { found, end } = await slice(database, request, column, from, request.limit - ids.length);
    ids.push(...found);
    if (end === null || ids.length >= request.limit) return { ids, stoppedAt: null };
    from = end;
  }
  return { ids, stoppedAt: from };
}

/** Insertion numbers begin with 1: `before` is exclusive and `since` inclusive. */
function beginning({ order, filters: { since, before } }: WalkRequest): Position {
  const position = order === "asc" ? (since?.toISOString() ?? "-infinity") : (before?.toISOString() ?? "infinity");
  return { position, seq: 0 };
}

/** Of which column the next rows reach the farthest, so that the fewest must be looked at. */
async function rarest(database: Queryable, request: WalkRequest): Promise<Column> {
  const { equal, order } = request;
  const from = request.from ?? beginning(request);
  const values = new Values();
  const reaches = narrowed(equal).map(
    (column) =>
      `select '${column}' as column, (
         select created_at from (
           select m.created_at, m.${column} as value from messages m where ${behind(column, request, from, values)}
           offset ${SLICE - 1} limit 1) as last
         where value = ${values.add(equal[column])}) as reach`,
  );
  const { rows } = await database.query<{ column: Column }>(
    `select "column" from (${reaches.join(" union all ")}) as reaches
     order by reach ${order === "asc" ? "desc" : "asc"} nulls first, "column" limit 1`,
    values.list,
  );
  return rows[0]?.column ?? "agent";
}

interface Slice {
  readonly found: readonly string[];
  /** Its last row; null where nothing is behind it. */
  readonly end: Position | null;
}

async function slice(
  database: Queryable,
  request: WalkRequest,
  column: Column,
  from: Position,
  limit: number,
): Promise<Slice> {
  const { equal, filters, order } = request;
  const values = new Values();
  const rows = behind(column, request, from, values);
  const equals = narrowed(equal).map((one) => `m.${one} = ${values.add(equal[one])}`);
  const matches = `${equals.join(" and ")}${messageConditions({ ...filters, agent: undefined }, values)}`;
  const back = order === "asc" ? "desc" : "asc";
  const past =
    order === "asc"
      ? `created_at >= ${values.add(filters.before?.toISOString() ?? "infinity")}`
      : `created_at < ${values.add(filters.since?.toISOString() ?? "-infinity")}`;
  const { rows: texts } = await database.query<{
    ids: string[];
    walked: number;
    past: boolean | null;
    position: string | null;
    seq: number | null;
  }>(
    `with slice as materialized (
       select m.id, m.created_at, m.seq, m.${column} = ${values.add(equal[column])} as walked, ${matches} as hit
       from messages m where ${rows} limit ${SLICE}
     )
     select array(select id from slice where hit order by created_at ${order}, seq ${order} limit ${values.add(limit)}) as ids,
       (select count(*)::int from slice where walked) as walked, last.*
     from (select) as one left join lateral (
       select seq, ${past} as past, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as position
       from slice where walked order by created_at ${back}, seq ${back} limit 1) as last on true`,
    values.list,
  );
  const [{ ids, walked, past: isPast, position, seq } = NOTHING] = texts;
  const atEnd = walked < SLICE || isPast !== false || position === null || seq === null;
  return { found: ids, end: atEnd ? null : { position, seq } };
}

const NOTHING = { ids: [], walked: 0, past: null, position: null, seq: null };

/**
 * Rows behind a position in the index of a column: first those of its value, then those of others. An equality instead would
 * have the planner believe that another index may be quicker, and for a value that it thinks common that reads everything.
 */
function behind(column: Column, { equal, order }: WalkRequest, { position, seq }: Position, values: Values): string {
  const given = `(${values.add(equal[column])}, ${values.add(position)}::timestamptz, ${values.add(seq)}::bigint)`;
  const ordered = [`m.${column}`, "m.created_at", "m.seq"].map((one) => `${one} ${order}`).join(", ");
  return `(m.${column}, m.created_at, m.seq) ${order === "asc" ? ">" : "<"} ${given} order by ${ordered}`;
}
