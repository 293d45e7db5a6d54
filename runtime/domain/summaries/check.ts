/** Whether an answer may stand for what it summarizes. Nothing is cut and nothing is mended but by adding identifiers. */

import { latexIn } from "../latex.ts";
import type { CountTokens } from "../tokens.ts";
import { inventedIn, missingFrom } from "./identifiers.ts";

export interface Given {
  readonly answer: string;
  /** Whether the limit of the answer cut it off. */
  readonly truncated: boolean;
  /** Tokens. */
  readonly budget: number;
  /** Everything that the model was shown. */
  readonly source: string;
  /** Must occur in the answer. */
  readonly identifiers: readonly string[];
}

export interface Verdict {
  /** What is wrong with it, as it is said to the model; none when it may stand. */
  readonly objections: readonly string[];
  /** The answer with the identifiers that it leaves out added at its end, where nothing else is wrong and they fit. */
  readonly completed: string | null;
}

/** Of a list inside an objection. */
const MOST_NAMED = 50;

export function judge({ answer, truncated, budget, source, identifiers }: Given, count: CountTokens): Verdict {
  const text = answer.trim();
  if (text === "") return { objections: ["It was empty."], completed: null };
  const objections: string[] = [];
  const tokens = count(text);
  if (truncated) objections.push(`It was cut off at its limit of ${budget} tokens: be shorter, and come to an end.`);
  else if (tokens > budget) objections.push(`It had ${tokens} tokens; ${budget} are allowed.`);
  // What the conversation itself quotes is no mark-up of the model's.
  const latex = latexIn(text).filter((found) => !source.includes(found));
  if (latex.length > 0) objections.push(`It held LaTeX (${named(latex)}): use plain Unicode characters.`);
  const invented = inventedIn(text, source);
  if (invented.length > 0) objections.push(`It named what does not occur in the input: ${named(invented)}.`);
  const missing = missingFrom(text, identifiers);
  if (missing.length === 0) return { objections, completed: null };
  const addition = `${text}\n\nIdentifiers in system messages: ${missing.join(", ")}`;
  const completed = objections.length === 0 && count(addition) <= budget ? addition : null;
  return { objections: [...objections, `It left out identifiers of system messages: ${named(missing)}.`], completed };
}

function named(list: readonly string[]): string {
  const rest = list.length - MOST_NAMED;
  return `${list.slice(0, MOST_NAMED).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
