/** Which program a command's first word names. */

import { posix } from "node:path";
import { isWithin } from "../workspace-path.ts";
import { isGlob, matchesGlob } from "./glob.ts";
import { absolutePath } from "./paths.ts";
import type { ShellState } from "./state.ts";
import { COMPUTED, HOME, isMarked, MAX_PATH_CHARS, PROCESS } from "./values.ts";

export type CalledProgram =
  | { readonly kind: "known"; readonly name: string }
  /** A file of the workspace or of the private /tmp. */
  | { readonly kind: "own"; readonly path: string }
  | { readonly kind: "unknown" };

/** A glob in a program's name is there to hide it: these are what it may mean. */
const GUESSED =
  "rm dd sh bash dash zsh mkfs shutdown reboot halt poweroff sudo su chmod chown curl wget nc ncat eval python python3 perl node ruby find xargs base64 cat shred kill".split(
    " ",
  );

export function calledProgram(word: string, state: ShellState, workspace: string): CalledProgram {
  const base = posix.basename(word);
  if (word.startsWith(PROCESS) || word.includes(COMPUTED) || isMarked(base) || base === "") return { kind: "unknown" };
  if (base.length > MAX_PATH_CHARS) return { kind: "unknown" };
  if (isGlob(base)) {
    const guess = GUESSED.find((name) => matchesGlob(base, name));
    return guess === undefined ? { kind: "unknown" } : { kind: "known", name: guess };
  }
  if (word.includes("/")) {
    const path = absolutePath(word, state);
    const own = isWithin(workspace, path) || isWithin("/tmp", path) || isWithin(HOME, path);
    if (own && !isMarked(path)) return { kind: "own", path };
  }
  return { kind: "known", name: base.toLowerCase() };
}
