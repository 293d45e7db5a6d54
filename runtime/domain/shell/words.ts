/** Which program a command's first word names. */

import { posix } from "node:path";
import { isWithin } from "../workspace-path.ts";
import { absolutePath } from "./files.ts";
import { HOME, PROCESS, type ShellState, UNKNOWN } from "./state.ts";

export type CalledProgram =
  | { readonly kind: "known"; readonly name: string }
  /** A file of the workspace or of the private /tmp. */
  | { readonly kind: "own"; readonly path: string }
  | { readonly kind: "unknown" };

/** A glob in a program's name is there to hide it: these are what it may stand for. */
const GUESSED =
  "rm dd sh bash dash zsh mkfs shutdown reboot halt poweroff sudo su chmod chown curl wget nc ncat eval python python3 perl node ruby find xargs base64 cat shred kill".split(
    " ",
  );

export function calledProgram(word: string, state: ShellState, workspace: string): CalledProgram {
  if (word.startsWith(PROCESS)) return { kind: "unknown" };
  const base = posix.basename(word);
  if (base.includes(UNKNOWN) || base === "") return { kind: "unknown" };
  if (/[*?]|\[.+\]/.test(base)) {
    const pattern = new RegExp(`^${base.replace(/\[[^\]]*\]|\?|\*|[.+^${}()|\\[\]]/g, asPattern)}$`);
    const guess = GUESSED.find((name) => pattern.test(name));
    return guess === undefined ? { kind: "unknown" } : { kind: "known", name: guess };
  }
  if (word.includes("/")) {
    const path = absolutePath(word, state);
    const own = isWithin(workspace, path) || isWithin("/tmp", path) || isWithin(HOME, path);
    if (own && !path.includes(UNKNOWN)) return { kind: "own", path };
  }
  return { kind: "known", name: base.toLowerCase() };
}

function asPattern(token: string): string {
  if (token === "*") return ".*";
  if (token === "?") return ".";
  return token.startsWith("[") && token.length > 1 ? "." : `\\${token}`;
}
