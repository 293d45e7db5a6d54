/** Redirections: where a command reads from, and what it must not write to. */

import type { Redirection } from "unbash";
import type { Expander } from "./expand.ts";
import type { ShellState } from "./inspection.ts";
import { absolutePath, readingOf, writeTo } from "./paths.ts";
import { checkReadPath } from "./reading.ts";
import { concatenate, printedBy, type Stream, textStream } from "./streams.ts";
import { PROCESS } from "./values.ts";

/** Judges them; what the command reads afterwards, and what remembers its output for when the script runs such a file. */
export function redirect(
  redirects: readonly Redirection[],
  state: ShellState,
  input: Stream,
  expander: Expander,
): { readonly from: Stream; record(output: Stream): void } {
  let from = input;
  const outputs: { path: string; before: Stream | undefined }[] = [];
  for (const entry of redirects) {
    const descriptor = entry.descriptor?.type === "FileDescriptor" ? entry.descriptor.value : undefined;
    const isInput = !entry.descriptor || descriptor === 0;
    if (entry.type === "HereDoc") {
      const { delimiter, body } = entry;
      const text = body.parts
        ? expander.partsText(body.parts, state)
        : delimiter?.quoted
          ? body.text
          : unescaped(body.text);
      if (isInput) from = textStream(text);
      continue;
    }
    const target = entry.target ? expander.text(entry.target, state) : "";
    if (entry.type === "HereString") {
      if (isInput) from = textStream(`${target}\n`);
      continue;
    }
    if (isInput && entry.operator === "<&") from = printedBy("another descriptor");
    if (/^(\d+-?|-)$/.test(target)) continue;
    if (entry.operator.startsWith("<")) {
      checkReadPath(target, state);
      if (isInput) from = readingOf(target, state);
    }
    if (entry.operator === "<" || target.startsWith(PROCESS)) continue;
    writeTo([target], state);
    if (entry.operator.includes(">") && (!entry.descriptor || descriptor === 1)) {
      const path = absolutePath(target, state);
      outputs.push({ path, before: entry.operator.endsWith(">>") ? state.inspector.files.get(path) : undefined });
    }
  }
  const record = (output: Stream) => {
    for (const { path, before } of outputs)
      state.inspector.files.set(path, before ? concatenate(before, output) : output);
  };
  return { from, record };
}

/** The shell takes backslashes out of a here-document as it does in double quotes. */
function unescaped(text: string): string {
  return text.replace(/\\([$`\\\n])/g, (_, letter: string) => (letter === "\n" ? "" : letter));
}
