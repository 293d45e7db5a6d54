import type { Role } from "../../contracts/message.ts";
import type { SummaryKind } from "../../contracts/records.ts";
import { type Filters, messageConditions } from "./filters.ts";
import type { Values } from "./sql.ts";

/**
 * Rows on their way from a statement to an answer. The statement that finds them also reads what may change about them: how
 * often they were handed out, and which messages are their neighbours. Everything else is fixed by the row's id (rows/).
 */

export interface RowRef {
  readonly kind: "message" | "summary";
  readonly id: string;
}

/** The row in a map: a summary's id might be a message's, too, where they were not made here. */
export function rowKey({ kind, id }: RowRef): string {
  return `${kind} ${id}`;
}

export function idsOf(rows: readonly RowRef[], kind: RowRef["kind"]): string[] {
  return rows.flatMap((row) => (row.kind === kind ? [row.id] : []));
}

/** What a hit shows of its row, however it was found. */
export interface ShownRow extends RowRef {
  readonly conversation_id: string | null;
  readonly agent: string | null;
  readonly channel: string | null;
  readonly role: Role | null;
  readonly created_at: Date;
  /** The time of what it says: of a summary, the newest message that it covers. */
  readonly happened_at: Date;
  readonly depth: number | null;
  readonly summary_kind: SummaryKind | null;
}

/** How often a row was handed out as a search result. */
export interface Access {
  readonly count: number;
  /** Milliseconds since 1970; null when it never was. */
  readonly lastMs: number | null;
}

export const NEVER: Access = { count: 0, lastMs: null };

/** A row that a search has found. */
export interface FoundRow extends RowRef {
  /** Cosine of its vector and the query's; undefined where it was not found by it. */
  readonly cosine?: number | null;
  /** Ids of its neighbours that the filters let through; empty where they were not read, too. */
  readonly neighbours?: readonly string[];
}

export interface Finding {
  /** Best first. */
  readonly rows: readonly FoundRow[];
  /** By `rowKey`, of the rows and their neighbours; those that are missing were never handed out. */
  readonly accesses: ReadonlyMap<string, Access>;
}

/** Nothing was asked. */
export const NOTHING: Finding = { rows: [], accesses: new Map() };

/** Messages on each side of a message, in its conversation, that count as its neighbours. */
const NEIGHBOURS = 2;

export interface FindingOptions {
  /** So many messages with the highest values bring their neighbours. */
  readonly withNeighbours: number;
  /** Neighbours have to pass them too. */
  readonly filters: Filters;
}

/** What a statement of `findingOf` answers: one row of text, because two hundred rows cost more on their way here than in the database. */
export interface FindingRow {
  /** A line for each found row, best of its kind first: kind, id, value, ids of its neighbours. */
  readonly found: string | null;
  /** A line for each row that was ever handed out: id, how often, and when last, in milliseconds since 1970. */
  readonly messages: string | null;
  readonly summaries: string | null;
}

/** SQL that answers `readFinding`, of rows with the columns `kind`, `id`, `conversation_id`, `seq` and `value`, each once. */
export function findingOf(found: string, { withNeighbours, filters }: FindingOptions, values: Values): string {
  const side = (comparison: "<" | ">", direction: "desc" | "asc") => `(
      select o.id, o.agent, o.created_at from messages o
      where o.conversation_id = ranked.conversation_id and o.seq ${comparison} ranked.seq
      order by o.conversation_id ${direction}, o.seq ${direction} limit ${NEIGHBOURS})`;
  // Neighbours are in the found row's conversation, and so as visible as it is.
  const { agent, since, before, exclude } = filters;
  const neighbours =
    withNeighbours === 0
      ? "null::uuid[]"
      : `case when ranked.kind = 'message' and ranked.place <= ${withNeighbours} then array(
    select m.id from (${side("<", "desc")} union all ${side(">", "asc")}) as m
    where true${messageConditions({ agent, since, before, exclude }, values)}) end`;
  const lines = (columns: string) => `concat_ws(' ', ${columns}), e'\\n'`;
  // By the list of the rows: joined with the table, some hundred rows would have the planner read all of it.
  const accesses = (kind: RowRef["kind"], ids: string) => `
  select string_agg(${lines("id, access_count, (extract(epoch from last_accessed_at) * 1000)::float8")})
  from access where kind = '${kind}' and id = any(array(${ids}))`;
  return `
with found as materialized (
  select ranked.kind, ranked.id, ranked.value, ranked.place, ${neighbours} as neighbours
  from (select *, row_number() over (partition by kind order by value desc, seq desc) as place from (${found}) as every) as ranked
)
select (
  select string_agg(${lines("kind, id, value, nullif(array_to_string(neighbours, ' '), '')")} order by kind, place) from found
) as found, (${accesses("message", "select id from found where kind = 'message' union all select unnest(neighbours) from found")}
) as messages, (${accesses("summary", "select id from found where kind = 'summary'")}
) as summaries`;
}

export interface ValuedRow extends FoundRow {
  readonly value: number;
}

/** The rows with the highest values first; among equals messages before summaries, and of each the newest. */
export function readFinding([row]: readonly FindingRow[]): { rows: ValuedRow[]; accesses: Finding["accesses"] } {
  const found = linesOf(row?.found).map(([kind, id = "", value, ...neighbours]): ValuedRow => {
    return { kind: kind === "summary" ? kind : "message", id, value: Number(value), neighbours };
  });
  const accesses = new Map([...accessesIn("message", row?.messages), ...accessesIn("summary", row?.summaries)]);
  return { rows: found.sort((a, b) => b.value - a.value), accesses };
}

function accessesIn(kind: RowRef["kind"], text: string | null | undefined): [string, Access][] {
  return linesOf(text).map(([id = "", count, ms]) => [
    rowKey({ kind, id }),
    { count: Number(count), lastMs: ms === undefined ? null : Number(ms) },
  ]);
}

function linesOf(text: string | null | undefined): string[][] {
  return text ? text.split("\n").map((line) => line.split(" ")) : [];
}
