import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitText } from "../../../runtime/domain/splitting.ts";

describe("splitting a long message", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 400 }),
    fc.string({ unit: fc.constantFrom("a", " ", "\n", ". ", "\u{1f600}", "\n\n", "字"), maxLength: 400 }),
  );

  it("loses and adds nothing, and keeps every piece within the limit and not empty", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 80 }), (text, limit) => {
        const pieces = splitText(text, limit);
        expect(pieces.join("")).toBe(text);
        for (const piece of pieces) {
          expect(piece.length).toBeGreaterThan(0);
          expect(piece.length).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });

  it("never cuts a character in two", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 80 }), (text, limit) => {
        fc.pre(text.isWellFormed());
        expect(splitText(text, limit).every((piece) => piece.isWellFormed())).toBe(true);
      }),
    );
  });

  it.each([
    ["between paragraphs", "one two three.\n\nfour five six", 20, "one two three.\n\n"],
    ["between lines where there is no paragraph", "one two three\nfour five six", 20, "one two three\n"],
    ["between sentences where there is no line", "One two three. Four five six", 20, "One two three. "],
    ["between words where there is no sentence", "one two three four five", 16, "one two three "],
    ["between characters where there is nothing", "abcdefghij", 4, "abcd"],
    ["before a character that does not fit", "abc\u{1f600}d", 4, "abc"],
  ])("cuts %s", (_where, text, limit, first) => {
    expect(splitText(text, limit)[0]).toBe(first);
  });

  it("refuses a limit that holds no character", () => {
    expect(() => splitText("a", 1)).toThrow(RangeError);
  });
});
