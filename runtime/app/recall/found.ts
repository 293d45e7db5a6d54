import { BESIDE } from "./rows/known-row.ts";
import type { StoreState } from "./rows/state.ts";

/** What statements that find rows answer, by words and by vectors alike. */

export interface RowRef {
  readonly kind: "message" | "summary";
  readonly id: string;
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
      order by o.conversation_id, o.seq limit ${BESIDE}) as next) end`;
}

export function nextOf(text: string | null): number[] | undefined {
  return text === null ? undefined : numbersIn(text);
}

/** `7 12` */
export function numbersIn(text: string | null): number[] {
  return text === null || text === "" ? [] : text.split(" ").map(Number);
}
