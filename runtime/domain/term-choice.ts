/**
 * Which rows of a store a query of words fetches, however large the store is: those whose words of the query are together
 * rare enough. Rare words fetch rows alone, commoner ones only together, the commonest only score. Pure.
 */

export interface Term {
  readonly lexeme: string;
  /** Share of the rows that contain it, 0 to 1. */
  readonly share: number;
}

export interface TermChoice {
  /** Every row that matches is fetched; null when every combination would match too many. */
  readonly fetch: TermExpression | null;
  /** Rows that are expected for it. */
  readonly expected: number;
  /** Matches that are too many to fetch them all: the newest of them will do. Null when `fetch` is expected to bring enough. */
  readonly newest: TermExpression | null;
  /** Whether any row with any of the terms matches, so that asking for less brings nothing more. */
  readonly complete: boolean;
}

/** A condition on what a row contains. */
export type TermExpression =
  | { readonly term: string }
  | { readonly all: readonly TermExpression[] }
  | { readonly any: readonly TermExpression[] };

export interface ChoiceLimits {
  /** Rows to aim at. */
  readonly wanted: number;
  /** Fewer than these are not enough, if more can be had. */
  readonly enough: number;
  /** Rows that may be fetched at most. */
  readonly most: number;
}

/** Each further one doubles the combinations; commoner ones narrow the search little. */
const MAX_COMBINED = 8;
/** Words that no counted row has can only be in rows that are not counted yet, which are few. */
const MAX_UNHEARD = 16;

interface Level {
  /** Rows match whose terms together weigh at least so much. */
  readonly weight: number;
  readonly expected: number;
}

/** `rows` are those that a search may see at all. Terms are taken to be independent of each other, which they hardly are: */
/** in truth more rows match. Null without terms. */
export function chooseTerms(terms: readonly Term[], rows: number, limits: ChoiceLimits): TermChoice | null {
  const rarestFirst = [...terms].sort((a, b) => a.share - b.share);
  const unheard = rarestFirst.filter(({ share }) => share <= 0).slice(0, MAX_UNHEARD);
  const combined = rarestFirst.filter(({ share }) => share > 0).slice(0, MAX_COMBINED);
  const always = unheard.map(({ lexeme }) => ({ term: lexeme }));
  if (combined.length === 0) {
    if (always.length === 0) return null;
    return { fetch: anyOf(always), expected: 0, newest: null, complete: unheard.length === terms.length };
  }
  const weights = combined.map(({ share }) => Math.log(1 / Math.min(0.999, share)));
  const at = (weight: number) => matching(combined, weights, 0, weight);
  const levels = levelsOf(combined, weights, rows);
  let chosen = levels.findLastIndex(({ expected }) => expected <= limits.wanted);
  if ((levels[chosen]?.expected ?? 0) < limits.enough) {
    const next = levels[chosen + 1];
    if (next !== undefined && next.expected <= limits.most) chosen += 1;
  }
  const level = levels[chosen];
  const expected = level?.expected ?? 0;
  const below = levels[chosen + 1];
  const fetched = level === undefined ? null : at(level.weight);
  return {
    fetch: fetched === null && always.length === 0 ? null : anyOf([...(fetched === null ? [] : [fetched]), ...always]),
    expected,
    newest: expected < limits.enough && below !== undefined ? at(below.weight) : null,
    complete: below === undefined && unheard.length + combined.length === terms.length,
  };
}

/** Every weight that a row can have, heaviest first, with the rows that are expected to weigh at least so much. */
function levelsOf(terms: readonly Term[], weights: readonly number[], rows: number): Level[] {
  const sets: { weight: number; share: number }[] = [];
  for (let set = 1; set < 2 ** terms.length; set += 1) {
    let weight = 0;
    let share = 1;
    for (const [index, term] of terms.entries()) {
      const contained = (set & (1 << index)) !== 0;
      weight += contained ? (weights[index] ?? 0) : 0;
      share *= contained ? term.share : 1 - term.share;
    }
    sets.push({ weight, share });
  }
  sets.sort((a, b) => b.weight - a.weight);
  const levels: Level[] = [];
  let share = 0;
  for (const [index, set] of sets.entries()) {
    share += set.share;
    // Equal weights are one level.
    const next = sets[index + 1];
    if (next === undefined || set.weight - next.weight > EPSILON) {
      levels.push({ weight: set.weight, expected: share * rows });
    }
  }
  return levels;
}

const EPSILON = 1e-9;

/** The condition that the terms from `from` on weigh at least `need`; null when they cannot. `need` is above 0. */
function matching(
  terms: readonly Term[],
  weights: readonly number[],
  from: number,
  need: number,
): TermExpression | null {
  const term = terms[from];
  const weight = weights[from];
  if (term === undefined || weight === undefined) return null;
  const without = matching(terms, weights, from + 1, need);
  const one: TermExpression = { term: term.lexeme };
  const rest = need - weight;
  const others = rest <= EPSILON ? null : matching(terms, weights, from + 1, rest);
  if (rest > EPSILON && others === null) return without;
  const having: TermExpression = others === null ? one : { all: [one, others] };
  return without === null ? having : anyOf([having, without]);
}

function anyOf(parts: readonly TermExpression[]): TermExpression {
  const flat = parts.flatMap((part) => ("any" in part ? part.any : [part]));
  const [first] = flat;
  return flat.length === 1 && first !== undefined ? first : { any: flat };
}
