/** Whether a summary is accepted. Nothing is cut and nothing is mended but by adding identifiers. */

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

export interface Objection {
  /** Message for the model; may quote the source. */
  readonly words: string;
  /** The same for logs and operators: quotes nothing. */
  readonly reason: string;
}

export interface Verdict {
  /** What is wrong with it; none when it is accepted. */
  readonly objections: readonly Objection[];
  /** The answer with the identifiers that it leaves out added at its end, where nothing else is wrong and they fit. */
  readonly completed: string | null;
}

/** Of a list inside an objection. */
const MOST_NAMED = 50;

export function checkSummary({ answer, truncated, budget, source, identifiers }: Given, count: CountTokens): Verdict {
  const text = answer.trim();
  if (text === "") return { objections: [{ words: "It was empty.", reason: "it is empty" }], completed: null };
  const objections: Objection[] = [];
  const tokens = count(text);
  if (truncated) {
    const words = `It was cut off at its limit of ${budget} tokens: be shorter, and come to an end.`;
    objections.push({ words, reason: `it was cut off at ${budget} tokens` });
  } else if (tokens > budget) {
    const words = `It had ${tokens} tokens; ${budget} are allowed.`;
    objections.push({ words, reason: `it has ${tokens} tokens where ${budget} are allowed` });
  }
  // What the conversation itself quotes is no mark-up of the model's.
  const latex = latexIn(text).filter((found) => !source.includes(found));
  if (latex.length > 0) {
    objections.push({
      words: `It held LaTeX (${named(latex)}): use plain Unicode characters.`,
      reason: "it holds LaTeX",
    });
  }
  const invented = inventedIn(text, source);
  if (invented.length > 0) {
    const words = `It named what does not occur in the input: ${named(invented)}.`;
    objections.push({ words, reason: `it names ${invented.length} identifiers that its input does not hold` });
  }
  const missing = missingFrom(text, identifiers);
  if (missing.length === 0) return { objections, completed: null };
  const addition = `${text}\n\nIdentifiers in system messages: ${missing.join(", ")}`;
  const completed = objections.length === 0 && count(addition) <= budget ? addition : null;
  const words = `It left out identifiers of system messages: ${named(missing)}.`;
  const reason = `it leaves out ${missing.length} identifiers of system messages`;
  return { objections: [...objections, { words, reason }], completed };
}

function named(list: readonly string[]): string {
  const rest = list.length - MOST_NAMED;
  return `${list.slice(0, MOST_NAMED).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
