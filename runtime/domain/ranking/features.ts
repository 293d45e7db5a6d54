import { adjacenciesOf, bestOfSegment } from "./adjacency.ts";
import { column } from "./column.ts";
import { nearness, timesIn } from "./dates.ts";
import type { RankingCandidate, RankingInput } from "./input.ts";
import { meaning } from "./meaning.ts";
import { askedAbout, withoutNames } from "./people.ts";
import { relatedOf } from "./related.ts";
import { BM25, ownWords, PRESENCE, windowsOf, windowWords } from "./words.ts";

/** Features of a candidate, each 0 to 1. Its score is their weighted sum, with its importance. */
export const FEATURES = [
  /** Its own words. */
  "words",
  /** Its words and, by a share, those of the two rows on each side. */
  "window",
  /** The best windows of its segment: a conversation stays with its topic. */
  "session_proximity",
  /** It follows a question that has the query's words: it is the answer. */
  "answer",
  /** Cosines of it and its neighbours. */
  "meaning",
  /** A person whom the query names says it of themselves: I, my, we. */
  "speaker",
  /** A person whom the query names takes part in its conversation. */
  "participant",
  /** It is from about the time that the query names. */
  "date",
  /** It is no question. */
  "statement",
  "temporal",
] as const;

export type Feature = (typeof FEATURES)[number];

/** One value a candidate; null where the query or the store gives nothing that distinguishes candidates. */
export type FeatureColumns = Readonly<Record<Feature, Float64Array | null>>;

export interface Described {
  readonly columns: FeatureColumns;
  /** BM25 of each row in its window, which a hit reports, 0 to 1. */
  readonly fts: Float64Array;
  /** Whether each row has anything of what was asked for; every one where a person or a time was named. */
  readonly related: readonly boolean[];
}

/** An identifier that a row has letter by letter is worth as much as half of the words. */
const SIMILARITY_WORTH = 0.5;
const QUESTION = /[?？؟]/;
const FIRST_PERSON = /\b(?:I|me|my|mine|we|us|our|ours)\b/i;

/** `temporal` is what the caller computes from age and accesses, at most 1 counts. */
export function describe<Candidate extends RankingCandidate>(
  input: RankingInput<Candidate>,
  temporal: (candidate: Candidate) => number,
): Described {
  const { candidates } = input;
  const places = adjacenciesOf(candidates);
  const { terms, indexes } = withoutNames(input.terms, candidates);
  const counted = terms.map(({ idf }, n) => ({ idf, at: indexes[n] ?? -1 }));
  const given = { terms: counted, averageLength: input.averageLength, candidates };
  const withSimilarity = (values: Float64Array) =>
    values.map((value, n) => 1 - (1 - value) * (1 - SIMILARITY_WORTH * unit(candidates[n]?.similarity ?? 0)));
  const words = withSimilarity(ownWords(given, PRESENCE));
  const windows = windowsOf(given, places);
  const window = withSimilarity(windowWords(given, windows, PRESENCE));
  const anyWords = terms.length > 0 || candidates.some(({ similarity }) => similarity > 0);
  const asks = candidates.map(({ head }) => QUESTION.test(head));
  const asked = askedAbout(input.query, candidates);
  const times = timesIn(input.query, input.now);
  const fts = withSimilarity(windowWords(given, windows, BM25));
  const namesPerson = asked !== null && candidates.some(({ speaker }, n) => speaker !== null && asked.said[n] === true);
  return {
    fts,
    related: namesPerson || times.length > 0 ? candidates.map(() => true) : relatedOf(candidates, places, fts),
    columns: {
      words: anyWords ? words : null,
      window: anyWords ? window : null,
      session_proximity: anyWords ? proximityOf(candidates, window, places) : null,
      answer: anyWords ? answerOf(words, asks, places) : null,
      meaning: meaning(candidates, places),
      speaker:
        asked === null
          ? null
          : flags(candidates.map(({ head }, n) => asked.said[n] === true && FIRST_PERSON.test(head))),
      participant: asked === null ? null : flags(asked.present),
      date: times.length === 0 ? null : column(candidates, (one) => nearness(one.happenedAt, times)),
      statement: flags(asks.map((one) => !one)),
      temporal: column(candidates, (one) => unit(temporal(one))),
    },
  };
}

/** A summary covers its whole segment, and so its text counts for the segment. */
function proximityOf(
  candidates: readonly RankingCandidate[],
  window: Float64Array,
  places: ReturnType<typeof adjacenciesOf>,
): Float64Array {
  const best = bestOfSegment(window, places);
  return best.map((value, n) => (candidates[n]?.kind === "summary" ? (window[n] ?? 0) : value));
}

function answerOf(
  words: Float64Array,
  asks: readonly boolean[],
  places: ReturnType<typeof adjacenciesOf>,
): Float64Array {
  return column(places, ({ before }) => (before !== null && asks[before] === true ? (words[before] ?? 0) : 0));
}

function flags(values: readonly boolean[]): Float64Array {
  const column = new Float64Array(values.length);
  for (let n = 0; n < values.length; n += 1) if (values[n] === true) column[n] = 1;
  return column;
}

function unit(value: number): number {
  return value >= 1 ? 1 : value > 0 ? value : 0;
}
