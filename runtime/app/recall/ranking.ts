import type { MemoryHit, ScoreParts } from "../../contracts/memory.ts";
import { importanceOf } from "../../domain/importance.ts";
import type { RankingInput } from "../../domain/ranking/input.ts";
import { rankCandidates } from "../../domain/ranking/rank.ts";
import { weightedBy } from "../../domain/ranking/weights.ts";
import { type SearchWeights, temporalScore } from "../../domain/scoring.ts";
import { type Candidate, withParts } from "./candidates.ts";
import type { Features } from "./features.ts";

/** From candidates to hits: the parts of each score, the score itself, and the order. */

/** The specification's four terms of a candidate at the moment `now`. */
export function partsOf(candidate: Candidate, now: Date): ScoreParts {
  return {
    fts: candidate.fts,
    semantic: candidate.semantic ?? 0,
    temporal: temporalScore(candidate.last_accessed_at ?? candidate.happened_at, candidate.access_count, now),
    importance: candidate.importance ?? importanceOf(candidate.head),
  };
}

export interface Ranked {
  readonly candidate: Candidate;
  readonly scores: ScoreParts;
  readonly score: number;
}

/** Best first; of equal scores the newer one, of equal times the greater id, which was given later. */
export function rank(candidates: readonly Candidate[], now: Date, score: (parts: ScoreParts) => number): Ranked[] {
  return candidates
    .map((candidate) => {
      const scores = partsOf(candidate, now);
      return { candidate, scores, score: score(scores) };
    })
    .sort(
      (a, b) =>
        b.score - a.score ||
        b.candidate.created_at.getTime() - a.candidate.created_at.getTime() ||
        (a.candidate.id < b.candidate.id ? 1 : -1),
    );
}

/** A query of one word looks it up; a longer one asks for something, and what answers it need not have a word of it. */
const ASKS = 2;

/**
 * By their scores, best first. Rows that are only beside a found one and have none of the query's words are hits
 * where `neighbours` says so and the query asks for something. A tool call whose sentence is not written yet has no content.
 * With `onlyRelated` rows that have nothing of what was asked for are left out.
 */
export function rankRelevant(
  input: RankingInput<Features>,
  {
    neighbours,
    onlyRelated,
    best,
    weights,
  }: {
    readonly neighbours: boolean;
    readonly onlyRelated: boolean;
    readonly best: number;
    readonly weights: SearchWeights;
  },
): Ranked[] {
  const all = neighbours && (input.terms.length === 0 || input.terms.length >= ASKS);
  const isHit = ({ neighbour, frequencies, head }: Features, related: boolean) =>
    (related || !onlyRelated) && (!neighbour || (all && head.trim() !== "") || frequencies.some((count) => count > 0));
  const temporal = ({ lastAccessedAt, happenedAt, accessCount }: Features) =>
    temporalScore(lastAccessedAt ?? happenedAt, accessCount, input.now);
  return rankCandidates(input, { temporal, isHit, best, weights: weightedBy(weights) }).map(
    ({ candidate, score, fts }) => ({
      candidate: withParts(candidate, fts),
      score,
      scores: {
        fts,
        semantic: Math.max(0, candidate.cosine ?? 0),
        temporal: Math.min(1, temporal(candidate)),
        importance: candidate.importance,
      },
    }),
  );
}

/** A hit without expansion; `content` is the whole one. */
export function toHit({ candidate, scores, score }: Ranked, content: string): MemoryHit {
  return {
    kind: candidate.kind,
    id: candidate.id,
    conversation_id: candidate.conversation_id,
    agent: candidate.agent,
    channel: candidate.channel,
    ...(candidate.role === null ? {} : { role: candidate.role }),
    content,
    created_at: candidate.created_at.toISOString(),
    score: round(score),
    scores: {
      fts: round(scores.fts),
      semantic: round(scores.semantic),
      temporal: round(scores.temporal),
      importance: round(scores.importance),
    },
    access_count: candidate.access_count,
    ...(candidate.depth === null ? {} : { depth: candidate.depth }),
    ...(candidate.summary_kind === null ? {} : { summary_kind: candidate.summary_kind }),
  };
}

/** Six digits distinguish hits and keep the answer readable. */
function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
