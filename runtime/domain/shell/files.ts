/** Paths as the shell sees them, and what it would read there. */

import { posix } from "node:path";
import { HOME, PROCESS, type ShellState, UNKNOWN } from "./state.ts";
import type { Stream } from "./stream.ts";

/** Absolute and normalised, by the first directory in which the shell may be. */
export function absolutePath(path: string, state: ShellState): string {
  return posix.isAbsolute(path) ? posix.normalize(path) : posix.join(state.directories[0] ?? UNKNOWN, path);
}

/** What is read from this path: a process substitution, a file of the script's own making, or one that was there. */
export function readingOf(path: string, state: ShellState): Stream {
  if (path.startsWith(PROCESS)) return { kind: "text", texts: [path.slice(PROCESS.length)] };
  return state.files.get(absolutePath(path, state)) ?? { kind: "file" };
}

/** Whether the path is the standard input under another name. */
export function isStandardInput(path: string): boolean {
  return path === "-" || /^\/dev\/(stdin|fd\/0)$|^\/proc\/(self|\$\$)\/fd\/0$/.test(path);
}

/** A path as a person reads it. */
export function readable(path: string): string {
  return path.replaceAll(HOME, "~").replaceAll(UNKNOWN, "...").replaceAll(PROCESS, "");
}
