/** Scripts of sed: they may run commands (`1e date`, `s/x/date/e`) and read or write files (`r x`, `w x`). */

import { operandsOf, optionValues, type ShellState } from "./inspection.ts";
import { writeTo } from "./paths.ts";
import { checkReadPath } from "./reading.ts";

/** A substitution, an address, a text or a label up to its line's end, a command with its argument, or one character. */
const TOKEN =
  /([sy])([^\w\s\\])(?:\\.|(?!\2)[^\\])*\2(?:\\.|(?!\2)[^\\])*\2([a-zA-Z\d]*)([^;}\n]*)|\/(?:\\.|[^\\/])*\/|[aic#:][^\n]*|[btT][^;}\n]*|([erRwW])([^\n]*)|[\s\S]/gs;
/** A longer one takes long to be taken apart. */
const MAX_CHARS = 2_000;

/** The scripts that it is called with: the values of -e, else the first operand. */
export function checkSed(args: readonly string[], state: ShellState): void {
  const given = optionValues(
    args.map((arg) => arg.replace(/^-[nErsuz]+e/, "-e")),
    "-e",
    "--expression",
  );
  for (const script of given.length > 0 ? given : operandsOf(args, "-f -l").slice(0, 1)) {
    if (script.length > MAX_CHARS) state.inspector.ask("the script of sed is too long to be judged");
    else
      for (const [, substitutes, , flags = "", file = "", command = "", argument = ""] of script.matchAll(TOKEN)) {
        const does = command + (substitutes === "s" ? flags : "");
        const path = (command ? argument : file).trim();
        if (/[wW]/.test(does)) writeTo([path], state);
        if (/[rR]/.test(command)) checkReadPath(path, state);
        if (does.includes("e")) state.inspector.ask("sed runs commands");
      }
  }
}
