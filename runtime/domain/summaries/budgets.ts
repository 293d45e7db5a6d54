/** How much a summary may hold, and how much fits into one question to the model (specification, "Limits"). In tokens. */

export type SummaryKind = "leaf" | "branch" | "root";

/** Bounds of a summary, by its kind; in a window of 128k they hold as they are. */
export const SUMMARY_BUDGETS: Readonly<Record<SummaryKind, number>> = { leaf: 7_000, branch: 14_000, root: 20_000 };
/** A smaller window has smaller summaries, so that five leaves, or three branches, fit into it side by side. */
const WINDOW_SHARES: Readonly<Record<SummaryKind, number>> = { leaf: 0.06, branch: 0.12, root: 0.18 };
/** The smallest window in which that works. */
export const LEAST_WINDOW = 16_000;

/** The model reasons before it answers, in the same window. */
const REASONING = { most: 16_384, share: 0.2 } as const;
/** The model's own tokenizer counts otherwise than ours. */
const COUNTING_SHARE = 0.08;
/** Identifiers that a summary has to repeat may take up to this share of it. */
const IDENTIFIER_SHARE = 0.4;

export interface Budget {
  /** Of the summary. */
  readonly answer: number;
  /** Of everything that is sent along: instructions, preamble, identifiers, entries. */
  readonly input: number;
  /** Of the identifiers that the summary has to repeat. */
  readonly identifiers: number;
}

export function budgetOf(kind: SummaryKind, window: number): Budget {
  const usable = Math.max(window, LEAST_WINDOW);
  const answer = Math.min(SUMMARY_BUDGETS[kind], Math.floor(usable * WINDOW_SHARES[kind]));
  const reasoning = Math.min(REASONING.most, Math.floor(usable * REASONING.share));
  const input = usable - answer - reasoning - Math.ceil(usable * COUNTING_SHARE);
  return { answer, input, identifiers: Math.floor(answer * IDENTIFIER_SHARE) };
}
