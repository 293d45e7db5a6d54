import type { Feature } from "./features.ts";

export type Weights = Readonly<Record<Feature, number>>;

/**
 * How much each feature counts. All but the last two are fitted to questions about long conversations (docs/search.md says how
 * and how well they do on others), then rounded. What those cannot tell, how much recency and importance count, is set:
 * enough to order what is equally relevant, never without effect.
 */
export const WEIGHTS: Weights = {
  words: 2.6,
  window: 4.3,
  sitting: 4.2,
  answer: 4.9,
  meaning: 6,
  speaker: 0.9,
  company: 2,
  date: 9.4,
  first_person: 0.9,
  statement: 0.6,
  temporal: 0.5,
  importance: 0.2,
};
