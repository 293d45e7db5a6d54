/** What is found out about a script before it is judged, and the variables that follow from it. */

import type { SyntaxNode } from "unbash";
import { COMPUTED, HOME, VALUE } from "./values.ts";

/** What is found out about the whole script by reading it, and is needed at its beginning. It only grows. */
export interface Facts {
  /** By the name of a variable, what sets it; `@` are the positional parameters, `*` is any variable. */
  readonly setters: Map<string, Set<unknown>>;
  /** Variables that are set to something else than numbers. */
  readonly texts: Set<string>;
  readonly functions: Map<string, SyntaxNode>;
  /** By the name of a function, those that it calls. */
  readonly calls: Map<string, Set<string>>;
  /** Files that it writes, as absolute paths; with their text where it shows that, else null. */
  readonly written: Map<string, string | null>;
  /** Loops and functions that end in another directory than they began in. */
  readonly moving: Set<SyntaxNode>;
  /** By the body of a function, the directories in which it is called. */
  readonly starts: Map<SyntaxNode, Set<string>>;
  /** Functions that run their arguments as a command. */
  readonly wrappers: Set<string>;
}

export function noFacts(): Facts {
  return {
    setters: new Map(),
    texts: new Set(),
    functions: new Map(),
    calls: new Map(),
    written: new Map(),
    moving: new Set(),
    starts: new Map(),
    wrappers: new Set(),
  };
}

/** A number that is another one when something more was found out. */
export function extentOf({ setters, texts, functions, calls, written, moving, starts, wrappers }: Facts): number {
  const within = [setters, calls, starts].flatMap((sets) => [...sets.values()].map(({ size }) => size));
  const unknown = [...written.values()].filter((text) => text === null).length;
  const sizes = [texts, functions, written, moving, wrappers].map(({ size }) => size);
  return [...within, ...sizes, unknown].reduce((sum, size) => sum + size, 0);
}

/** Variables and parameters that the shell itself sets to text of the command, or to what was read. */
const SET_BY_SHELL = /^(_|OLDPWD|REPLY|MAPFILE|COPROC|OPTARG|DIRSTACK|FUNCNAME|BASH(_.+)?)$/;
/** The few variables that every command gets, beside those that are the owner's. */
const GIVEN: Readonly<Record<string, string>> = { HOME, IFS: " \t\n", TMPDIR: "/tmp", SHELL: "/bin/bash", USER: VALUE };
/** Longer values are not followed. */
const MAX_CHARS = 4_096;

interface Position {
  readonly directory: string;
  readonly within: string | null;
}

/**
 * Variables as far as the script says plainly what they are: what it sets once, from there to the end of the block (a
 * branch, a loop, a function, a shell of its own) in which it does so, and what it does not set at all.
 */
export interface Variables {
  textOf(name: string, state: Position): string;
  /** Whether nothing sets it: it is the owner's, or empty. */
  isUnset(name: string): boolean;
  /** `by` tells one way of setting it from another. */
  set(name: string, value: string, by: unknown): void;
  /** Does `work` as a block; what is set in the blocks around a function is not known when it runs. */
  block<Result>(work: () => Result, isFunction?: boolean): Result;
  /** Whether what is read runs exactly once, in the order in which it is written. */
  readonly isOutermost: boolean;
  /** Whether git or npm may be given another project. */
  readonly namesProject: boolean;
  /** Whether the value of a variable was asked for that nothing sets. */
  readonly usesUnset: boolean;
}

/** `unset` is what a variable holds that nothing sets. */
export function createVariables({ setters, texts }: Facts, unset: "" | typeof VALUE): Variables {
  const values = new Map<string, { readonly text: string; readonly depth: number }>();
  /** The names that the blocks around set, each with its own. */
  const blocks: string[][] = [];
  let hidden = 0;
  let usesUnset = false;

  const isUnset = (name: string) =>
    !(setters.has(name) || setters.has("*") || Object.hasOwn(GIVEN, name) || name === "PWD" || SET_BY_SHELL.test(name));

  function textOf(name: string, state: Position): string {
    if (/^([\d@*]|\d+)$/.test(name)) {
      if (setters.has("@") || (state.within !== null && name !== "0")) return COMPUTED;
      return name === "0" ? "bash" : "";
    }
    if (!/^[A-Za-z_]\w*$/.test(name)) return VALUE;
    const by = setters.get(name);
    if (by) {
      const value = values.get(name);
      const isVisible = value && (value.depth === 0 || value.depth > hidden) && !Object.hasOwn(GIVEN, name);
      if (!isVisible) return COMPUTED;
      // A counter hides nothing, whatever its number is.
      return isPlain([...by]) ? value.text : texts.has(name) ? COMPUTED : VALUE;
    }
    if (name === "PWD") return state.directory;
    if (!isUnset(name)) return GIVEN[name] ?? COMPUTED;
    usesUnset = true;
    return unset;
  }

  function set(name: string, value: string, by: unknown): void {
    const [base = ""] = name.split("[");
    setters.set(base, (setters.get(base) ?? new Set()).add(by));
    const text = base === name && value.length <= MAX_CHARS ? value : COMPUTED;
    if (!/^[\d\ue003]*$/.test(text)) texts.add(base);
    values.set(base, { text, depth: blocks.length });
    blocks.at(-1)?.push(base);
  }

  function block<Result>(work: () => Result, isFunction = false): Result {
    const outer = hidden;
    if (isFunction) hidden = blocks.length;
    blocks.push([]);
    try {
      return work();
    } finally {
      for (const name of blocks.pop() ?? []) values.delete(name);
      hidden = outer;
    }
  }

  return {
    textOf,
    isUnset,
    set,
    block,
    get isOutermost() {
      return blocks.length === 0;
    },
    get namesProject() {
      return [...setters.keys()].some((name) => /^(GIT_|npm_config_|\*)/i.test(name));
    },
    get usesUnset() {
      return usesUnset;
    },
  };
}

/** One assignment; or loops one after another, each of which gives the variable its own words. */
function isPlain(setters: readonly unknown[]): boolean {
  return setters.length === 1 || setters.every((by) => typeof by === "object" && by !== null && "wordlist" in by);
}
