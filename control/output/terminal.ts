/** What a command sees of the terminal: two streams, whether they are terminals, and colours if they are wanted. */

import process from "node:process";
import { styleText } from "node:util";
import { EXIT } from "./failure.ts";

export interface Mark {
  title(text: string): string;
  good(text: string): string;
  warn(text: string): string;
  error(text: string): string;
  dim(text: string): string;
  name(text: string): string;
}

export interface Terminal {
  /** Results. Resolves once the text is with the system; never rejects: a closed output is reported through `closed`. */
  out(text: string | Uint8Array): Promise<void>;
  /** Everything besides the result. */
  err(text: string): Promise<void>;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** Of a row of `err`; undefined where that is no terminal, or does not know. Changes with its window. */
  readonly errColumns: number | undefined;
  readonly inIsTerminal: boolean;
  /** Whether `out` is to be coloured. */
  readonly outColours: boolean;
  /** Colours for `out` and for `err`; NO_COLOR and streams that are no terminals switch them off. */
  readonly mark: Mark;
  readonly errMark: Mark;
}

/** The process's own streams. */
export function processTerminal(): Terminal {
  return {
    out: (text) => write(process.stdout, text),
    err: (text) => write(process.stderr, text),
    outIsTerminal: process.stdout.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true,
    get errColumns() {
      return process.stderr.columns;
    },
    inIsTerminal: process.stdin.isTTY === true,
    outColours: styleText("bold", "x", { stream: process.stdout }) !== "x",
    mark: markFor(process.stdout),
    errMark: markFor(process.stderr),
  };
}

/**
 * Takes over the errors of the process's outputs for as long as it lives; without it each would end the process with a stack. A
 * closed reader (`| head`) is no failure. A full disk is one: the result is lost.
 */
export function ownOutput(): void {
  let reported = false;
  const listener = (error: Error & { code?: string }): void => {
    if (reported || CLOSED.includes(error.code ?? "")) return;
    reported = true;
    process.exitCode = EXIT.failed;
    process.stderr.write(`Error: The output could not be written (${error.code ?? error.message}).\n`);
  };
  for (const stream of [process.stdout, process.stderr]) {
    // The framework has a listener that throws.
    stream.removeAllListeners("error");
    stream.on("error", listener);
  }
}

const CLOSED: readonly string[] = ["EPIPE", "ERR_STREAM_DESTROYED", "EIO"];

/** Calls `onClosed` once when the outputs are closed. Returns what removes the listeners. */
export function watchOutput(onClosed: () => void): () => void {
  let reported = false;
  const listener = (): void => {
    if (reported) return;
    reported = true;
    onClosed();
  };
  process.stdout.on("error", listener);
  process.stderr.on("error", listener);
  return () => {
    process.stdout.off("error", listener);
    process.stderr.off("error", listener);
  };
}

/** Rows as aligned columns, two blanks apart; the last column is not padded. */
export function columns(rows: readonly (readonly string[])[], indent = ""): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows
    .map((row) => {
      const cells = row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)));
      return `${indent}${cells.join("  ")}`.trimEnd();
    })
    .join("\n");
}

function write(stream: NodeJS.WriteStream, text: string | Uint8Array): Promise<void> {
  if (text.length === 0 || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    // The error itself reaches the listener of watchOutput.
    stream.write(text, () => resolve());
  });
}

function markFor(stream: NodeJS.WriteStream): Mark {
  const as = (format: Parameters<typeof styleText>[0]) => (text: string) => styleText(format, text, { stream });
  return {
    title: as("bold"),
    good: as("green"),
    warn: as("yellow"),
    error: as("red"),
    dim: as("dim"),
    name: as("cyan"),
  };
}
