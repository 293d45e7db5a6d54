/**
 * Walls for commands in a container, where bubblewrap cannot make any: Landlock, a restriction that a process puts on itself
 * and its children, by util-linux's setpriv (2.40 or newer). The command reaches the system's programs, its workspace and
 * /tmp; the service's secrets, store and memory (it may not inspect other processes either) are out of its reach.
 */

import { realpath, stat } from "node:fs/promises";
import { isWithin } from "../../../domain/workspace-path.ts";
import { succeeds } from "./probe.ts";

export interface OpenPath {
  /** Absolute, resolved, there. */
  readonly path: string;
  readonly kind: "file" | "directory";
  readonly writable: boolean;
}

const READ_FILE = "read-file,execute";
const READ_DIRECTORY = "read-file,execute,read-dir";
/** Everything that can be done with a file; the other rights are about directories and are refused for files. */
const WRITE_FILE = "read-file,execute,write-file,truncate";
/** What programs expect to be there; written to, but for the last ones. */
export const DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/** Options of setpriv that let a command reach the paths and nothing else. Pure. */
export function landlockOptions(paths: readonly OpenPath[]): string[] {
  const rules = paths.map(({ path, kind, writable }) => {
    // No list means every right that there is.
    const rights = kind === "file" ? (writable ? WRITE_FILE : READ_FILE) : writable ? "" : READ_DIRECTORY;
    return `path-beneath:${rights}:${path}`;
  });
  return ["--landlock-access", "fs", ...rules.flatMap((rule) => ["--landlock-rule", rule])];
}

/** Whether something that must stay out of reach lies inside the path: these walls cannot leave a part of it out. */
export function wouldShow({ path }: OpenPath, protectedPaths: readonly string[]): boolean {
  return protectedPaths.some((secret) => isWithin(path, secret));
}

/** The paths that exist, resolved, each once. */
export async function openPaths(
  wanted: readonly { readonly path: string; readonly writable: boolean }[],
): Promise<OpenPath[]> {
  const found = await Promise.all(
    wanted.map(async ({ path, writable }): Promise<OpenPath | null> => {
      const resolved = await realpath(path).catch(() => null);
      const stats = resolved === null ? null : await stat(resolved).catch(() => null);
      if (resolved === null || stats === null) return null;
      return { path: resolved, kind: stats.isDirectory() ? "directory" : "file", writable };
    }),
  );
  const unique = new Map<string, OpenPath>();
  for (const one of found) {
    if (one !== null && (one.writable || !unique.has(one.path))) unique.set(one.path, one);
  }
  return [...unique.values()];
}

/** Tried, not guessed: an old setpriv, a kernel without Landlock and an engine that forbids it cannot be distinguished. */
export async function landlockWorks(setpriv: string): Promise<boolean> {
  const system = await openPaths(["/usr", "/bin", "/lib", "/lib64"].map((path) => ({ path, writable: false })));
  const test = ["/bin/sh", "-c", "test -r /usr && ! cat /etc/passwd"];
  return await succeeds(setpriv, ["--no-new-privs", ...landlockOptions(system), "--", ...test]);
}
