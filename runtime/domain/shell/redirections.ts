/** Redirections: where a command reads from, and what it must not write to. */

import type { Redirection } from "unbash";
import type { Expander } from "./expand.ts";
import type { ShellState } from "./inspection.ts";
import { readingOf, writeTo } from "./paths.ts";
import { checkReadPath } from "./reading.ts";
import { type Stream, UNKNOWN } from "./streams.ts";
import { PROCESS } from "./values.ts";

export interface Redirected {
  /** What the command reads. */
  readonly from: Stream;
  /** The file that gets all that it prints, and nothing else; the caller judges it with that. */
  readonly target: string | null;
}

/** Judges all but the target. */
export function redirect(
  redirects: readonly Redirection[],
  state: ShellState,
  input: Stream,
  expander: Expander,
): Redirected {
  let from = input;
  let last: string | null = null;
  for (const entry of redirects) {
    const isInput = !entry.descriptor || (entry.descriptor.type === "FileDescriptor" && entry.descriptor.value === 0);
    if (entry.type === "HereDoc") {
      const { delimiter, body } = entry;
      const text = body.parts
        ? expander.partsText(body.parts, state)
        : delimiter?.quoted
          ? body.text
          : unescaped(body.text);
      if (isInput) from = { text, from: "command" };
      continue;
    }
    const target = entry.target ? expander.text(entry.target, state) : "";
    if (entry.type === "HereString") {
      if (isInput) from = { text: target, from: "command" };
      continue;
    }
    if (isInput && entry.operator === "<&") from = UNKNOWN;
    if (/^(\d+-?|-)$/.test(target)) continue;
    if (entry.operator.startsWith("<")) {
      checkReadPath(target, state);
      if (isInput) from = readingOf(target, state);
    }
    if (entry.operator === "<" || target.startsWith(PROCESS)) continue;
    if (last !== null) writeTo([last], state);
    last = entry.operator === ">" && !entry.descriptor ? target : null;
    if (last === null) writeTo([target], state);
  }
  return { from, target: last };
}

/** The shell takes backslashes out of a here-document as it does in double quotes. */
function unescaped(text: string): string {
  return text.replace(/\\([$`\\\n])/g, (_, letter: string) => (letter === "\n" ? "" : letter));
}
