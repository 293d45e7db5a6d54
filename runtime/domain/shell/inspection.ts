/** What passes between the reader of a script and the rules for single programs. */

import type { ShellState } from "./state.ts";
import type { Stream } from "./streams.ts";

export interface Finding {
  /** `refuse`: known to be dangerous. `ask`: undecidable here; a person has to decide. */
  readonly action: "refuse" | "ask";
  readonly reason: string;
}

/** One command with its words expanded, in one of its possible forms. */
export interface Invocation {
  /** Base name in lower case. */
  readonly program: string;
  readonly args: readonly string[];
  readonly input: Stream;
  readonly state: ShellState;
}

/** What the reader offers to a rule. */
export interface Inspector {
  readonly workspace: string;
  refuse(reason: string): void;
  ask(reason: string): void;
  /** Does `work` when the rest of the script has been read: what a trap runs, it runs last. */
  later(work: () => void): void;
  /** What `work` finds counts only where it is known to be dangerous, not where it is undecidable. */
  certain(work: () => void): void;
  /** What `work` finds may never be run: where it is known to be dangerous, it is asked about. */
  doubtful(work: () => void): void;
  /** Reads `text` as a script, in a shell of its own that starts as `state`; what it prints. Where `text` is computed, it asks. */
  script(text: string, state: ShellState, input?: Stream): Stream;
  /** The same in this very shell: it keeps what the text changes. */
  evaluate(text: string, state: ShellState, input?: Stream): Stream;
  /** Reads one command given as its words; what it prints. */
  command(words: readonly string[], state: ShellState, input?: Stream): Stream;
}

/** Operands: what is no option. After `--` everything is one; options in `valued` take the next word with them. */
export function operandsOf(args: readonly string[], valued?: string): readonly string[] {
  const options = valued?.split(" ");
  const operands: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") return [...operands, ...args.slice(at + 1)];
    if (options && (options.includes(arg) || endsInValued(arg, options))) at += 1;
    else if (arg === "-" || !arg.startsWith("-")) operands.push(arg);
  }
  return operands;
}

/** Everything from the first operand on: options of a wrapped command are not the wrapper's. */
export function operandsFrom(args: readonly string[], valued = ""): readonly string[] {
  const options = valued.split(" ");
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") return args.slice(at + 1);
    if (options.includes(arg) || endsInValued(arg, options)) at += 1;
    else if (!arg.startsWith("-") || arg === "-") return args.slice(at);
  }
  return [];
}

/** `-fo log`: the last of several letters takes the next word, and none before it took the rest of this one. */
function endsInValued(arg: string, options: readonly string[]): boolean {
  if (!/^-\w{2,}$/.test(arg)) return false;
  return [...arg.slice(1)].findIndex((letter) => options.includes(`-${letter}`)) === arg.length - 2;
}

/** Whether a single-letter option is given, alone or among others (`-rf`), or a long one by its name. */
export function hasOption(args: readonly string[], letters: string, ...long: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end === -1 ? args : args.slice(0, end)).some((arg) => {
    if (arg.startsWith("--")) return long.some((name) => arg === name || arg.startsWith(`${name}=`));
    return arg.startsWith("-") && [...letters].some((letter) => arg.slice(1).includes(letter));
  });
}

/** The value of `-o value`, `-ovalue` or `--option=value`; undefined when it is not there. */
export function optionValue(args: readonly string[], ...names: readonly string[]): string | undefined {
  for (const [at, arg] of args.entries()) {
    for (const name of names) {
      if (arg === name || (name.length === 2 && endsInValued(arg, [name]))) return args[at + 1];
      if (name.startsWith("--") && arg.startsWith(`${name}=`)) return arg.slice(name.length + 1);
      if (!name.startsWith("--") && name.length === 2 && arg.startsWith(name)) return arg.slice(2);
    }
  }
  return undefined;
}

/** A table whose keys are names of programs, with blanks between them. */
export function byProgram<Entry>(table: Readonly<Record<string, Entry>>): ReadonlyMap<string, Entry> {
  return new Map(Object.entries(table).flatMap(([names, entry]) => names.split(" ").map((name) => [name, entry])));
}
