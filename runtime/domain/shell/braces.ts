/** Brace expansion: it comes first and makes several words out of one. */

import { parse, type Word } from "unbash";
import { UNKNOWN } from "./state.ts";

const MAX_BRACE_WORDS = 256;

/** The words that the brace expansions of a word make, to be expanded further; null when it has none, or when they are too many. */
export function expandBraces(word: Word): readonly Word[] | "too many" | null {
  if (!braceOf(word)) return null;
  const done: Word[] = [];
  const open = [word];
  for (let next = open.pop(); next; next = open.pop()) {
    const brace = braceOf(next);
    if (!brace) done.unshift(next);
    else open.push(...braceItems(brace.text).flatMap(substitute(next, brace.pos - next.pos, brace.text.length)));
    if (done.length + open.length > MAX_BRACE_WORDS) return "too many";
  }
  return done;
}

function braceOf(word: Word) {
  return word.parts?.find((part) => part.type === "BraceExpansion");
}

/** The word again with other text in the place of a part. */
function substitute(word: Word, start: number, length: number): (item: string) => readonly Word[] {
  return (item) => {
    const text = word.text.slice(0, start) + item + word.text.slice(start + length);
    const command = parse(`: ${text}`).commands[0]?.command;
    const made = command?.type === "Command" ? command.args[0] : undefined;
    return made?.type === "Word" ? [made] : [];
  };
}

/** `{a,b{c,d}}` into `a` and `b{c,d}`; a sequence (`{1..9}`) into something unknown. */
function braceItems(text: string): readonly string[] {
  const inner = text.slice(1, -1);
  const items: string[] = [];
  let depth = 0;
  let quote = "";
  let current = "";
  for (let at = 0; at < inner.length; at += 1) {
    const character = inner[at] ?? "";
    // Between single quotes a backslash is a letter, but not in $'...'.
    if (character === "\\" && quote !== "'") {
      current += character + (inner[at + 1] ?? "");
      at += 1;
      continue;
    }
    if (quote !== "") quote = character === quote.at(-1) ? "" : quote;
    else if (character === "'" && inner[at - 1] === "$") quote = "$'";
    else if (character === "'" || character === '"') quote = character;
    else if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    else if (character === "," && depth === 0) {
      items.push(current);
      current = "";
      continue;
    }
    current += character;
  }
  return items.length === 0 ? [UNKNOWN] : [...items, current];
}
