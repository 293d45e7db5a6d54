/** What is known about a shell while its script is read instead of run. */

import type { Inspector, ShellState } from "./inspection.ts";
import { COMPUTED, DIRECTORY, HOME, VALUE } from "./values.ts";

/** Variables and parameters that the shell itself sets to text of the command, or to what was read. */
const SET_BY_SHELL = /^(_|OLDPWD|REPLY|MAPFILE|COPROC|OPTARG|DIRSTACK|FUNCNAME|BASH(_.+)?)$/;
export const PATH = "/usr/local/bin:/usr/bin:/bin";
/** More possible values than this are not kept apart, and longer ones are not followed. */
const MAX_VALUES = 8;
const MAX_CHARS = 4_096;

/** The shell at its start: in `directory`, with the few variables that every command gets. */
export function initialState(directory: string, inspector: Inspector): ShellState {
  return {
    inspector,
    variables: new Map([
      [DIRECTORY, [directory]],
      ["HOME", [HOME]],
      ["IFS", [" \t\n"]],
      ["TMPDIR", ["/tmp"]],
      ["SHELL", ["/bin/bash"]],
      ["PATH", [PATH]],
      ["USER", [VALUE]],
      ["LANG", ["C.UTF-8"]],
      ["TERM", ["dumb"]],
    ]),
    positional: [],
    unset: null,
    sourced: false,
  };
}

/** The shell may also be as `other` is. */
export function mergeInto(state: ShellState, other: ShellState): void {
  for (const name of new Set([...state.variables.keys(), ...other.variables.keys()])) {
    const [mine = [""], theirs = [""]] = [state.variables.get(name), other.variables.get(name)];
    if (mine !== theirs) assign(state, name, [...theirs, ...mine]);
  }
  state.sourced ||= other.sourced;
  if (state.positional.join("\0") !== other.positional.join("\0"))
    state.positional = [...state.positional, ...other.positional].map(() => COMPUTED);
}

/** Sets a variable to values of which it has one; an element of an array makes it computed. */
export function assign(state: ShellState, name: string, values: readonly string[]): void {
  const [base = ""] = name.split("[");
  const distinct = base === name ? [...new Set(values)] : [COMPUTED];
  const isFollowed = distinct.length <= MAX_VALUES && distinct.every(({ length }) => length <= MAX_CHARS);
  state.variables.set(base, isFollowed ? distinct : [COMPUTED]);
}

/**
 * The value of a variable. One that nothing set is empty or the owner's: commands get no other variables than those of
 * the initial state and the owner's, and deleting `"$DIR/"` with an empty DIR is a classic.
 */
export function variableOf(state: ShellState, name: string): string {
  const assigned = state.variables.get(name);
  if (assigned) return assigned.length === 1 ? (assigned[0] ?? "") : COMPUTED;
  if (name === "PWD") return directoryOf(state);
  if (name === "0") return "bash";
  if (/^[1-9]\d*$/.test(name)) return state.positional[Number(name) - 1] ?? "";
  if (name === "@" || name === "*") return state.positional.join(" ");
  if (!/^[A-Za-z_]\w*$/.test(name)) return VALUE;
  return isUnset(state, name) ? (state.unset ?? VALUE) : COMPUTED;
}

export function isUnset(state: ShellState, name: string): boolean {
  return !state.variables.has(name) && name !== "PWD" && !state.sourced && !SET_BY_SHELL.test(name);
}

/** Absolute; COMPUTED where it may be any. */
export function directoryOf(state: ShellState): string {
  return variableOf(state, DIRECTORY);
}
