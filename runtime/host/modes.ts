/**
 * Modes of the service's own files, set right before they are used. In a container an agent's command has the service's user,
 * and what Landlock keeps it from opening it can still lock or open to others by `chmod`: that must not keep the node from starting.
 */

import { chmod, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { HomePaths } from "./home.ts";

export interface RepairedMode {
  readonly path: string;
  /** Octal, such as "0755". */
  readonly from: string;
  readonly to: string;
}

interface Expectation {
  readonly path: string;
  /** What the service's user must be allowed. */
  readonly needs: number;
  /** What other users must not have: where they have it, the mode becomes `needs` and nothing more. */
  readonly forbids?: number;
}

const DIRECTORY = 0o700;
const FILE = 0o600;
const SEARCH = 0o100;
const PERMISSIONS = 0o7777;
/** A container's image gives the home to a group, so that it runs with any user of that group. */
const OTHERS = 0o007;
const GROUP_AND_OTHERS = 0o077;

/** Changes what belongs to the service's user, and returns what it changed. What cannot be changed is reported by the start. */
export async function repairModes(paths: HomePaths, workspaces: readonly string[]): Promise<RepairedMode[]> {
  const { home, store, logs, audit, attachments, workspacesOfOthers, configuration, nodeFile, lockFile } = paths;
  const expected: Expectation[] = [
    ...above(home),
    { path: home, needs: DIRECTORY, forbids: OTHERS },
    ...[dirname(lockFile), store, logs, audit, attachments, workspacesOfOthers].map((path) => ({
      path,
      needs: DIRECTORY,
    })),
    ...[paths.nodeKey, paths.certificateKeys].map((path) => ({ path, needs: FILE, forbids: GROUP_AND_OTHERS })),
    ...[configuration, nodeFile, lockFile].map((path) => ({ path, needs: FILE })),
    ...workspaces.flatMap((path) => [...above(path), { path, needs: DIRECTORY }]),
  ];
  const repaired: RepairedMode[] = [];
  // One after the other: below a directory nothing is seen before it is set right.
  for (const one of expected) {
    const change = await repair(one);
    if (change !== null) repaired.push(change);
  }
  return repaired;
}

async function repair({ path, needs, forbids = 0 }: Expectation): Promise<RepairedMode | null> {
  const found = await stat(path).catch(() => null);
  if (found === null || found.uid !== process.getuid?.()) return null;
  const mode = found.mode & PERMISSIONS;
  const exposed = (mode & forbids) !== 0;
  if (!exposed && (mode & needs) === needs) return null;
  const to = exposed ? needs : mode | needs;
  const octal = (bits: number) => `0${bits.toString(8).padStart(3, "0")}`;
  return await chmod(path, to).then(
    () => ({ path, from: octal(mode), to: octal(to) }),
    () => null,
  );
}

/** The directories that lead to the path, from the root: each must be searched to get there. */
function above(path: string): Expectation[] {
  const parent = dirname(path);
  return parent === path ? [] : [...above(parent), { path: parent, needs: SEARCH }];
}
