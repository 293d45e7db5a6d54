/** What flows between commands, as far as the script itself says it. */

import { COMPUTED } from "./values.ts";

export interface Stream {
  readonly text: string;
  /**
   * Where it comes from: text of the command, a file that was there before, what a program prints (of one that lists
   * names, those), or something that only a run shows.
   */
  readonly from: "command" | "file" | "program" | "unknown";
}

export const SILENCE: Stream = { text: "", from: "command" };
export const FILE: Stream = { text: COMPUTED, from: "file" };
export const PRINTED: Stream = { text: COMPUTED, from: "program" };
export const UNKNOWN: Stream = { text: COMPUTED, from: "unknown" };

/** One after the other. */
export function concatenate(first: Stream, second: Stream): Stream {
  if (first.text === "") return second;
  if (second.text === "" || (first.text === second.text && first.from === second.from)) return first;
  return { text: `${first.text}\n${second.text}`, from: first.from === second.from ? first.from : "program" };
}
