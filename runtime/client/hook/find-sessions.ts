/** Where the sessions of a harness lie on this machine. */

import { readdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Harness } from "../../domain/harnesses/event.ts";
import { harnessPaths } from "../../domain/harnesses/paths.ts";

export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home directory of the user. */
  readonly userHome: string;
}

/** Deeper than any of the harnesses goes. */
const MAX_DEPTH = 6;

/** Every session file of the harness, by path: for dated directories that is by age. Links are not followed. */
export async function sessionFiles(harness: "claude-code" | "codex", machine: Machine): Promise<string[]> {
  const { sessions } = harnessPaths(harness, machine.env, machine.userHome);
  const pattern = harness === "codex" ? /^rollout-.*\.jsonl$/ : /\.jsonl$/;
  const found: string[] = [];
  for (const root of sessions) await walk(root, pattern, MAX_DEPTH, found);
  return found.sort();
}

/** The file of a session of Codex, which names it by its id; undefined when there is none. */
export async function codexSessionFile(id: string, machine: Machine): Promise<string | undefined> {
  if (!/^[\w-]{8,100}$/.test(id)) return undefined;
  return (await sessionFiles("codex", machine)).findLast((path) => path.endsWith(`-${id}.jsonl`));
}

/** OpenCode's databases: the one that its variable names, else those in its data directory. */
export async function openCodeDatabases(machine: Machine): Promise<string[]> {
  const { sessions } = harnessPaths("opencode", machine.env, machine.userHome);
  const [root = ""] = sessions;
  const named = machine.env["OPENCODE_DB"];
  if (named && named !== ":memory:") return [isAbsolute(named) ? named : join(root, named)];
  const names = await readdir(root).catch(() => []);
  return names
    .filter((name) => /^opencode[\w.-]*\.db$/.test(name))
    .sort()
    .map((name) => join(root, name));
}

/** The places that were searched, for a message when nothing was found. */
export function sessionPlaces(harness: Harness, machine: Machine): readonly string[] {
  return harnessPaths(harness, machine.env, machine.userHome).sessions;
}

async function walk(directory: string, pattern: RegExp, depth: number, found: string[]): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && depth > 0) await walk(path, pattern, depth - 1, found);
    else if (entry.isFile() && pattern.test(entry.name)) found.push(path);
  }
}
