/** Brace expansion: it comes first and makes several words out of one. */

import { parse, type Word } from "unbash";
import { COMPUTED, VALUE } from "./values.ts";

const MAX_BRACE_WORDS = 256;
/** What the braces of one script may make in all: each of them is parsed once more with the text around it. */
const MAX_BRACE_CHARS = 50_000;

/** Characters that were made so far. */
export interface BraceWork {
  chars: number;
}

/** An escape, a text in quotes, or one character. */
const TOKEN = /\\[\s\S]|\$'(?:\\[\s\S]|[^'\\])*'|'[^']*'|"(?:\\[\s\S]|[^"\\])*"|[\s\S]/g;

/** The words that the brace expansions of a word make, to be expanded further; null when it has none, or when they are too many. */
export function expandBraces(word: Word, work: BraceWork): readonly Word[] | "too many" | null {
  if (!braceOf(word)) return null;
  const done: Word[] = [];
  const open = [word];
  for (let next = open.pop(); next; next = open.pop()) {
    const brace = braceOf(next);
    work.chars += brace ? next.text.length : 0;
    if (work.chars > MAX_BRACE_CHARS) return "too many";
    if (brace) {
      const [before, after] = [next.text.slice(0, brace.pos - next.pos), next.text.slice(brace.end - next.pos)];
      open.push(...itemsOf(brace.text).flatMap((item) => parsed(before + item + after)));
    } else done.unshift(next);
    if (done.length + open.length > MAX_BRACE_WORDS) return "too many";
  }
  return done;
}

function braceOf(word: Word) {
  return word.parts?.find((part) => part.type === "BraceExpansion");
}

function parsed(text: string): readonly Word[] {
  const command = parse(`: ${text}`).commands[0]?.command;
  const word = command?.type === "Command" ? command.args[0] : undefined;
  return word?.type === "Word" ? [word] : [];
}

/** `{a,b{c,d}}` into `a` and `b{c,d}`; a sequence (`{1..9}`, `{a..z}`) into a mark. */
function itemsOf(text: string): readonly string[] {
  const items = [""];
  let depth = 0;
  for (const token of text.slice(1, -1).match(TOKEN) ?? []) {
    if (token === "{") depth += 1;
    if (token === "}") depth -= 1;
    if (token === "," && depth === 0) items.push("");
    else items.push((items.pop() ?? "") + token);
  }
  if (items.length > 1) return items;
  return [/^\{[-\d.]+\}$/.test(text) ? VALUE : COMPUTED];
}
