/** What passes between the reader of a script and the rules for single programs, and how those see options. */

import type { Variables } from "./state.ts";
import type { Stream } from "./streams.ts";

export interface Finding {
  /** `refuse`: known to be dangerous. `ask`: undecidable here; a person has to decide. */
  readonly action: "refuse" | "ask";
  readonly reason: string;
}

/** What is known about a shell while its script is read instead of run. */
export interface ShellState {
  readonly inspector: Inspector;
  readonly variables: Variables;
  /** Absolute; COMPUTED where it may be any. */
  directory: string;
  /** Where `cd -` leads. */
  previous: string;
  /** The function whose body is read. */
  readonly within: string | null;
  /** Whether it runs beside something else, in a pipeline or in the background. */
  readonly spawned: boolean;
}

/** One command with its words expanded. */
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
  /** Files that the script writes, as absolute paths; with their text where the script shows it, else null. */
  readonly written: Map<string, string | null>;
  refuse(reason: string): void;
  ask(reason: string): void;
  /** Does `work` when the rest of the script has been read: what a trap runs, it runs last. */
  later(work: () => void): void;
  /** What `work` finds counts only where it is known to be dangerous, not where it is undecidable. */
  certain(work: () => void): void;
  /** What `work` finds may never be run: where it is known to be dangerous, it is asked about. */
  doubtful(work: () => void): void;
  /** Reads `text` as a script, in a shell of its own; what it prints. Where a part of `text` is computed, it asks. */
  script(text: string, state: ShellState, input?: Stream): Stream;
  /** The same in this very shell. */
  evaluate(text: string, state: ShellState, input?: Stream): Stream;
  /** Reads one command given as its words; what it prints. */
  command(words: readonly string[], state: ShellState, input?: Stream): Stream;
}

/** Operands: what is no option. After `--` everything is one; options in `valued` take the next word with them. */
export function operandsOf(args: readonly string[], valued = ""): readonly string[] {
  const options = valued.split(" ");
  const operands: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") return [...operands, ...args.slice(at + 1)];
    if (takesNext(arg, options)) at += 1;
    else if (arg === "-" || !arg.startsWith("-")) operands.push(arg);
  }
  return operands;
}

/** Everything from the first operand on: options of a wrapped command are not the wrapper's. */
export function operandsFrom(args: readonly string[], valued = ""): readonly string[] {
  const options = valued.split(" ");
  let at = 0;
  while (at < args.length && args[at] !== "--" && /^-./s.test(args[at] ?? ""))
    at += takesNext(args[at] ?? "", options) ? 2 : 1;
  return args.slice(args[at] === "--" ? at + 1 : at);
}

function takesNext(arg: string, options: readonly string[]): boolean {
  return (
    options.includes(arg) ||
    endsInValued(arg, options) ||
    (!arg.includes("=") && options.some((option) => isLong(arg, option)))
  );
}

/** `-fo log`: the last of several letters takes the next word, and none before it took the rest of this one. */
function endsInValued(arg: string, options: readonly string[]): boolean {
  if (!/^-\w{2,}$/.test(arg)) return false;
  return [...arg.slice(1)].findIndex((letter) => options.includes(`-${letter}`)) === arg.length - 2;
}

/** `--name` or `--name=value`, also where the name is cut short, as GNU's programs take it. */
export function isLong(arg: string, name: string): boolean {
  const [given = ""] = arg.split("=", 1);
  return given.length > 2 && given.startsWith("--") && name.startsWith(given);
}

/** Whether a single-letter option is given, alone or among others (`-rf`), or a long one by its name. */
export function hasOption(args: readonly string[], letters: string, ...long: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end === -1 ? args : args.slice(0, end)).some((arg) => {
    if (arg.startsWith("--")) return long.some((name) => isLong(arg, name));
    return arg.startsWith("-") && [...letters].some((letter) => arg.slice(1).includes(letter));
  });
}

/** The values of `-o value`, `-ovalue` and `--option=value`. */
export function optionValues(args: readonly string[], ...names: readonly string[]): readonly string[] {
  return args.flatMap((arg, at) => {
    for (const name of names) {
      const inline = arg.indexOf("=");
      if (isLong(arg, name) && inline !== -1) return [arg.slice(inline + 1)];
      if (arg === name || isLong(arg, name) || (name.length === 2 && endsInValued(arg, [name])))
        return args.slice(at + 1, at + 2);
      if (name.length === 2 && arg.startsWith(name)) return [arg.slice(2)];
    }
    return [];
  });
}

/** The first of them; undefined when there is none. */
export function optionValue(args: readonly string[], ...names: readonly string[]): string | undefined {
  return optionValues(args, ...names)[0];
}

/** A table whose keys are names of programs, with blanks between them. */
export function byProgram<Entry>(table: Readonly<Record<string, Entry>>): ReadonlyMap<string, Entry> {
  return new Map(Object.entries(table).flatMap(([names, entry]) => names.split(" ").map((name) => [name, entry])));
}
