/** Whether what was typed is an answer, by the schema of the answers. Pure. */
import { holdsSecret } from "../../../runtime/config/secret-values.ts";
import type { AnswerLeaf } from "../answer-tree.ts";
import { SECRET_ANSWER } from "../parse-answers.ts";
import type { Question } from "../phases/question.ts";
import { WORDS } from "./texts.ts";

/** True, or what is wrong with it. */
export function checkTyped(question: Question, leaf: AnswerLeaf, typed: string): true | string {
  const text = typed.trim();
  if (question.kind === "names") {
    const names = namesOf(text);
    if (names.length === 0) return WORDS.required;
    return names.map((name) => checkValue(leaf, name)).find((verdict) => verdict !== true) ?? true;
  }
  if (question.kind === "pairs") {
    const pairs = pairsOf(text);
    return pairs === null ? WORDS.pair : Object.keys(pairs).length === 0 || checkValue(leaf, pairs);
  }
  if (text === "") return "required" in question && !question.required ? true : WORDS.required;
  if (question.kind === "input" && question.pattern?.test(text) === false) return question.allowed ?? WORDS.required;
  return checkValue(leaf, text);
}

/** The answer of a text that was checked. Undefined: there is none. */
export function typedAnswer(question: Question, typed: string): unknown {
  const text = typed.trim();
  if (question.kind === "names") return namesOf(text);
  if (question.kind === "pairs") return text === "" ? undefined : (pairsOf(text) ?? undefined);
  return text === "" ? undefined : text;
}

export function pairsText(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .map(([chat, agent]) => `${chat}=${agent}`)
    .join(", ");
}

function checkValue({ schema }: AnswerLeaf, value: unknown): true | string {
  if (typeof value === "string" && holdsSecret(value)) return SECRET_ANSWER;
  const result = schema.safeParse(value);
  return result.success ? true : (result.error.issues[0]?.message ?? WORDS.required);
}

function namesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];
}

function pairsOf(text: string): Record<string, string> | null {
  const parts = text.split(",").filter((part) => part.trim() !== "");
  const entries = parts.map((part) => /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(part));
  const complete = entries.filter((entry) => entry !== null);
  return complete.length < parts.length ? null : Object.fromEntries(complete.map(([, chat, agent]) => [chat, agent]));
}
