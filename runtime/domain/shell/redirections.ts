/** Redirections: where a command reads from, and what it must not write to. */

import type { Redirection } from "unbash";
import type { Expander } from "./expand.ts";
import type { Inspector } from "./inspection.ts";
import { absolutePath, checkPaths, readingOf, writeReason } from "./paths.ts";
import { checkReadPath } from "./reading.ts";
import type { ShellState } from "./state.ts";
import { concatenate, type Stream, textStream } from "./streams.ts";
import { PROCESS } from "./values.ts";

export interface Redirections {
  /** Judges them; what the command reads afterwards. */
  apply(redirects: readonly Redirection[], state: ShellState, input: Stream): Stream;
  /** Notes what the script writes to files: it is known when the script runs such a file later. */
  record(redirects: readonly Redirection[], state: ShellState, output: Stream): void;
}

export function createRedirections(expander: Expander, inspector: Inspector): Redirections {
  function apply(redirects: readonly Redirection[], state: ShellState, input: Stream): Stream {
    let from = input;
    for (const entry of redirects) {
      const isInput = !entry.descriptor || (entry.descriptor.type === "FileDescriptor" && entry.descriptor.value === 0);
      if (entry.type === "HereDoc") {
        const texts = entry.body.parts
          ? expander.partTexts(entry.body.parts, state)
          : [entry.delimiter?.quoted ? entry.body.text : unescaped(entry.body.text)];
        if (isInput) from = textStream(...texts);
        continue;
      }
      const targets = entry.target ? expander.texts(entry.target, state) : [];
      if (entry.type === "HereString") {
        if (isInput) from = textStream(...targets.map((text) => `${text}\n`));
        continue;
      }
      if (isInput && entry.operator === "<&") from = { kind: "program", program: "another descriptor" };
      const files = targets.filter((target) => !/^(\d+-?|-)$/.test(target));
      if (entry.operator.startsWith("<")) {
        for (const target of files) checkReadPath(target, state, inspector);
        if (isInput && files[0] !== undefined) from = readingOf(files[0], state);
      }
      const written = entry.operator === "<" ? [] : files.filter((target) => !target.startsWith(PROCESS));
      checkPaths(written, state, inspector, writeReason);
    }
    return from;
  }

  function record(redirects: readonly Redirection[], state: ShellState, output: Stream): void {
    for (const entry of redirects) {
      if (entry.type !== "Redirect" || !entry.operator.includes(">") || !entry.target) continue;
      const { descriptor } = entry;
      if (descriptor && !(descriptor.type === "FileDescriptor" && descriptor.value === 1)) continue;
      for (const target of expander.texts(entry.target, state)) {
        const path = absolutePath(target, state);
        const before = entry.operator.endsWith(">>") ? state.files.get(path) : undefined;
        state.files.set(path, before ? concatenate(before, output) : output);
      }
    }
  }

  return { apply, record };
}

/** The shell takes backslashes out of a here-document as it does in double quotes. */
function unescaped(text: string): string {
  return text.replace(/\\([$`\\\n])/g, (_, letter: string) => (letter === "\n" ? "" : letter));
}
