/** What flows between commands, and what is in the files that they write. */

import { COMPUTED } from "./values.ts";

export interface Stream {
  /** As far as it is known; of a program that lists names, those. */
  readonly text: string;
  /** The command itself, a file that was there before, or the program that printed it. */
  readonly from: "command" | "file" | { readonly program: string };
}

export const SILENCE: Stream = { text: "", from: "command" };
/** The content of a file that was there before. */
export const FILE: Stream = { text: COMPUTED, from: "file" };

export function textStream(text: string): Stream {
  return { text, from: "command" };
}

export function printedBy(program: string, text = COMPUTED): Stream {
  return { text, from: { program } };
}

/** One after the other. */
export function concatenate(first: Stream, second: Stream): Stream {
  if (first.text === "") return second;
  if (second.text === "" || (first === FILE && second === FILE)) return first;
  const printer = [second.from, first.from].find((from) => typeof from === "object");
  // `this || that` prints the same name once.
  const text = printer && first.text === second.text ? first.text : first.text + second.text;
  return { text, from: printer ?? "command" };
}

/** One or the other. */
export function either(first: Stream, second: Stream): Stream {
  if (first.text === second.text && typeof first.from !== "object") return second;
  return { text: first.text === second.text ? first.text : COMPUTED, from: first.from };
}
