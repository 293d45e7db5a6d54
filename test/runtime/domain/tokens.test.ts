import { createRequire } from "node:module";
import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createTokenizer, fitText } from "../../../runtime/domain/tokens.ts";

const count = createTokenizer();

describe("the tokenizer", () => {
  it("counts as o200k does", () => {
    expect(count("")).toBe(0);
    expect(count("hello world")).toBe(2);
    expect(count("Tokens are counted, not guessed.")).toBe(7);
  });

  it("counts the text of a special token as text", () => {
    expect(count("<|endoftext|>")).toBeGreaterThan(1);
  });

  it("counts a long text as the library does in one piece", () => {
    const long = "The quick brown fox jumps over the lazy dog. ".repeat(1_000);
    expect(count(long)).toBe(countTokens(long));
  });

  it("counts a long text once, however many turns it is a part of", () => {
    const encoding: { countTokens(text: string): number } = createRequire(import.meta.url)(
      "gpt-tokenizer/encoding/o200k_base",
    );
    const counting = vi.spyOn(encoding, "countTokens");
    onTestFinished(() => counting.mockRestore());
    const tokens = createTokenizer();
    const long = "once and for all ".repeat(300);
    const first = tokens(long);
    const calls = counting.mock.calls.length;
    expect(calls).toBeGreaterThan(0);
    expect(tokens(long)).toBe(first);
    expect(counting.mock.calls).toHaveLength(calls);
    expect(tokens(long + long)).toBeGreaterThan(first);
  });

  it("counts an endless word in bounded time", () => {
    expect(count("a".repeat(300_000))).toBeGreaterThan(10_000);
  });
});

describe("fitText", () => {
  it("answers a well-formed head within the budget, the whole text if it fits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), fc.nat(60), (text, budget) => {
        const fitted = fitText(text, budget, count);
        expect(count(fitted)).toBeLessThanOrEqual(budget);
        expect(fitted.isWellFormed()).toBe(text.isWellFormed());
        if (count(text) <= budget) expect(fitted).toBe(text);
        else if (fitted !== "") expect(text.startsWith(fitted.slice(0, -1))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("cuts a text far longer than the budget", () => {
    const fitted = fitText("word and other. ".repeat(20_000), 100, count);
    expect(count(fitted)).toBeLessThanOrEqual(100);
    expect(count(fitted)).toBeGreaterThan(80);
    expect(fitted.endsWith("…")).toBe(true);
  });
});
