/**
 * What is known about a shell while its script is read instead of run: values that variables may have, functions, the
 * directories in which it may be. Values hold marks where only a run could show them.
 */

import type { SyntaxNode } from "unbash";
import type { Stream } from "./stream.ts";

/** Mark of text that is unknown until it runs. */
export const UNKNOWN = "\u{e000}";
/** Begins the value of a process substitution; the text that it yields follows, as far as it is known. */
export const PROCESS = "\u{e001}";
/** The home directory, wherever it is. */
export const HOME = "/\u{e002}";

/** More possible values than this are not kept apart. */
export const MAX_ALTERNATIVES = 16;
const MAX_CHARS = 20_000;
/** A longer path names nothing: every program fails on it. */
export const MAX_PATH_CHARS = 4_096;

export interface ShellState {
  readonly variables: Map<string, readonly string[]>;
  readonly arrays: Map<string, readonly string[]>;
  readonly functions: Map<string, SyntaxNode>;
  /** What the script itself wrote to files, by absolute path; shared by all of its shells. */
  readonly files: Map<string, Stream>;
  /** `$1` and following; null where the caller is not known. */
  positional: readonly string[] | null;
  /** Directories in which the shell may be now, absolute; UNKNOWN among them where it is not known. */
  directories: readonly string[];
  /** Above zero inside a branch or loop: what is assigned there may also not be. */
  conditional: number;
  /** True once another file was sourced: a variable that is not known may be set all the same. */
  sourced: boolean;
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
      ["USER", [UNKNOWN]],
      ["LANG", ["C.UTF-8"]],
      ["TERM", ["dumb"]],
    ]),
    arrays: new Map(),
    functions: new Map(),
    files: new Map(),
    positional: [],
    directories: [directory],
    conditional: 0,
    sourced: false,
  };
}

/** A shell of its own that starts as a copy: a subshell, a substitution. */
export function fork(state: ShellState): ShellState {
  return {
    ...state,
    variables: new Map(state.variables),
    arrays: new Map(state.arrays),
    functions: new Map(state.functions),
  };
}

export function assign(state: ShellState, name: string, values: readonly string[]): void {
  const before = state.conditional > 0 ? (state.variables.get(name) ?? [""]) : [];
  state.variables.set(name, bounded([...before, ...values]));
}

export function changeDirectory(state: ShellState, directories: readonly string[]): void {
  state.directories = bounded(state.conditional > 0 ? [...state.directories, ...directories] : directories);
}

/**
 * Values that a variable may have. One that was not set is empty: commands get no other variables than those of the
 * initial state and the owner's, and deleting `"$DIR/"` with an empty DIR is a classic.
 */
export function valuesOf(state: ShellState, name: string): readonly string[] {
  const assigned = state.variables.get(name);
  if (assigned) return assigned;
  if (name === "PWD") return state.directories;
  if (name === "0") return ["bash"];
  if (/^[1-9]\d*$/.test(name)) return state.positional ? [state.positional[Number(name) - 1] ?? ""] : [UNKNOWN];
  if (name === "@" || name === "*") return state.positional ? [state.positional.join(" ")] : [UNKNOWN];
  if (!/^[A-Za-z_]\w*$/.test(name) || state.sourced) return [UNKNOWN];
  return ["", UNKNOWN];
}

/** Without repetitions; too many, and texts that are too long to be followed, become unknown. */
export function bounded(values: readonly string[]): readonly string[] {
  const distinct = [...new Set(values.map((value) => (value.length > MAX_CHARS ? UNKNOWN : value)))];
  return distinct.length <= MAX_ALTERNATIVES ? distinct : [UNKNOWN];
}
