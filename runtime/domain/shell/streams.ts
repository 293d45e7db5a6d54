/** Combining what commands print. */

import { bounded, UNKNOWN } from "./state.ts";
import type { Stream } from "./stream.ts";

/** One after the other. */
export function concatenate(first: Stream, second: Stream): Stream {
  if (hasNoOutput(first)) return second;
  if (hasNoOutput(second)) return first;
  if (first.kind === "program") return first;
  if (second.kind === "program") return second;
  if (first.kind === "text" && second.kind === "text") {
    return {
      kind: "text",
      texts: bounded(first.texts.flatMap((before) => second.texts.map((after) => before + after))),
    };
  }
  return { kind: "file" };
}

/** One or the other: the same command in different forms. */
export function either(first: Stream, second: Stream): Stream {
  if (first === second) return first;
  if (first.kind === "text" && second.kind === "text")
    return { kind: "text", texts: bounded([...first.texts, ...second.texts]) };
  return hasNoOutput(first) || second.kind === "program" ? second : first;
}

/** The possible texts; one that is unknown where there is more to it. */
export function textsOf(stream: Stream): readonly string[] {
  if (stream.kind === "text") return stream.texts;
  if (stream.kind === "program" && stream.names !== undefined) return [stream.names];
  return stream.kind === "none" ? [""] : [UNKNOWN];
}

function hasNoOutput(stream: Stream): boolean {
  return stream.kind === "none" || (stream.kind === "text" && stream.texts.every((text) => text === ""));
}
