/** Scripts of sed: they may run commands (`1e date`, `s/x/date/e`) and read or write files (`r x`, `w x`). */

import { type Inspector, operandsOf } from "./inspection.ts";
import { checkPaths, writeReason } from "./paths.ts";
import { checkReadPath } from "./reading.ts";
import type { ShellState } from "./state.ts";

/** A substitution, an address, a text or a label up to its line's end, a command with its argument, or one character. */
const TOKEN =
  /([sy])([^\w\s\\])(?:\\.|(?!\2)[^\\])*\2(?:\\.|(?!\2)[^\\])*\2([a-zA-Z\d]*)([^;}\n]*)|\/(?:\\.|[^\\/])*\/|[aic#:][^\n]*|[btT][^;}\n]*|([erRwW])([^\n]*)|[\s\S]/gs;

/** A longer one takes long to be taken apart. */
const MAX_CHARS = 2_000;

export function checkSed(script: string, state: ShellState, inspector: Inspector): void {
  const tokens = script.length > MAX_CHARS ? [] : script.matchAll(TOKEN);
  if (script.length > MAX_CHARS) inspector.ask("the script of sed is too long to be judged");
  for (const [, substitutes, , flags = "", file = "", command = "", argument = ""] of tokens) {
    const does = command + (substitutes === "s" ? flags : "");
    const path = (command ? argument : file).trim();
    if (/[wW]/.test(does)) checkPaths([path], state, inspector, writeReason);
    if (/[rR]/.test(command)) checkReadPath(path, state, inspector);
    if (does.includes("e")) inspector.ask("sed runs commands");
  }
}

/** The scripts that sed is called with: the values of -e, else the first operand. */
export function sedScripts(args: readonly string[]): readonly string[] {
  const given = args.flatMap((arg, at) => {
    const [, inline] = /^(?:-[nErsuz]*e|--expression=?)(.*)$/s.exec(arg) ?? [];
    return inline === undefined ? [] : [inline === "" ? (args[at + 1] ?? "") : inline];
  });
  return given.length > 0 ? given : operandsOf(args, "-f -l").slice(0, 1);
}
