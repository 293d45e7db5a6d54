/** Which kind of message a text is, and how important that makes it (specification, "Short-term memory"). */

import { CORRECTION, CORRECTION_FIRST, PREFERENCE, REQUEST, type Signs, TASK } from "./importance-patterns.ts";

export type ImportanceType = "correction" | "preference" | "fact" | "task";

export const BASE_IMPORTANCE: Readonly<Record<ImportanceType, number>> = {
  correction: 0.9,
  preference: 0.8,
  fact: 0.6,
  task: 0.5,
};

/** What is no correction, preference or request is taken for a fact: greetings and questions too. */
export const DEFAULT_TYPE: ImportanceType = "fact";

/** Only the head decides: people say first what a message is about, and the cost stays bounded. */
const HEAD = 400;
const SENTENCES = 5;

/**
 * The first kind, in the order correction, preference, task, that a sentence of the head shows; else a fact. Only what the
 * speaker says counts: code, quoted words and quoted lines do not, and a question is none of these unless it is a request.
 */
export function classify(text: string): ImportanceType {
  let found = DEFAULT_TYPE;
  let first = true;
  for (const sentence of sentencesOf(ownWords(text.slice(0, HEAD)))) {
    const kind = kindOf(sentence, first);
    if (kind === "correction") return kind;
    if (kind === "preference" || (kind === "task" && found !== "preference")) found = kind;
    first = false;
  }
  return found;
}

/** Base importance of a text by its kind, 0.5 to 0.9. */
export function importanceOf(text: string): number {
  return BASE_IMPORTANCE[classify(text)];
}

function kindOf(sentence: string, first: boolean): ImportanceType {
  if (sentence.endsWith("?")) return shows(REQUEST, sentence) ? "task" : DEFAULT_TYPE;
  if ((first && CORRECTION_FIRST.test(sentence)) || shows(CORRECTION, sentence)) return "correction";
  if (shows(PREFERENCE, sentence)) return "preference";
  return shows(TASK, sentence) ? "task" : DEFAULT_TYPE;
}

function shows({ begins, holds }: Signs, sentence: string): boolean {
  return begins.test(sentence) || holds.test(sentence);
}

const QUOTED =
  /```[\s\S]*?(?:```|$)|`[^`\n]*`|"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|(?<![\p{L}\p{N}])'[^'\n]*'(?![\p{L}\p{N}])/gu;
const QUOTED_LINE = /^[ \t]*>.*$/gm;
/** "The sign reads: ..." */
const REPORTED =
  /\b(?:says?|said|reads?|writes?|wrote|states?|stated|asks?|asked|replied|answered|log|message|error|output) ?:\s.*$/gim;
const CODE_LINE =
  /^.*(?:[;{}][ \t]*$|=>|[=!]==?\s|\)\s*[;{]).*$|^[ \t]*(?:(?:const|let|var)\s+[\w{[]+\s*[=:]|(?:def|class|function|fn)\s+\w+\s*[({:]|import\s.+\bfrom\b|from\s+\S+\s+import\b|SELECT\s.+\sFROM\b|INSERT INTO\b|#include\b).*$/gm;

/** The text without what is only quoted in it, in lower case and with plain apostrophes. */
function ownWords(head: string): string {
  const own = /["`“«>;{=:]|(?:^|\s)'/.test(head)
    ? head.replace(QUOTED, "x").replace(QUOTED_LINE, "").replace(CODE_LINE, "").replace(REPORTED, "")
    : head;
  return (own.includes("’") ? own.replaceAll("’", "'") : own).toLowerCase();
}

/** Ends of sentences; "dr." and the like are none. */
const BOUNDARY = /(?<!\b(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|approx)\.)(?<=[.!?])["')\]]*\s+|\n+/;
/** What people say before they begin: it does not hide the beginning of a sentence. */
const INTERJECTION =
  /^(?:(?:ah|oh(?!,? no\b)|hm+|oops|ouch|sorry|well|hey|hi|um|uh|wait|ok|okay|and|but|so|also|fyi)\b[,.!:… -]*)+/;

function* sentencesOf(own: string): Generator<string> {
  for (const part of own.split(BOUNDARY, SENTENCES)) {
    const sentence = part.trim();
    const begins = INTERJECTION.exec(sentence)?.[0].length ?? 0;
    if (begins < sentence.length) yield begins === 0 ? sentence : sentence.slice(begins);
  }
}
