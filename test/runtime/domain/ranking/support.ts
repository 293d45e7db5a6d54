import fc from "fast-check";
import type { RankingCandidate, RankingInput } from "../../../../runtime/domain/ranking/input.ts";

/** Candidates for tests of the ranking: messages of one conversation, a minute apart, unless said otherwise. */

export const START = Date.parse("2026-03-02T12:00:00Z");
export const NOW = new Date("2026-04-01T00:00:00Z");

export function row(position: number, fields: Partial<RankingCandidate> = {}): RankingCandidate {
  return {
    kind: "message",
    id: `00000000-0000-7000-8000-${String(position).padStart(12, "0")}`,
    conversationId: "one",
    position,
    neighbour: false,
    surrounded: true,
    agent: "main",
    role: "user",
    speaker: null,
    happenedAt: new Date(START + position * 60_000),
    length: 10,
    frequencies: [],
    similarity: 0,
    cosine: null,
    lastAccessedAt: null,
    accessCount: 0,
    importance: 0.6,
    head: "It is so.",
    ...fields,
  };
}

export function inputOf(candidates: readonly RankingCandidate[], fields: Partial<RankingInput> = {}): RankingInput {
  const terms = candidates[0]?.frequencies.map((_, n) => ({ lexeme: `term${n}`, idf: 2 })) ?? [];
  return { terms, averageLength: { message: 10, summary: 60 }, query: "what is so", now: NOW, candidates, ...fields };
}

const TERMS = 3;
const SPEAKERS = [null, "Ada", "Bob Stone", "Émile"];
const HEADS = ["I did it.", "Did you?", "", "🙂 هل هذا؟", "My \u0000 word"];
const QUERIES = ["what did Ada do in May 2023?", "", "you and me", "yesterday", "3 March", "x".repeat(500)];

const candidate = fc.record({
  kind: fc.constantFrom("message", "message", "message", "summary"),
  conversationId: fc.constantFrom("one", "two", null),
  position: fc.integer({ min: 1, max: 40 }),
  neighbour: fc.boolean(),
  surrounded: fc.boolean(),
  agent: fc.constantFrom("main", null),
  role: fc.constantFrom("user", "assistant", "tool", null),
  speaker: fc.constantFrom(...SPEAKERS),
  happenedAt: fc.date({ min: new Date("1990-01-01"), max: new Date("2040-01-01"), noInvalidDate: true }),
  length: fc.integer({ min: 0, max: 5_000 }),
  frequencies: fc.array(fc.integer({ min: 0, max: 256 }), { minLength: TERMS, maxLength: TERMS }),
  similarity: fc.double({ min: 0, max: 1, noNaN: true }),
  cosine: fc.oneof(fc.double({ min: -1, max: 1, noNaN: true }), fc.constantFrom(null, Number.NaN)),
  lastAccessedAt: fc.constant(null),
  accessCount: fc.integer({ min: 0, max: 1_000 }),
  importance: fc.double({ min: 0, max: 1, noNaN: true }),
  head: fc.constantFrom(...HEADS),
} as const);

/** Any input that a store could give, and worse ones. */
export const anyInput: fc.Arbitrary<RankingInput> = fc
  .tuple(fc.array(candidate, { maxLength: 30 }), fc.constantFrom(...QUERIES), fc.integer({ min: 0, max: TERMS }))
  .map(([rows, query, terms]) => ({
    terms: Array.from({ length: terms }, (_, n) => ({ lexeme: ["ada", "did", "may"][n] ?? "", idf: 0.5 + n })),
    averageLength: { message: 12, summary: 80 },
    query,
    now: NOW,
    candidates: rows.map((one, n) => ({ ...one, id: `id-${n}` })),
  }));
