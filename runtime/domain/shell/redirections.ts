/** Redirections: where a command reads from, and what it must not write to. */

import type { Redirection } from "unbash";
import type { Expander } from "./expand.ts";
import { absolutePath, readable, readingOf } from "./files.ts";
import type { Inspector } from "./inspection.ts";
import { writeReason } from "./paths.ts";
import { isSecretPath } from "./secrets.ts";
import { PROCESS, type ShellState } from "./state.ts";
import type { Stream } from "./stream.ts";
import { concatenate } from "./streams.ts";

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
      const descriptor = entry.descriptor?.type === "FileDescriptor" ? entry.descriptor.value : undefined;
      if (entry.type === "HereDoc") {
        const texts = entry.body.parts ? expander.partTexts(entry.body.parts, state) : [entry.body.text];
        if ((descriptor ?? 0) === 0) from = { kind: "text", texts };
        continue;
      }
      const targets = entry.target ? expander.texts(entry.target, state) : [];
      if (entry.type === "HereString") {
        if ((descriptor ?? 0) === 0) from = { kind: "text", texts: targets.map((text) => `${text}\n`) };
        continue;
      }
      const file = targets.filter((target) => !/^(\d+-?|-)$/.test(target));
      if (entry.operator === "<" || entry.operator === "<&" || entry.operator === "<>") {
        for (const target of file)
          if (isSecretPath(target)) inspector.refuse(`it reads ${readable(target)}, which holds secrets`);
        if ((descriptor ?? 0) === 0 && file[0] !== undefined) from = readingOf(file[0], state);
      }
      if (entry.operator === "<") continue;
      for (const target of file) {
        const reason = target.startsWith(PROCESS) ? null : writeReason(target, state.directories, inspector.workspace);
        if (reason) inspector.refuse(reason);
      }
    }
    return from;
  }

  function record(redirects: readonly Redirection[], state: ShellState, output: Stream): void {
    for (const entry of redirects) {
      if (entry.type !== "Redirect" || !entry.operator.includes(">") || !entry.target || entry.descriptor) continue;
      for (const target of expander.texts(entry.target, state)) {
        const path = absolutePath(target, state);
        const before = entry.operator.endsWith(">>") ? state.files.get(path) : undefined;
        state.files.set(path, before ? concatenate(before, output) : output);
      }
    }
  }

  return { apply, record };
}
