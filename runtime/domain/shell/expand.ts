/**
 * What a word of a script may become when the shell expands it: braces, tilde, constant variables, substitutions whose
 * output is known, quotes and splitting. All else becomes a mark. Globs stay as they are written.
 */

import {
  forEachChild,
  type ParameterExpansionPart,
  type ParsedScript,
  type SyntaxNode,
  type Word,
  type WordPart,
} from "unbash";
import { expandBraces } from "./braces.ts";
import { matchesGlob } from "./glob.ts";
import { assign, type ShellState, valuesOf } from "./state.ts";
import type { Stream } from "./streams.ts";
import { bounded, COMPUTED, choicesOf, isMarked, PROCESS, VALUE } from "./values.ts";
import { COMMAND_IN_INDEX, HIDDEN_IN_INDEX } from "./variables.ts";

/** One possible outcome: the fields (arguments) that the word becomes, none included. */
export type Fields = readonly string[];

export interface Expander {
  /** Every possible outcome; at least one. */
  fields(word: Word, state: ShellState): readonly Fields[];
  /** Every possible text where the shell does not split: assignments, redirections, here-strings. */
  texts(word: Word, state: ShellState): readonly string[];
  /** The same for parts alone, as in the body of a here-document. */
  partTexts(parts: readonly WordPart[], state: ShellState): readonly string[];
  /** Inspects the scripts inside of a node that is not expanded: tests, arithmetic. */
  nestedScripts(node: SyntaxNode, state: ShellState): void;
}

/** A pattern of letters, `*` and `?` that no quotes give another meaning. */
const PLAIN_PATTERN = /^[\w./*?:@%+=, -]*$/;
/** Finding the ends that a pattern matches takes quadratic time. */
const MAX_REMOVAL_CHARS = 512;

interface Piece {
  /** Possible texts. */
  readonly texts: readonly string[];
  /** An unquoted expansion: split into fields, and nothing at all when it is empty. */
  readonly split: boolean;
}
type Chosen = readonly { readonly text: string; readonly split: boolean }[];

/** `outputsOf` inspects a substituted script and returns what it may print. `ask` is called for what cannot be followed. */
export function createExpander(
  outputsOf: (script: ParsedScript, state: ShellState, input?: Stream) => readonly string[],
  ask: (reason: string) => void,
): Expander {
  const braceWork = { chars: 0 };

  function fields(word: Word, state: ShellState): readonly Fields[] {
    if (!word.parts) return [[plainText(word, state)]];
    const braced = expandBraces(word, braceWork);
    if (braced === "too many") {
      ask("a word of the command becomes too many words");
      return [[COMPUTED]];
    }
    if (braced) return [braced.flatMap((part) => fields(part, state).flat())];
    const separators = new Set([" ", "\t", "\n", ...(state.variables.get("IFS") ?? []).join("")]);
    return combine(pieces(word.parts, state)).map((chosen) => join(chosen, separators));
  }

  function texts(word: Word, state: ShellState): readonly string[] {
    return word.parts ? textsOf(pieces(word.parts, state)) : [plainText(word, state)];
  }

  function partTexts(parts: readonly WordPart[], state: ShellState): readonly string[] {
    return textsOf(parts.map((part) => piece(part, state, true)));
  }

  function pieces(parts: readonly WordPart[], state: ShellState): Piece[] {
    return parts.map((part, index) => {
      return index === 0 && part.type === "Literal"
        ? literal(expandTilde(part.text, part.value, state))
        : piece(part, state, false);
    });
  }

  function piece(part: WordPart, state: ShellState, quoted: boolean): Piece {
    switch (part.type) {
      case "Literal":
      case "SingleQuoted":
      case "AnsiCQuoted":
        return literal(part.value);
      case "Glob":
      case "BraceExpansion":
        return literal(part.text);
      case "ExtendedGlob":
        return literal(part.operator === "!" ? "*" : COMPUTED);
      case "DoubleQuoted":
      case "LocaleString":
        return { texts: partTexts(part.parts, state), split: part.parts.some(isList) };
      case "SimpleExpansion":
        return { texts: valuesOf(state, part.text.slice(1)), split: !quoted };
      case "ParameterExpansion":
        return { texts: bounded(parameterValues(part, state)), split: !quoted };
      case "CommandExpansion": {
        const outputs = part.script ? outputsOf(part.script, state).map(withoutLineEnds) : [COMPUTED];
        return { texts: bounded(outputs), split: !quoted };
      }
      case "ProcessSubstitution": {
        // `>(...)` reads what some command will print.
        const from: Stream | undefined = part.operator === ">" ? { kind: "program", program: "a command" } : undefined;
        const outputs = part.script ? outputsOf(part.script, state, from) : [COMPUTED];
        return { texts: outputs.map((text) => PROCESS + text), split: false };
      }
      case "ArithmeticExpansion":
        nestedScripts(part, state);
        return literal(VALUE);
    }
  }

  function parameterValues(part: ParameterExpansionPart, state: ShellState): readonly string[] {
    const { parameter, operation, index, prefix } = part;
    if (index && index.text !== "@" && index.text !== "*") nestedScripts(index, state);
    const values = index ? elementsOf(valuesOf(state, parameter), index.text) : valuesOf(state, parameter);
    if (!prefix && !operation) return values;
    if (!prefix && operation?.type === "Default") {
      const isSet = state.variables.has(parameter);
      const chosen = withDefault(operation.operator, values, isSet, () => texts(operation.operand, state));
      if (operation.operator.endsWith("=")) assign(state, parameter, chosen);
      return chosen;
    }
    if (!prefix && operation?.type === "Remove" && PLAIN_PATTERN.test(operation.operand.text)) {
      const { operator, operand } = operation;
      return values.map((value) => withoutMatch(value, operand.text, operator));
    }
    nestedScripts(part, state);
    if (operation?.type === "Transform" && operation.operand.text === "P") ask("a variable is expanded as a script is");
    return [prefix === "#" ? VALUE : COMPUTED];
  }

  function nestedScripts(node: SyntaxNode, state: ShellState): void {
    forEachChild(node, (child) => {
      if (child.type === "Script") outputsOf(child, state);
      else if (child.type === "Word" && COMMAND_IN_INDEX.test(child.value)) ask(HIDDEN_IN_INDEX);
      else if (child.type !== "CompoundList") nestedScripts(child, state);
    });
  }

  return { fields, texts, partTexts, nestedScripts };
}

/** `"$@"` and `"${list[@]}"` become several fields in spite of their quotes. */
function isList(part: WordPart): boolean {
  if (part.type === "SimpleExpansion") return part.text === "$@";
  return part.type === "ParameterExpansion" && (part.index?.text === "@" || part.parameter === "@");
}

/** A word in which nothing but a tilde is expanded. */
function plainText(word: Word, state: ShellState): string {
  return expandTilde(word.text, word.value, state);
}

function literal(text: string): Piece {
  return { texts: [text], split: false };
}

function textsOf(parts: readonly Piece[]): readonly string[] {
  return bounded(combine(parts).map((chosen) => chosen.map(({ text }) => text).join("")));
}

/** Every choice of one text a piece; when there are too many, pieces with several texts count as computed. */
function combine(pieces: readonly Piece[]): readonly Chosen[] {
  const chosen = choicesOf(pieces.map(({ texts, split }) => texts.map((text) => ({ text, split }))));
  return (
    chosen ?? [
      pieces.map(({ texts: [only = "", ...more], split }) => ({ text: more.length > 0 ? COMPUTED : only, split })),
    ]
  );
}

/** Puts the pieces of a word together; unquoted expansions are split on the way, and a computed one may be more words. */
function join(chosen: Chosen, separators: ReadonlySet<string>): Fields {
  const result: string[] = [];
  let current: string | null = null;
  for (const { text, split } of chosen) {
    if (!split) {
      current = (current ?? "") + text;
      continue;
    }
    for (const character of text) {
      if (!separators.has(character)) current = (current ?? "") + character;
      else if (current !== null) {
        result.push(current);
        current = null;
      }
    }
  }
  if (current !== null) result.push(current);
  return chosen.some(({ text, split }) => split && text.includes(COMPUTED)) ? [...result, COMPUTED] : result;
}

/** An array is one text; an element of it is one of its words. */
function elementsOf(values: readonly string[], index: string): readonly string[] {
  if (index === "@" || index === "*") return values;
  return bounded(values.flatMap((value) => value.split(" ")));
}

/** `${x:-other}` and its like. With a colon an empty value counts as none. */
function withDefault(
  operator: string,
  values: readonly string[],
  isSet: boolean,
  other: () => readonly string[],
): readonly string[] {
  const own = operator.startsWith(":") || !isSet ? values.filter((value) => value !== "") : values;
  const mayLack = own.length < values.length || (operator.startsWith(":") && values.some(isMarked));
  if (operator.endsWith("+")) return bounded([...(mayLack ? [""] : []), ...(own.length > 0 ? other() : [])]);
  // `${x:?}` ends the shell where there is no value: what follows does not run.
  if (operator.endsWith("?")) return own.length > 0 ? own : [COMPUTED];
  return bounded([...own, ...(mayLack ? other() : [])]);
}

/** `${x#pattern}`, `${x%pattern}`: people change the ends of names of files so. */
function withoutMatch(value: string, pattern: string, operator: string): string {
  if (isMarked(value + pattern) || value.length + pattern.length > MAX_REMOVAL_CHARS)
    return value === VALUE ? VALUE : COMPUTED;
  const lengths = Array.from({ length: value.length + 1 }, (_, length) => length);
  if (operator.length === 2) lengths.reverse();
  for (const length of lengths) {
    const [part, rest] = operator.startsWith("#")
      ? [value.slice(0, length), value.slice(length)]
      : [value.slice(value.length - length), value.slice(0, value.length - length)];
    if (matchesGlob(pattern, part)) return rest;
  }
  return value;
}

/** `~`, `~/x`, and the same as the value of what looks like an assignment (`of=~/x`). */
function expandTilde(written: string, value: string, state: ShellState): string {
  const start = /^(?:\w+=)?(?=~)/.exec(written)?.[0];
  if (start === undefined) return value;
  const text = value.slice(start.length);
  const [, prefix = "", rest = ""] = /^([^/:]*)(.*)$/s.exec(text) ?? [];
  const variables: Readonly<Record<string, string>> = { "~": "HOME", "~+": "PWD", "~-": "OLDPWD" };
  const variable = variables[prefix];
  const named = prefix === "~root" ? "/root" : `/home/${prefix.slice(1)}`;
  const [only = COMPUTED, ...more] = variable === undefined ? [named] : valuesOf(state, variable);
  return start + (more.length > 0 ? COMPUTED : only) + rest;
}

/** As the shell does with what a substitution printed. (A regular expression takes quadratic time for many line ends.) */
function withoutLineEnds(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end -= 1;
  return text.slice(0, end);
}
