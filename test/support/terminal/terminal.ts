/** A program on a real pseudo-terminal, made by Python's own module: tests read what it shows and type what a person would. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { onTestFinished } from "vitest";

const DRIVER = fileURLToPath(new URL("./pseudo_terminal.py", import.meta.url));

export const KEYS = {
  enter: "\r",
  down: "\u001b[B",
  up: "\u001b[A",
  space: " ",
  interrupt: "\u0003",
  erase: "\u007f",
} as const;

export interface TerminalSession {
  /** Process id of the program itself. */
  readonly pid: Promise<number>;
  /** Resolves once what was shown after the last match matches; the text since then. Rejects when the program ends before. */
  until(wanted: RegExp | string): Promise<string>;
  type(keys: string): void;
  /** Everything shown so far, without control sequences. */
  shown(): string;
  /** The same with them. */
  written(): string;
  /** Exit code; 128 and its number for a signal. */
  readonly ended: Promise<number | null>;
}

/** Where the Python is that makes pseudo-terminals; null where there is none. */
function findPython(): string | null {
  try {
    const script = "import pty, sys, termios; print(sys.executable)";
    return execFileSync("python3", ["-c", script], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return null;
  }
}

/** Rows of every terminal. */
export const ROWS = 40;

export interface TerminalOptions {
  readonly columns?: number;
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Ends with the test. */
export function openTerminal(argv: readonly string[], { columns = 100, cwd, env }: TerminalOptions): TerminalSession {
  const child: ChildProcess = spawn(
    findPython() ?? "python3",
    [DRIVER, String(columns), String(ROWS), process.execPath, ...argv],
    {
      env: { TERM: "xterm-256color", ...env },
      stdio: ["pipe", "pipe", "inherit"],
      ...(cwd === undefined ? {} : { cwd }),
    },
  );
  // What is typed when it has ended is lost.
  child.stdin?.on("error", () => undefined);
  let raw = "";
  let seen = 0;
  const started = Promise.withResolvers<number>();
  const listeners = new Set<() => void>();
  let over = false;
  const shown = (): string => stripVTControlCharacters(raw).replaceAll("\r", "");
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    raw += text;
    const pid = /^pid (\d+)\n/.exec(raw)?.[1];
    if (pid !== undefined) started.resolve(Number(pid));
    for (const listener of listeners) listener();
  });
  const ended = once(child, "close").then(() => {
    over = true;
    for (const listener of listeners) listener();
    return child.exitCode;
  });
  onTestFinished(async () => {
    // The terminal goes away with its driver, and what runs on it is told so.
    const pid = await Promise.race([started.promise, ended.then(() => null)]);
    if (pid !== null && !over) process.kill(pid, "SIGKILL");
    await ended;
  });
  return {
    pid: started.promise,
    ended,
    shown,
    written: () => raw.replace(/^pid \d+\n/, ""),
    type: (keys) => void child.stdin?.write(keys),
    until: (wanted) =>
      new Promise((resolve, reject) => {
        const poll = (): void => {
          const text = shown().slice(seen);
          const at = typeof wanted === "string" ? text.indexOf(wanted) : text.search(wanted);
          if (at >= 0) {
            const length = typeof wanted === "string" ? wanted.length : (wanted.exec(text)?.[0].length ?? 0);
            seen += at + length;
            listeners.delete(poll);
            resolve(text);
          } else if (over) {
            listeners.delete(poll);
            reject(new Error(`It ended before it showed ${String(wanted)}:\n${text}`));
          }
        };
        listeners.add(poll);
        poll();
      }),
  };
}
