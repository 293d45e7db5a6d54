import type { Role } from "../../contracts/message.ts";
import type { SummaryKind } from "../../contracts/records.ts";
import { NEIGHBOURS } from "./rows/cached-row.ts";
import type { StoreState } from "./rows/state.ts";

/** What is said of rows on their way from a statement to an answer. */

export interface RowRef {
  readonly kind: "message" | "summary";
  readonly id: string;
}

/** What a hit tells of its row, whatever brought it up. */
export interface ShownRow extends RowRef {
  readonly conversation_id: string | null;
  readonly agent: string | null;
  readonly channel: string | null;
  readonly role: Role | null;
  readonly created_at: Date;
  /** When what it tells happened: of a summary, the newest message that it covers. */
  readonly happened_at: Date;
  readonly depth: number | null;
  readonly summary_kind: SummaryKind | null;
}

/** A row that a search has found, with what finding it has told. */
export interface FoundRow extends RowRef {
  /** Of its vector and the query's; undefined where that was not told. */
  readonly cosine?: number | null;
  /** Numbers of the next messages of its conversation, at most two; undefined where that was not told. */
  readonly next?: readonly number[] | undefined;
}

export interface Finding {
  /** Best first. */
  readonly rows: readonly FoundRow[];
  /** In which state of the store; undefined when it was not asked. */
  readonly state: StoreState | undefined;
}

/** Nothing was asked. */
export const NOTHING: Finding = { rows: [], state: undefined };

/** The best of what was found bring the messages beside them, of which the next ones may be new. */
const FOLLOWED = 24;

/** SQL for the numbers of the messages that follow a row, as `nextOf` takes them, where it is one of the best by `rank`. */
export function following(rank: string, row: string): string {
  return `case when ${row}.kind = 'message' and ${rank} <= ${FOLLOWED} then (
    select coalesce(string_agg(next.seq::text, ' ' order by next.seq), '') from (
      select o.seq from messages o where o.conversation_id = ${row}.conversation_id and o.seq > ${row}.seq
      order by o.conversation_id, o.seq limit ${NEIGHBOURS}) as next) end`;
}

export function nextOf(text: string | null): number[] | undefined {
  return text === null ? undefined : numbersIn(text);
}

/** `7 12` */
export function numbersIn(text: string | null): number[] {
  return text === null || text === "" ? [] : text.split(" ").map(Number);
}
