/**
 * What a word of a script may become when the shell expands it: braces, tilde, variables, substitutions, quotes and
 * splitting, as far as that is known without running anything. Globs stay as they are written.
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
import { remove, replace, slice, withDefault } from "./parameter-operations.ts";
import { assign, bounded, HOME, MAX_ALTERNATIVES, PROCESS, type ShellState, UNKNOWN, valuesOf } from "./state.ts";

/** One possible outcome: the fields (arguments) that the word becomes, none included. */
export type Fields = readonly string[];

export interface Expander {
  /** Every possible outcome; at least one. */
  fields(word: Word, state: ShellState): readonly Fields[];
  /** Every possible text where the shell does not split: assignments, redirections, here-strings. */
  texts(word: Word, state: ShellState): readonly string[];
  /** The same for parts alone, as in the body of a here-document. */
  partTexts(parts: readonly WordPart[], state: ShellState): readonly string[];
}

interface Piece {
  /** Possible texts. */
  readonly texts: readonly string[];
  /** An unquoted expansion: split into fields, and nothing at all when it is empty. */
  readonly split: boolean;
}

/**
 * `outputsOf` returns what a substituted script may print (UNKNOWN where that is unknown), and inspects it. `onTooMany` is
 * called for a word that becomes more words than can be followed.
 */
export function createExpander(
  outputsOf: (script: ParsedScript, state: ShellState) => readonly string[],
  onTooMany: () => void,
): Expander {
  function fields(word: Word, state: ShellState): readonly Fields[] {
    const braced = expandBraces(word);
    if (braced === "too many") {
      onTooMany();
      return [[UNKNOWN]];
    }
    if (braced) return [braced.flatMap((part) => fields(part, state).flat())];
    const separators = separatorsOf(state);
    return combine(pieces(word, state)).map((chosen) => join(chosen, separators));
  }

  function texts(word: Word, state: ShellState): readonly string[] {
    return bounded(combine(pieces(word, state)).map((chosen) => chosen.map(({ text }) => text).join("")));
  }

  function pieces(word: Word, state: ShellState): Piece[] {
    const parts = word.parts;
    if (!parts) return [literal(word.text.startsWith("~") ? expandTilde(word.value, state) : word.value)];
    return parts.map((part, index) => {
      const atStart = index === 0 && part.type === "Literal" && part.text.startsWith("~");
      return atStart ? literal(expandTilde(part.value, state)) : piece(part, state, false);
    });
  }

  function piece(part: WordPart, state: ShellState, quoted: boolean): Piece {
    switch (part.type) {
      case "Literal":
      case "SingleQuoted":
      case "AnsiCQuoted":
        return literal(part.value);
      case "Glob":
        return literal(part.text);
      case "ExtendedGlob":
        return literal("*");
      case "BraceExpansion":
        return literal(part.text);
      case "DoubleQuoted":
      case "LocaleString":
        return { texts: partTexts(part.parts, state), split: part.parts.some(isList) };
      case "SimpleExpansion":
        return expansion(valuesOf(state, part.text.slice(1)), !quoted);
      case "ParameterExpansion": {
        return expansion(parameterValues(part, state), !quoted);
      }
      case "CommandExpansion":
        return expansion(part.script ? outputsOf(part.script, state).map(trimEnd) : [UNKNOWN], !quoted);
      case "ProcessSubstitution":
        return {
          texts: (part.script ? outputsOf(part.script, state) : [UNKNOWN]).map((text) => PROCESS + text),
          split: false,
        };
      case "ArithmeticExpansion":
        nestedScripts(part, state);
        return literal(UNKNOWN);
    }
  }

  function partTexts(parts: readonly WordPart[], state: ShellState): readonly string[] {
    const inner = parts.map((part) => piece(part, state, true));
    return bounded(combine(inner).map((chosen) => chosen.map(({ text }) => text).join("")));
  }

  function nestedScripts(node: SyntaxNode, state: ShellState): void {
    forEachChild(node, (child) => {
      if (child.type === "Script") outputsOf(child, state);
      else nestedScripts(child, state);
    });
  }

  function parameterValues(part: ParameterExpansionPart, state: ShellState): readonly string[] {
    if (part.prefix === "#") return [UNKNOWN];
    const direct = part.index ? elementValues(part.parameter, part.index, state) : valuesOf(state, part.parameter);
    const values =
      part.prefix === "!"
        ? direct.flatMap((name) => (name.includes(UNKNOWN) ? [UNKNOWN] : valuesOf(state, name)))
        : direct;
    const { operation } = part;
    if (!operation) return values;
    const operand = (word: Word | undefined) => (word ? texts(word, state) : [""]);
    switch (operation.type) {
      case "Default": {
        const isSet = state.variables.has(part.parameter) || state.arrays.has(part.parameter);
        const chosen = withDefault(operation.operator, values, isSet, () => operand(operation.operand));
        if (operation.operator.endsWith("=")) assign(state, part.parameter, chosen);
        return chosen;
      }
      case "Slice":
        return slice(values, operand(operation.offset), operation.length ? operand(operation.length) : null);
      case "CaseModification":
        return values.map((value) => (operation.operator.startsWith("^") ? value.toUpperCase() : value.toLowerCase()));
      case "Replace":
        return replace(values, operand(operation.pattern), operand(operation.replacement), operation.operator === "//");
      case "Remove":
        return remove(values, operand(operation.operand), operation.operator.startsWith("#"));
      case "Transform":
      case "Names":
      case "Unknown":
        return [UNKNOWN];
    }
  }

  function elementValues(name: string, index: Word, state: ShellState): readonly string[] {
    const elements = state.arrays.get(name);
    if (!elements) return valuesOf(state, name);
    if (index.text === "@" || index.text === "*") return [elements.join(" ")];
    return /^\d+$/.test(index.text) ? [elements[Number(index.text)] ?? ""] : bounded(elements);
  }

  return { fields, texts, partTexts };
}

/** `"$@"` and `"${list[@]}"` become several fields in spite of their quotes. */
function isList(part: WordPart): boolean {
  if (part.type === "SimpleExpansion") return part.text === "$@";
  return part.type === "ParameterExpansion" && (part.index?.text === "@" || part.parameter === "@");
}

function literal(text: string): Piece {
  return { texts: [text], split: false };
}

function expansion(values: readonly string[], split: boolean): Piece {
  return { texts: bounded(values), split };
}

type Chosen = readonly { readonly text: string; readonly split: boolean }[];

/** Every choice of one text a piece; when there are too many, pieces with several texts count as unknown. */
function combine(pieces: readonly Piece[]): readonly Chosen[] {
  const count = pieces.reduce((product, { texts }) => product * texts.length, 1);
  const bounded =
    count <= MAX_ALTERNATIVES
      ? pieces
      : pieces.map((piece) => (piece.texts.length > 1 ? { ...piece, texts: [UNKNOWN] } : piece));
  let chosen: { text: string; split: boolean }[][] = [[]];
  for (const { texts, split } of bounded) {
    const [only] = texts;
    // Most pieces have one text: appended in place, a word of very many pieces does not take quadratic time.
    if (texts.length === 1 && only !== undefined) for (const before of chosen) before.push({ text: only, split });
    else chosen = chosen.flatMap((before) => texts.map((text) => [...before, { text, split }]));
  }
  return chosen;
}

/** Puts the pieces of a word together; unquoted expansions are split on the way. */
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
  return result;
}

function separatorsOf(state: ShellState): ReadonlySet<string> {
  return new Set(
    [" ", "\t", "\n", ...(state.variables.get("IFS") ?? []).join("")].filter((character) => character !== UNKNOWN),
  );
}

function expandTilde(text: string, state: ShellState): string {
  const [prefix = "", ...rest] = text.split("/");
  const tail = rest.length > 0 ? `/${rest.join("/")}` : "";
  if (prefix === "~") return HOME + tail;
  if (prefix === "~+") return (state.directories[0] ?? UNKNOWN) + tail;
  if (prefix === "~-") return UNKNOWN + tail;
  return prefix === "~root" ? `/root${tail}` : `/home/${prefix.slice(1)}${tail}`;
}

/** As the shell does with what a substitution printed. (A regular expression takes quadratic time for many line ends.) */
function trimEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end -= 1;
  return text.slice(0, end);
}
