import { describe, expect, it } from "vitest";
import { beginningNote, beginningOf } from "../../../runtime/domain/reply-beginning.ts";

describe("the beginning of a text", () => {
  it("is the text where it has at most 40,000 characters, and nothing is said", () => {
    for (const text of ["", "Half", "x".repeat(40_000)]) {
      expect([beginningOf(text), beginningNote(text)]).toEqual([text, null]);
    }
  });

  it("of a longer one ends between words, and its length is said", () => {
    const text = "word ".repeat(800_000);
    const beginning = beginningOf(text);
    expect(beginning.length).toBeGreaterThan(39_000);
    expect(beginning.length).toBeLessThanOrEqual(40_000);
    expect(text.startsWith(beginning)).toBe(true);
    expect(beginning.endsWith("word ")).toBe(true);
    expect(beginningNote(text)).toContain("4,000,000 characters");
  });

  it("never ends within a character, nor in a code block that is not closed", () => {
    expect(beginningOf("😀".repeat(100_000)).isWellFormed()).toBe(true);
    expect(beginningOf(`\`\`\`ts\n${"line\n".repeat(100_000)}\`\`\``)).toMatch(/^```ts\nline[\s\S]*line\n```$/);
  });

  it("grows with the text and then stays the same", () => {
    const text = "word ".repeat(20_000);
    const written = [50_000, 79_999, 80_001, 100_000].map((length) => beginningOf(text.slice(0, length)));
    expect(new Set(written).size).toBe(1);
  });
});
