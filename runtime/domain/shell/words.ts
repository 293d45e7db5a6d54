/** Which program a command's first word names. */

import { posix } from "node:path";
import { isWithin } from "../workspace-path.ts";
import { isGlob } from "./glob.ts";
import { absolutePath } from "./paths.ts";
import type { ShellState } from "./state.ts";
import { COMPUTED, HOME, isMarked, MAX_PATH_CHARS, PROCESS } from "./values.ts";

export type CalledProgram =
  | { readonly kind: "known"; readonly name: string }
  /** A file of the workspace or of the private /tmp. */
  | { readonly kind: "own"; readonly path: string }
  | { readonly kind: "unknown" };

export function calledProgram(word: string, state: ShellState, workspace: string): CalledProgram {
  const base = posix.basename(word);
  if (word.startsWith(PROCESS) || word.includes(COMPUTED) || isMarked(base) || isGlob(base) || base === "")
    return { kind: "unknown" };
  if (base.length > MAX_PATH_CHARS) return { kind: "unknown" };
  if (word.includes("/")) {
    const path = absolutePath(word, state);
    const own = isWithin(workspace, path) || isWithin("/tmp", path) || isWithin(HOME, path);
    if (own && !isMarked(path)) return { kind: "own", path };
  }
  return { kind: "known", name: base.toLowerCase() };
}
