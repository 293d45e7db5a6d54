/** What flows between commands, and how it is combined. */

import { bounded, COMPUTED } from "./values.ts";

/** What a command reads or prints. */
export type Stream =
  /** Possible texts, with marks. */
  | { readonly kind: "text"; readonly texts: readonly string[] }
  /** The content of a file that was there before. */
  | { readonly kind: "file" }
  /** What a program prints; `names` is what the names in it look like, where it lists some. */
  | { readonly kind: "program"; readonly program: string; readonly names?: string };

export const SILENCE: Stream = { kind: "text", texts: [""] };

export function textStream(...texts: readonly string[]): Stream {
  return { kind: "text", texts };
}

/** One after the other. */
export function concatenate(first: Stream, second: Stream): Stream {
  if (hasNoOutput(first) || second.kind === "program") return second;
  if (hasNoOutput(second) || first.kind === "program") return first;
  if (first.kind === "file" || second.kind === "file") return { kind: "file" };
  return textStream(...bounded(first.texts.flatMap((before) => second.texts.map((after) => before + after))));
}

/** One or the other: the same command in different forms. */
export function either(first: Stream, second: Stream): Stream {
  if (first === second) return first;
  if (first.kind === "text" && second.kind === "text") return textStream(...bounded([...first.texts, ...second.texts]));
  return hasNoOutput(first) || second.kind === "program" ? second : first;
}

/** The possible texts. */
export function textsOf(stream: Stream): readonly string[] {
  if (stream.kind === "text") return stream.texts;
  return [stream.kind === "program" ? (stream.names ?? COMPUTED) : COMPUTED];
}

function hasNoOutput(stream: Stream): boolean {
  return stream.kind === "text" && stream.texts.every((text) => text === "");
}
