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
  if (hasNoOutput(first)) return second;
  if (hasNoOutput(second)) return first;
  if (first.kind === "file" && second.kind === "file") return first;
  if (first.kind !== "program" && second.kind !== "program")
    return textStream(...bounded(textsOf(first).flatMap((before) => textsOf(second).map((after) => before + after))));
  const { program } = second.kind === "program" ? second : first.kind === "program" ? first : { program: "" };
  return { kind: "program", program, names: joined(textsOf(first), textsOf(second)) };
}

/** The names of both; once where they are the same, as in `this || that`. */
function joined([before = "", ...more]: readonly string[], [after = "", ...others]: readonly string[]): string {
  if (more.length + others.length > 0) return COMPUTED;
  return before === after ? before : before + after;
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
