/** Shows how long work has taken: a line that changes on a terminal, a plain line now and then otherwise. */

import type { Terminal } from "./terminal.ts";

export interface Progress {
  update(text: string): void;
  /** The same of a new step, which is said in a plain line, too, however soon it comes. */
  step(text: string): void;
  /** Takes the line off the terminal. */
  end(): Promise<void>;
}

const PLAIN_EVERY_MS = 10_000;
const CLEAR_LINE = "\r\u001b[2K";

/** Writes to standard error, so that `--json` keeps standard output. */
export function startProgress(terminal: Terminal, now: () => number = () => performance.now()): Progress {
  let shown = "";
  let saidAt = Number.NEGATIVE_INFINITY;
  const say = (text: string, everyMs: number): void => {
    if (text === shown) return;
    if (terminal.errIsTerminal) {
      void terminal.err(`${CLEAR_LINE}${terminal.errMark.dim(inOneRow(text, terminal.errColumns))}`);
    } else {
      if (now() - saidAt < everyMs) return;
      saidAt = now();
      void terminal.err(`${text}\n`);
    }
    shown = text;
  };
  return {
    update: (text) => say(text, PLAIN_EVERY_MS),
    step: (text) => say(text, 0),
    async end() {
      if (shown !== "" && terminal.errIsTerminal) await terminal.err(CLEAR_LINE);
    },
  };
}

/** What is broken into two rows could not be taken off the terminal as one line. */
function inOneRow(text: string, columns: number | undefined): string {
  const characters = [...text];
  if (!columns || characters.length < columns) return text;
  return `${characters.slice(0, columns - 2).join("")}…`;
}
