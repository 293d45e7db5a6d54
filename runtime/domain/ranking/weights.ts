import type { Feature } from "./features.ts";

export type Weights = Readonly<Record<Feature | "importance", number>>;

/**
 * How much each feature counts. All but the last two are fitted to questions about long conversations (docs/search.md says how
 * and how well they do on others), then rounded. What those cannot tell, how much recency and importance count, is set:
 * enough to order what is equally relevant, never without effect.
 */
export const WEIGHTS: Weights = {
  words: 2.7,
  window: 5.8,
  sitting: 4.9,
  answer: 3.2,
  meaning: 5,
  speaker: 1.1,
  company: 4.9,
  date: 11.4,
  statement: 0.6,
  temporal: 0.5,
  importance: 0.2,
};
