/**
 * What is known about a shell while its script is read instead of run: values that variables may have, functions, the
 * directories in which it may be.
 */

import type { SyntaxNode } from "unbash";
import type { Stream } from "./streams.ts";
import { bounded, COMPUTED, HOME, VALUE } from "./values.ts";

/** Variables and parameters that the shell itself sets to text of the command, or to what was read. */
const SET_BY_SHELL = /^(_|OLDPWD|REPLY|MAPFILE|COPROC|OPTARG|DIRSTACK|FUNCNAME|BASH(_.+)?)$/;

export interface ShellState {
  /** Possible values; an array's are its elements in one text. */
  readonly variables: Map<string, readonly string[]>;
  readonly functions: Map<string, SyntaxNode>;
  /** Names of functions that may not be there: the program of that name may be run instead. */
  readonly shadowed: Set<string>;
  /** What the script itself wrote to files, by absolute path; shared by all of its shells. */
  readonly files: Map<string, Stream>;
  positional: readonly string[];
  /** Directories in which the shell may be now, absolute; COMPUTED where it may be any. */
  directories: readonly string[];
  /** True once another file was sourced, or a variable set whose name is not known: any may have any value. */
  sourced: boolean;
  /** In a function: its own variables, with the values that they have outside of it. */
  readonly locals?: Map<string, readonly string[] | undefined>;
}

/** The shell at its start: in `directory`, with the few variables that every command gets. */
export function initialState(directory: string): ShellState {
  return {
    variables: new Map([
      ["HOME", [HOME]],
      ["IFS", [" \t\n"]],
      ["TMPDIR", ["/tmp"]],
      ["SHELL", ["/bin/bash"]],
      ["PATH", ["/usr/local/bin:/usr/bin:/bin"]],
      ["USER", [VALUE]],
      ["LANG", ["C.UTF-8"]],
      ["TERM", ["dumb"]],
    ]),
    functions: new Map(),
    shadowed: new Set(),
    files: new Map(),
    positional: [],
    directories: [directory],
    sourced: false,
  };
}

/** A shell of its own that starts as a copy: a subshell, a substitution. */
export function fork(state: ShellState): ShellState {
  return { ...state, variables: new Map(state.variables), functions: new Map(state.functions) };
}

/** The shell may also be as `other` is. */
export function mergeInto(state: ShellState, other: ShellState): void {
  state.directories = bounded([...state.directories, ...other.directories]);
  for (const [name, values] of state.variables) {
    const before = other.variables.get(name) ?? [""];
    if (before !== values) state.variables.set(name, bounded([...before, ...values]));
  }
  for (const [name, values] of other.variables)
    if (!state.variables.has(name)) state.variables.set(name, bounded(["", ...values]));
  for (const name of state.functions.keys()) if (!other.functions.has(name)) state.shadowed.add(name);
}

export function assign(state: ShellState, name: string, values: readonly string[]): void {
  const [base = ""] = name.split("[");
  const before = base === name ? [] : (state.variables.get(base) ?? [""]);
  state.variables.set(base, bounded([...before, ...values]));
}

/**
 * Values that a variable may have. One that was not set is empty or the owner's: commands get no other variables than
 * those of the initial state and the owner's, and deleting `"$DIR/"` with an empty DIR is a classic.
 */
export function valuesOf(state: ShellState, name: string): readonly string[] {
  const assigned = state.variables.get(name);
  if (assigned) return assigned;
  if (name === "PWD") return state.directories;
  if (name === "0") return ["bash"];
  if (/^[1-9]\d*$/.test(name)) return [state.positional[Number(name) - 1] ?? ""];
  if (name === "@" || name === "*") return [state.positional.join(" ")];
  if (!/^[A-Za-z_]\w*$/.test(name)) return [VALUE];
  return state.sourced || SET_BY_SHELL.test(name) ? [COMPUTED] : ["", VALUE];
}
