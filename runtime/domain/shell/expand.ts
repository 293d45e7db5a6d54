/**
 * What a word of a script becomes when the shell expands it: braces, tilde, plain variables, substitutions that hide
 * nothing, quotes and splitting. All else becomes a mark. Globs stay as they are written.
 */

import {
  forEachChild,
  type ParameterExpansionPart,
  type ParsedScript,
  type SyntaxNode,
  type Word,
  type WordPart,
} from "unbash";
import type { ShellState } from "./inspection.ts";
import { PRINTED, SILENCE, type Stream } from "./streams.ts";
import { COMPUTED, PROCESS, VALUE } from "./values.ts";
import { COMMAND_IN_INDEX, HIDDEN_IN_INDEX } from "./variables.ts";

export type Expander = ReturnType<typeof createExpander>;

/** What the braces of one script may make in all: each of them is parsed once more with the text around it. */
const MAX_BRACE_CHARS = 50_000;
/** An escape, a text in quotes, or one character. */
const BRACE_TOKEN = /\\[\s\S]|\$'(?:\\[\s\S]|[^'\\])*'|'[^']*'|"(?:\\[\s\S]|[^"\\])*"|[\s\S]/g;

interface Piece {
  readonly text: string;
  /** An unquoted expansion: split into fields, and nothing at all when it is empty. */
  readonly split: boolean;
}

/**
 * `outputOf` inspects a substituted script and returns what it prints. `ask` is called for what cannot be followed. `parse`
 * gives the same nodes for the same text.
 */
export function createExpander(
  outputOf: (script: ParsedScript, state: ShellState, input: Stream) => string,
  ask: (reason: string) => void,
  parse: (source: string) => ParsedScript,
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
      if (braceChars <= MAX_BRACE_CHARS)
        return wordsOf(parse(`: ${before}${item}${after}`)).flatMap((part) => fields(part, state));
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
        nestedScripts(part, state);
        return literal(part.text);
      case "ExtendedGlob":
        nestedScripts(part, state);
        return literal(part.operator === "!" ? "*" : COMPUTED);
      case "DoubleQuoted":
      case "LocaleString":
        return { text: partsText(part.parts, state), split: part.parts.some(isList) };
      case "SimpleExpansion":
        return { text: state.variables.textOf(part.text.slice(1), state), split: !quoted };
      case "ParameterExpansion":
        return { text: parameterValue(part, state), split: !quoted };
      case "CommandExpansion":
        return { text: part.script ? outputOf(part.script, state, SILENCE).trimEnd() : COMPUTED, split: !quoted };
      case "ProcessSubstitution": {
        // `>(...)` reads what some command prints.
        if (part.script) outputOf(part.script, state, part.operator === ">" ? PRINTED : SILENCE);
        return literal(PROCESS);
      }
      case "ArithmeticExpansion":
        nestedScripts(part, state);
        return literal(VALUE);
    }
  }

  function parameterValue(part: ParameterExpansionPart, state: ShellState): string {
    const { parameter, operation, index, prefix } = part;
    const isElement = index !== undefined && index.text !== "@" && index.text !== "*";
    nestedScripts(part, state);
    const value = isElement ? COMPUTED : state.variables.textOf(parameter, state);
    if (!prefix && !operation) return value;
    if (!prefix && operation?.type === "Default") {
      const other = text(operation.operand, state);
      if (operation.operator.endsWith("=")) state.variables.set(parameter, COMPUTED, part);
      return withDefault(operation.operator, value, other, state.variables.isUnset(parameter));
    }
    if (!prefix && operation?.type === "Remove") return withoutEnd(value, operation.operand.text, operation.operator);
    // The parser ends a pattern at the first slash, also where that is in a command.
    if (/\$\(|`/.test(part.text)) ask("a command is hidden in what changes a variable");
    if (operation?.type === "Transform" && operation.operand.text === "P") ask("a variable is expanded as a script is");
    return prefix === "#" ? VALUE : COMPUTED;
  }

  /** Inspects the scripts inside of a node that is not expanded: tests, arithmetic. */
  function nestedScripts(node: SyntaxNode, state: ShellState): void {
    forEachChild(node, (child) => {
      if (child.type === "Script") outputOf(child, state, SILENCE);
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

/** The words of a command, without its name. */
function wordsOf({ commands }: ParsedScript): readonly Word[] {
  const command = commands[0]?.command;
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

/** `${x:-other}` and its like. */
function withDefault(operator: string, value: string, other: string, isUnset: boolean): string {
  if (operator.endsWith("+") || value.includes(COMPUTED)) return COMPUTED;
  if (value !== "") return value !== VALUE || isUnset ? value : COMPUTED;
  if (operator.endsWith("?")) return COMPUTED;
  return isUnset || operator.startsWith(":") ? other : COMPUTED;
}

/** `${x%.js}`, `${x%.*}`, `${x#v}`: people change the ends of names of files so. */
function withoutEnd(value: string, pattern: string, operator: string): string {
  if (value === VALUE) return VALUE;
  if (operator === "%" && pattern === ".*" && !value.includes(COMPUTED)) return value.replace(/\.[^.]*$/, "");
  if (!/^[\w./-]+$/.test(pattern) || value.includes(COMPUTED)) return COMPUTED;
  if (operator.startsWith("#")) return value.startsWith(pattern) ? value.slice(pattern.length) : value;
  return value.endsWith(pattern) ? value.slice(0, -pattern.length) : value;
}

/** `~`, `~/x`, and the same as the value of what looks like an assignment (`of=~/x`). */
function expandTilde(written: string, value: string, state: ShellState): string {
  const start = /^(?:\w+=)?(?=~)/.exec(written)?.[0];
  if (start === undefined) return value;
  const [, prefix = "", rest = ""] = /^([^/:]*)(.*)$/s.exec(value.slice(start.length)) ?? [];
  if (prefix === "~" || prefix === "~+")
    return start + state.variables.textOf(prefix === "~" ? "HOME" : "PWD", state) + rest;
  if (prefix === "~-") return COMPUTED;
  return start + (prefix === "~root" ? "/root" : `/home/${prefix.slice(1)}`) + rest;
}
