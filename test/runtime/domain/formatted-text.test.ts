import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formattedText } from "../../../runtime/domain/formatted-text.ts";

/** Each with the part of the text that it is about. */
function shown(markdown: string): [string, ...string[]] {
  const { text, formats } = formattedText(markdown);
  const parts = formats.map(({ type, offset, length, language, url }) =>
    [type, text.slice(offset, offset + length), language ?? url].filter(Boolean).join(": "),
  );
  return [text, ...parts];
}

describe("Markdown is shown", () => {
  it.each<[string, [string, ...string[]]]>([
    ["**a** _b_ ~~c~~ `d`", ["a b c d", "bold: a", "italic: b", "strikethrough: c", "code: d"]],
    ["***both*** and **a *b* c**", ["both and a b c", "italic: both", "bold: both", "bold: a b c", "italic: b"]],
    ["**use `x` now**", ["use x now", "bold: use", "code: x", "bold: now"]],
    ["😀 **é😀**", ["😀 é😀", "bold: é😀"]],
    ["# One **two**\n\ntext", ["One two\n\ntext", "bold: One two"]],
    ["Title\n===\ntext", ["Title\ntext", "bold: Title"]],
    ["```ts\nlet a = '**';\n```\nafter", ["let a = '**';\nafter", "pre: let a = '**';: ts"]],
    ["```js with words\nx\n```", ["js with words\nx", "pre: x"]],
    ["```\nnot closed", ["not closed", "pre: not closed"]],
    ["```\n    if x:\n        y\n```\n", ["    if x:\n        y", "pre:     if x:\n        y"]],
    ["\n  \n```\n  a\n```\nb", ["  a\nb", "pre:   a"]],
    ["> a **b**\n> c\n\nd", ["a b\nc\n\nd", "blockquote: a b\nc", "bold: b"]],
    ["> > a", ["> a", "blockquote: > a"]],
    ["- a\n- **b**\n  1. c", ["- a\n- b\n  1. c", "bold: b"]],
    ["[a *b*](https://example.org/?q=1)", ["a b", "text_link: a b: https://example.org/?q=1", "italic: b"]],
    ["[`a`](https://example.org)", ["a", "text_link: a: https://example.org"]],
    ["[a](javascript:alert(1)) [b](/c) [d](file:///e)", ["[a](javascript:alert(1)) [b](/c) [d](file:///e)"]],
    ["[a](mailto:a@example.org) <a@example.org>", ["[a](mailto:a@example.org) <a@example.org>"]],
    [
      "[a](tg://user?id=1) <https://example.org>",
      ["[a](tg://user?id=1) https://example.org", "text_link: https://example.org: https://example.org"],
    ],
    ["<b>a</b> &amp; \\*b\\*", ["<b>a</b> &amp; *b*"]],
    ["\ufeff**a** b", ["a b", "bold: a"]],
    [
      "> **a**\r\n> b\r\n\r\n```ts\r\nc\r\n```\r\n-\t*d*",
      ["a\r\nb\r\n\r\nc\r\n-\td", "blockquote: a\r\nb", "bold: a", "pre: c: ts", "italic: d"],
    ],
    ["half **a `b", ["half **a `b"]],
    ["| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |\n|---|---|\n| 1 | 2 |"]],
    ["2 * 3 * 4 and snake_case_name", ["2 * 3 * 4 and snake_case_name"]],
    ["```\n```", ["```\n```"]],
    ["`` `a` `` \\", ["`a` \\", "code: `a`"]],
  ])("%j", (markdown, expected) => {
    expect(shown(markdown)).toEqual(expected);
  });
});

const WORD = fc.stringMatching(/^[a-z😀é]{1,6}$/u);
const MARK = fc.constantFrom(
  "**",
  "*",
  "_",
  "~~",
  "`",
  "``",
  "```",
  "\n",
  "\n\n",
  "> ",
  "# ",
  "- ",
  " ",
  "[",
  "](https://e.org)",
  "\\",
  "~~~\n",
  "<b>",
  "\n===\n",
  "    ",
);
const MARKDOWN = fc.array(fc.oneof(WORD, MARK), { maxLength: 60 }).map((parts) => parts.join(""));

it("loses no word, and formats are within the text, of whole characters, nested, and beside code", () => {
  fc.assert(
    fc.property(MARKDOWN, (markdown) => {
      const { text, formats } = formattedText(markdown);
      const words = (of: string): string => of.replaceAll("https://e.org", "").replaceAll(/[^a-z😀é]/gu, "");
      const fences = [...formats.map(({ language = "" }) => language)].join("").length;
      expect(words(text).length + fences).toBeGreaterThanOrEqual(words(markdown).length);
      expect(text.length).toBeLessThanOrEqual(markdown.length);
      for (const [index, { type, offset, length }] of formats.entries()) {
        const part = text.slice(offset, offset + length);
        expect(/^(?:code|pre)$/.test(type) ? part.trimEnd().replace(/^\s*\n/, "") : part.trim()).toBe(part);
        expect(part).not.toBe("");
        expect(offset >= 0 && offset + length <= text.length).toBe(true);
        expect([part.isWellFormed(), text.slice(0, offset).isWellFormed()]).toEqual([true, true]);
        for (const inner of formats.slice(index + 1)) {
          if (inner.offset >= offset + length) continue;
          expect(inner.offset + inner.length).toBeLessThanOrEqual(offset + length);
          expect(type).not.toMatch(/^(?:code|pre)$/);
          if (/^(?:code|pre)$/.test(inner.type)) expect(type).toBe("blockquote");
          expect(inner.type).not.toBe(type);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

it("takes what is nested deeply, or never closed", () => {
  for (const unit of ["> ", "*", "[", "- ", "**a ", "`", "~~a", "![", "<", "_a_*", "[a]("]) {
    const markdown = unit.repeat(4_096 / unit.length);
    expect(formattedText(markdown).text.length).toBeGreaterThan(0);
  }
});
