import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseTerms, type TermExpression } from "../../../runtime/domain/term-choice.ts";

const LIMITS = { wanted: 400, enough: 60, most: 4_000 };
const MILLION = 1_000_000;
const term = (lexeme: string, share: number) => ({ lexeme, share });

/** Whether a row with these words matches. */
function matches(expression: TermExpression | null, words: ReadonlySet<string>): boolean {
  if (expression === null) return false;
  if ("term" in expression) return words.has(expression.term);
  if ("all" in expression) return expression.all.every((one) => matches(one, words));
  return expression.any.some((one) => matches(one, words));
}

const row = (...words: string[]) => new Set(words);

describe("the choice of what to fetch", () => {
  it("takes every row that has any of the words from a small store", () => {
    const choice = chooseTerms([term("ship", 0.02), term("day", 0.03)], 6_000, LIMITS);
    expect(choice).toMatchObject({ newest: null, complete: true });
    expect(matches(choice?.fetch ?? null, row("day"))).toBe(true);
    expect(choice?.expected).toBeCloseTo(6_000 * (1 - 0.98 * 0.97), 6);
  });

  it("lets rare words fetch alone and common ones only in company", () => {
    const terms = [term("zanzibar", 0.00005), term("harbour", 0.002), term("ship", 0.01), term("day", 0.2)];
    const { fetch = null, expected = 0 } = chooseTerms(terms, MILLION, LIMITS) ?? {};
    expect(matches(fetch, row("zanzibar"))).toBe(true);
    expect(matches(fetch, row("harbour", "ship"))).toBe(true);
    expect(matches(fetch, row("harbour"))).toBe(false);
    expect(matches(fetch, row("ship", "day"))).toBe(false);
    expect(expected).toBeLessThanOrEqual(LIMITS.wanted);
  });

  it("takes the newest matches of a word that is too common, and of several where few rows have them together", () => {
    expect(chooseTerms([term("ship", 0.1)], MILLION, LIMITS)).toMatchObject({ fetch: null, newest: { term: "ship" } });
    const rare = chooseTerms([term("ship", 0.00999), term("boat", 0.01), term("oar", 0.0001)], 300_000, LIMITS);
    expect(rare?.newest ?? null).toBeNull();
    const apart = chooseTerms([term("ship", 0.1), term("oar", 0.0001)], 100_000, LIMITS);
    expect(matches(apart?.fetch ?? null, row("oar"))).toBe(true);
    expect(matches(apart?.newest ?? null, row("ship"))).toBe(true);
  });

  it("looks for words that were never counted wherever they are", () => {
    const choice = chooseTerms([term("novel", 0), term("ship", 0.1)], MILLION, LIMITS);
    expect(matches(choice?.fetch ?? null, row("novel"))).toBe(true);
    expect(matches(choice?.newest ?? null, row("ship"))).toBe(true);
    expect(chooseTerms([term("novel", 0)], MILLION, LIMITS)).toMatchObject({
      fetch: { term: "novel" },
      complete: true,
    });
    expect(chooseTerms([], MILLION, LIMITS)).toBeNull();
  });

  it("never expects more than it may fetch, and never leaves out a heavier row than it takes", () => {
    const share = fc.double({ min: 1e-7, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        fc.uniqueArray(share, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 10_000_000 }),
        (shares, rows) => {
          const terms = shares.map((share, index) => term(`w${index}`, share));
          const choice = chooseTerms(terms, rows, LIMITS);
          expect(choice?.expected ?? 0).toBeLessThanOrEqual(LIMITS.most);
          expect(choice?.fetch === null && choice.newest === null).toBe(false);
          const weigh = (set: number) =>
            shares.reduce((sum, share, n) => sum + (set & (1 << n) ? Math.log(1 / Math.min(0.999, share)) : 0), 0);
          const sets = Array.from({ length: 2 ** shares.length - 1 }, (_, n) => n + 1);
          const wordsOf = (set: number) => row(...shares.flatMap((_, n) => (set & (1 << n) ? [`w${n}`] : [])));
          const taken = sets.filter((set) => matches(choice?.fetch ?? null, wordsOf(set))).map(weigh);
          const missed = sets.filter((set) => !matches(choice?.fetch ?? null, wordsOf(set))).map(weigh);
          expect(Math.max(0, ...missed)).toBeLessThanOrEqual(Math.min(Number.POSITIVE_INFINITY, ...taken) + 1e-6);
        },
      ),
      { numRuns: 200 },
    );
  });
});
