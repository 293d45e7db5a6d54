/** Which answers of a model are taken as the sentence of a tool call, and why the others are not. */

import { holdsLatex } from "../latex.ts";
import { isPastTense } from "./verbs.ts";

export type Verdict =
  | { readonly accepted: true; readonly sentence: string }
  /** `reason` ends "The answer was not taken: "; it quotes nothing of the answer but a name. */
  | { readonly accepted: false; readonly reason: string };

export interface Given {
  readonly answer: string;
  /** Whether the model was cut short. */
  readonly truncated: boolean;
  /** What the model was shown. */
  readonly instructions: string;
  /** Everything that the call holds, in full: names that the sentence uses must occur in it. */
  readonly source: string;
  readonly redact: (text: string) => string;
}

const LEAST_WORDS = 3;
const MOST_WORDS = 80;
const MOST_CHARACTERS = 700;
/** So many words in a row that the instructions have too are a quotation of them. */
const QUOTED_WORDS = 7;

const PREAMBLE =
  /^(?:sure|certainly|of course|okay|ok|here(?:'s| is| are)|the sentence|sentence|answer|summary|note|output)\b[^.]{0,40}[:,!]/i;
const REFUSAL =
  /\b(?:i(?:'m| am) (?:sorry|unable)|i (?:cannot|can't|could not|couldn't)|as an? (?:ai|language model)|not enough (?:information|context))\b/i;
const MARKDOWN = /^(?:#{1,6}\s|[-*+]\s|>\s|\d+\.\s)|\*\*[^*]+\*\*|```|\]\(https?:/m;

export function checkSentence({ answer, truncated, instructions, source, redact }: Given): Verdict {
  if (truncated) return refuse("it was cut short");
  const sentence = unwrapped(answer);
  if (sentence === "") return refuse("it is empty");
  if (/[\r\n\u2028\u2029]/.test(sentence)) return refuse("it is more than one line");
  if (PREAMBLE.test(sentence)) return refuse("it begins with words about the answer");
  if (REFUSAL.test(sentence)) return refuse("it declines");
  if (MARKDOWN.test(sentence)) return refuse("it holds Markdown");
  if (holdsLatex(sentence)) return refuse("it holds LaTeX");
  if (redact(sentence) !== sentence) return refuse("it holds a secret");
  const words = sentence.split(/\s+/);
  if (words.length < LEAST_WORDS) return refuse(`it is shorter than ${LEAST_WORDS} words`);
  if (words.length > MOST_WORDS || sentence.length > MOST_CHARACTERS)
    return refuse(`it is longer than ${MOST_WORDS} words`);
  if (!isOneSentence(sentence)) return refuse("it is not exactly one sentence that ends with a full stop");
  if (quotes(sentence, instructions)) return refuse("it repeats the instructions");
  if (!isPastTense(sentence)) return refuse("it is not in the past tense");
  const unknown = unknownName(sentence, source);
  if (unknown !== null) return refuse(`it names ${unknown}, which does not occur in the call`);
  return { accepted: true, sentence };
}

function refuse(reason: string): Verdict {
  return { accepted: false, reason };
}

/** Without what models like to put around an answer (white space, a pair of quotation marks), with the full stop that they forget. */
function unwrapped(answer: string): string {
  const text = answer.normalize("NFC").trim();
  const inner = /^(?:"([^"]*)"|“([^”]*)”)$/.exec(text);
  const sentence = (inner?.[1] ?? inner?.[2] ?? text).trim();
  return /[\p{L}\p{N}`"”')\]%]$/u.test(sentence) && !/[.!?]["”')\]]+$/.test(sentence) ? `${sentence}.` : sentence;
}

const ABBREVIATION = /(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|dr|mr|mrs|st|inc|ltd)|\b[A-Z])\.$/i;

function isOneSentence(text: string): boolean {
  if (!/[.!]["”')\]]?$/.test(text) || /\.\.\.$|…$/.test(text)) return false;
  const bare = text.replace(/`[^`]*`/g, "x").replace(/"[^"]*"|“[^”]*”/g, "x");
  for (const match of bare.matchAll(/[.!?]["”')\]]*\s+(?=\p{Lu})/gu)) {
    if (!ABBREVIATION.test(bare.slice(0, match.index + 1))) return false;
  }
  return true;
}

function quotes(sentence: string, instructions: string): boolean {
  const said = plainWords(sentence);
  const given = ` ${plainWords(instructions).join(" ")} `;
  for (let at = 0; at + QUOTED_WORDS <= said.length; at += 1) {
    if (given.includes(` ${said.slice(at, at + QUOTED_WORDS).join(" ")} `)) return true;
  }
  return false;
}

function plainWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Forms that only names have: paths, files, snake_case, letters with digits, long numbers. "and/or" is none. */
const NAME =
  /^(?:~?\/\S+|\S+\/\S*[\d._]\S*|\S+\/\S+\/\S+|\w+_\w+|[\w-]+\.[a-z]\w{0,9}|(?=\S*\d)(?=\S*[a-z])[\w.-]{4,}|#\d+|\d{4,})$/i;
/** Numbers with a unit are the model's own reading of a result: `4.2s`, `12kB`, `1st`. */
const MEASURE = /^[\d.,]+(?:st|nd|rd|th|ms|s|min|h|kb|mb|gb|kib|mib|gib|b|k|m|x|%)$/i;

/** Names of kinds of things, which identify nothing. */
const COMMON =
  /^(?:\d+-[a-z]+|e\.g|i\.e|ipv[46]|utf-?(?:8|16|32)|sha-?\d+|base64|https?\/\d(?:\.\d)?|(?:node|next|vue|three)\.js|python3|k8s|i18n|x86|amd64|arm64)$/i;

/** The first name of the sentence that the call does not hold; null when all are there. */
export function unknownName(sentence: string, source: string): string | null {
  const lowered = source.toLowerCase();
  for (const raw of sentence.split(/[\s`"“”'()[\]{}<>,;=]+/)) {
    const word = raw.replace(/^[:*!?]+|[.:*!?]+$/g, "");
    if (word === "" || !NAME.test(word) || MEASURE.test(word) || COMMON.test(word)) continue;
    if (!lowered.includes(word.toLowerCase())) return word;
  }
  return null;
}
