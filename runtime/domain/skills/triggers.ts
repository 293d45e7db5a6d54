/** Which skills a message calls for by their triggers. Texts are compared, never run: a trigger is no pattern. */

import type { Skill } from "../../contracts/skill.ts";

/** UTF-16 units of a message that are compared. */
const MAX_TEXT = 20_000;
const WORD = /[\p{L}\p{N}_]/u;
const WORDS = /[\p{L}\p{N}_]+/gu;

/** Those one of whose triggers is in the message as whole words, whatever its case and the spaces between them; in the given order. */
export function triggeredBy<S extends Pick<Skill, "triggers">>(message: string, skills: readonly S[]): readonly S[] {
  const text = normal(message.slice(0, MAX_TEXT));
  // Most triggers have a word that is not in the message: it is not read again for them.
  const words = new Set(text.match(WORDS));
  const holds = (trigger: string): boolean =>
    (trigger.match(WORDS) ?? []).every((word) => words.has(word)) && holdsWords(text, trigger);
  return skills.filter(({ triggers }) => triggers.some((trigger) => holds(normal(trigger))));
}

function holdsWords(text: string, words: string): boolean {
  if (words === "") return false;
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) {
    const end = at + words.length;
    if (
      isBound(characterBefore(text, at), firstOf(words)) &&
      isBound(characterBefore(words, words.length), firstOf(text.slice(end, end + 2)))
    )
      return true;
  }
  return false;
}

/** Between two characters of which at most one is a part of a word. */
function isBound(before: string, after: string): boolean {
  return !(WORD.test(before) && WORD.test(after));
}

function firstOf(text: string): string {
  const code = text.codePointAt(0);
  return code === undefined ? "" : String.fromCodePoint(code);
}

/** The whole character that ends there. */
function characterBefore(text: string, end: number): string {
  return [...text.slice(Math.max(0, end - 2), end)].at(-1) ?? "";
}

function normal(text: string): string {
  return text.normalize("NFC").toLowerCase().replace(/\s+/g, " ").trim();
}
