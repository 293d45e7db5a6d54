/** Questions with the features of their candidates, and what share of their evidence an order of them finds. */

import { findRelevant } from "../../../runtime/app/recall/relevance.ts";
import { describe, FEATURES, type Feature } from "../../../runtime/domain/ranking/features.ts";
import { temporalScore } from "../../../runtime/domain/scoring.ts";
import { type Example, fitWeights } from "./fit.ts";
import type { Conversation } from "./locomo.ts";
import type { Mode, RecallStore } from "./store.ts";

/** At 5, 10 and 20. */
export const DEPTHS = [5, 10, 20] as const;
export type Recalls = readonly [number, number, number];

export interface AskedQuestion {
  readonly conversation: string;
  readonly category: number;
  readonly text: string;
  /** Of the evidence, whether it is among the candidates or not. */
  readonly wanted: number;
  readonly example: Example;
}

/** All features of all candidates; features that do not apply are 0. */
export async function askAll(
  store: RecallStore,
  conversations: readonly Conversation[],
  mode: Mode,
  onAsked: () => void,
): Promise<AskedQuestion[]> {
  const asked: AskedQuestion[] = [];
  for (const { id, questions } of conversations) {
    for (const { text, category, evidence } of questions) {
      const { input } = await findRelevant(store.memory.search, { query: text, mode, scope: "messages", filters: {} });
      const { columns } = describe(input, ({ happenedAt }) => temporalScore(happenedAt, 0, input.now));
      const rows = input.candidates.map((_, n) => Float64Array.from(FEATURES, (feature) => columns[feature]?.[n] ?? 0));
      const turns = new Set(evidence.map((turn) => `${id} ${turn}`));
      const holds = input.candidates.flatMap((one, n) => (turns.has(store.turns.get(one.id) ?? "") ? [n] : []));
      asked.push({ conversation: id, category, text, wanted: evidence.length, example: { rows, evidence: holds } });
      onAsked();
    }
  }
  return asked;
}

/** What is fitted; the others cannot be told from these questions. */
export const FITTED: readonly Feature[] = FEATURES.filter((feature) => feature !== "temporal");

/** The same with the committed weights, through memory_search itself. */
export async function searchAll(
  store: RecallStore,
  conversations: readonly Conversation[],
  mode: Mode,
  onAsked: () => void,
): Promise<Recalls[]> {
  const recalls: Recalls[] = [];
  for (const { id, questions } of conversations) {
    for (const { text, evidence } of questions) {
      const found = await store.ask(text, mode, Math.max(...DEPTHS));
      const share = (depth: number) =>
        evidence.filter((turn) => found.slice(0, depth).includes(`${id} ${turn}`)).length / evidence.length;
      recalls.push([share(5), share(10), share(20)]);
      onAsked();
    }
  }
  return recalls;
}

export interface LeftOut {
  readonly conversation: string;
  readonly weights: Float64Array;
  readonly recalls: readonly Recalls[];
}

/** Each conversation's questions by weights that were fitted to the others', with the given features only. */
export function leaveOneOut(asked: readonly AskedQuestion[], features: readonly Feature[]): LeftOut[] {
  const narrowed = asked.map((one) => ({ ...one, example: only(one.example, features) }));
  return [...new Set(asked.map(({ conversation }) => conversation))].map((conversation) => {
    const others = narrowed.filter((one) => one.conversation !== conversation);
    const weights = fitWeights(
      others.map(({ example }) => example),
      features.length,
    );
    const own = narrowed.filter((one) => one.conversation === conversation);
    return { conversation, weights, recalls: own.map((one) => recallsOf(one, weights)) };
  });
}

export function fitAll(asked: readonly AskedQuestion[], features: readonly Feature[]): Float64Array {
  return fitWeights(
    asked.map(({ example }) => only(example, features)),
    features.length,
  );
}

export function recallsOf({ example, wanted }: AskedQuestion, weights: Float64Array): Recalls {
  const score = (row: Float64Array) => row.reduce((sum, value, n) => sum + value * (weights[n] ?? 0), 0);
  const scores = example.rows.map(score);
  const order = [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  const evidence = new Set(example.evidence);
  const found = (depth: number) => order.slice(0, depth).filter((n) => evidence.has(n)).length / wanted;
  return [found(5), found(10), found(20)];
}

/** The mean share of the evidence that is in the first 5, 10 and 20. */
export function meanOf(recalls: readonly Recalls[]): Recalls {
  const mean = (at: 0 | 1 | 2) => recalls.reduce((sum, one) => sum + one[at], 0) / Math.max(1, recalls.length);
  return [mean(0), mean(1), mean(2)];
}

function only({ rows, evidence }: Example, features: readonly Feature[]): Example {
  const at = features.map((feature) => FEATURES.indexOf(feature));
  return { evidence, rows: rows.map((row) => Float64Array.from(at, (n) => row[n] ?? 0)) };
}
