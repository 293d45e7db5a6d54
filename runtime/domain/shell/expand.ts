/**
 * What a word of a script becomes when the shell expands it: braces, tilde, variables, substitutions whose output is
 * known, quotes and splitting. All else becomes a mark. Globs stay as they are written.
 */

import {
  forEachChild,
  type ParameterExpansionPart,
  type ParsedScript,
  parse,
  type SyntaxNode,
  type Word,
  type WordPart,
} from "unbash";
import { matchesGlob } from "./glob.ts";
import type { ShellState } from "./inspection.ts";
import { assign, variableOf } from "./state.ts";
import { printedBy, type Stream } from "./streams.ts";
import { COMPUTED, isMarked, PROCESS, VALUE } from "./values.ts";
import { COMMAND_IN_INDEX, HIDDEN_IN_INDEX } from "./variables.ts";

export type Expander = ReturnType<typeof createExpander>;

/** A pattern of letters, `*` and `?` that no quotes give another meaning. */
const PLAIN_PATTERN = /^[\w./*?:@%+=, -]*$/;
/** Finding the ends that a pattern matches takes quadratic time. */
const MAX_REMOVAL_CHARS = 512;
/** What the braces of one script may make in all: each of them is parsed once more with the text around it. */
const MAX_BRACE_CHARS = 50_000;
/** An escape, a text in quotes, or one character. */
const BRACE_TOKEN = /\\[\s\S]|\$'(?:\\[\s\S]|[^'\\])*'|'[^']*'|"(?:\\[\s\S]|[^"\\])*"|[\s\S]/g;

interface Piece {
  readonly text: string;
  /** An unquoted expansion: split into fields, and nothing at all when it is empty. */
  readonly split: boolean;
}

/** `outputOf` inspects a substituted script and returns what it prints. `ask` is called for what cannot be followed. */
export function createExpander(
  outputOf: (script: ParsedScript, state: ShellState, input?: Stream) => string,
  ask: (reason: string) => void,
) {
  let braceChars = 0;

  /** The fields (arguments) that the word becomes, none included. */
  function fields(word: Word, state: ShellState): readonly string[] {
    if (!word.parts) return [expandTilde(word.text, word.value, state)];
    const brace = word.parts.find((part) => part.type === "BraceExpansion");
    if (!brace) return join(pieces(word.parts, state));
    const [before, after] = [word.text.slice(0, brace.pos - word.pos), word.text.slice(brace.end - word.pos)];
    return itemsOf(brace.text).flatMap((item) => {
      braceChars += word.text.length;
      if (braceChars <= MAX_BRACE_CHARS) return wordsOf(before + item + after).flatMap((part) => fields(part, state));
      ask("a word of the command becomes too many words");
      return [COMPUTED];
    });
  }

  /** Its text where the shell does not split: assignments, redirections, here-strings. */
  function text(word: Word, state: ShellState): string {
    return word.parts ? textOf(pieces(word.parts, state)) : expandTilde(word.text, word.value, state);
  }

  function partsText(parts: readonly WordPart[], state: ShellState): string {
    return textOf(parts.map((part) => piece(part, state, true)));
  }

  function pieces(parts: readonly WordPart[], state: ShellState): Piece[] {
    return parts.map((part, index) =>
      index === 0 && part.type === "Literal"
        ? literal(expandTilde(part.text, part.value, state))
        : piece(part, state, false),
    );
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
        return { text: partsText(part.parts, state), split: part.parts.some(isList) };
      case "SimpleExpansion":
        return { text: variableOf(state, part.text.slice(1)), split: !quoted };
      case "ParameterExpansion":
        return { text: parameterValue(part, state), split: !quoted };
      case "CommandExpansion":
        return { text: part.script ? withoutLineEnds(outputOf(part.script, state)) : COMPUTED, split: !quoted };
      case "ProcessSubstitution": {
        // `>(...)` reads what some command will print.
        const from = part.operator === ">" ? printedBy("a command") : undefined;
        return literal(PROCESS + (part.script ? outputOf(part.script, state, from) : COMPUTED));
      }
      case "ArithmeticExpansion":
        nestedScripts(part, state);
        return literal(VALUE);
    }
  }

  function parameterValue(part: ParameterExpansionPart, state: ShellState): string {
    const { parameter, operation, index, prefix } = part;
    const isElement = index !== undefined && index.text !== "@" && index.text !== "*";
    if (isElement) nestedScripts(index, state);
    const value = isElement ? COMPUTED : variableOf(state, parameter);
    if (!prefix && !operation) return value;
    if (!prefix && operation?.type === "Default") {
      const { operator, operand } = operation;
      const chosen = withDefault(operator, value, state.variables.has(parameter), () => text(operand, state));
      if (operator.endsWith("=")) assign(state, parameter, [chosen]);
      return chosen;
    }
    if (!prefix && operation?.type === "Remove" && PLAIN_PATTERN.test(operation.operand.text))
      return withoutMatch(value, operation.operand.text, operation.operator);
    nestedScripts(part, state);
    if (operation?.type === "Transform" && operation.operand.text === "P") ask("a variable is expanded as a script is");
    return prefix === "#" ? VALUE : COMPUTED;
  }

  /** Inspects the scripts inside of a node that is not expanded: tests, arithmetic. */
  function nestedScripts(node: SyntaxNode, state: ShellState): void {
    forEachChild(node, (child) => {
      if (child.type === "Script") outputOf(child, state);
      else if (child.type === "Word" && COMMAND_IN_INDEX.test(child.value)) ask(HIDDEN_IN_INDEX);
      else if (child.type !== "CompoundList") nestedScripts(child, state);
    });
  }

  return { fields, text, partsText, nestedScripts };
}

/** `{a,b{c,d}}` into `a` and `b{c,d}`; a sequence (`{1..9}`, `{a..z}`) into a mark. */
function itemsOf(text: string): readonly string[] {
  const items = [""];
  let depth = 0;
  for (const token of text.slice(1, -1).match(BRACE_TOKEN) ?? []) {
    if (token === "{") depth += 1;
    if (token === "}") depth -= 1;
    if (token === "," && depth === 0) items.push("");
    else items.push((items.pop() ?? "") + token);
  }
  if (items.length > 1) return items;
  return [/^\{[-\d.]+\}$/.test(text) ? VALUE : COMPUTED];
}

function wordsOf(text: string): readonly Word[] {
  const command = parse(`: ${text}`).commands[0]?.command;
  return command?.type === "Command" ? command.args.filter((word) => word.type === "Word") : [];
}

/** `"$@"` and `"${list[@]}"` become several fields in spite of their quotes. */
function isList(part: WordPart): boolean {
  if (part.type === "SimpleExpansion") return part.text === "$@";
  return part.type === "ParameterExpansion" && (part.index?.text === "@" || part.parameter === "@");
}

function literal(text: string): Piece {
  return { text, split: false };
}

function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join("");
}

/** Puts the pieces of a word together; unquoted expansions are split on the way, and a computed one may be more words. */
function join(pieces: readonly Piece[]): readonly string[] {
  const words: string[] = [];
  // Whether the next text goes on with the last word.
  let isOpen = false;
  for (const { text, split } of pieces) {
    for (const [at, part] of (split ? text.split(/[ \t\n]/) : [text]).entries()) {
      if (at > 0) isOpen = false;
      if (split && part === "") continue;
      words.push(isOpen ? (words.pop() ?? "") + part : part);
      isOpen = true;
    }
  }
  return pieces.some(({ text, split }) => split && text.includes(COMPUTED)) ? [...words, COMPUTED] : words;
}

/** `${x:-other}` and its like. With a colon an empty value counts as none; a marked one may be empty. */
function withDefault(operator: string, value: string, isSet: boolean, other: () => string): string {
  const counts = operator.startsWith(":") ? value !== "" : isSet || value !== "";
  const isDoubtful = isSet && operator.startsWith(":") && isMarked(value);
  if (operator.endsWith("?")) return counts ? value : COMPUTED;
  const chosen = operator.endsWith("+") === counts ? other() : counts ? value : "";
  // Read also where it may not be chosen: it may hold a script.
  return isDoubtful ? (other() === "" && counts ? value : COMPUTED) : chosen;
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
  const [, prefix = "", rest = ""] = /^([^/:]*)(.*)$/s.exec(value.slice(start.length)) ?? [];
  const variable = { "~": "HOME", "~+": "PWD", "~-": "OLDPWD" }[prefix];
  const named = prefix === "~root" ? "/root" : `/home/${prefix.slice(1)}`;
  return start + (variable === undefined ? named : variableOf(state, variable)) + rest;
}

/** As the shell does with what a substitution printed. (A regular expression takes quadratic time for many line ends.) */
function withoutLineEnds(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end -= 1;
  return text.slice(0, end);
}
