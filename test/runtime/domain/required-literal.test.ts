import fc from "fast-check";
import { expect, it } from "vitest";
import { requiredLiteral } from "../../../runtime/domain/required-literal.ts";

it.each<[string, string | null]>([
  ["needle", "needle"],
  ["ab", null],
  ["foo|foobar", null],
  ["(foo|bar)baz+qux", "baz"],
  ["function\\s+(\\w+)", "function"],
  ["colou?r", "colo"],
  ["abcd*efg", "abc"],
  ["abcd{0,2}efg", "abc"],
  ["abcd{2}efg", "abcd"],
  ["a\\.b\\(c", "a.b(c"],
  ["\\x41bcde", "bcde"],
  ["\\u{1f600}abc", "abc"],
  ["[abc|def]ghi", "ghi"],
  ["[\\]x]yz1", "yz1"],
  ["(?<name>foo)bar\\k<name>", "bar"],
  ["\\p{Letter}abc", "abc"],
  ["^import .* from$", "import "],
  ["(?:a(b|c)[)]d)efg", "efg"],
  ["caféhouse", "house"],
  ["(?!abc)def", "def"],
])("of %s is %s", (pattern, expected) => {
  expect(() => new RegExp(pattern, "u")).not.toThrow();
  expect(requiredLiteral(pattern)).toBe(expected);
});

it("is in everything that the pattern matches", () => {
  const part = fc.oneof(
    fc.constantFrom(
      "a",
      "b",
      "c",
      "abc",
      "é",
      ".",
      "\\.",
      "\\d",
      "\\x61",
      "[ab]",
      "[^c|]",
      "(ab|c)",
      "(?:b)",
      "\\u0062",
      "^",
      "$",
    ),
    fc.constantFrom("", "?", "*", "+", "{2}", "{0,1}", "+?"),
  );
  const pattern = fc
    .array(fc.tuple(part, fc.constantFrom("", "", "", "?", "*", "+", "{2}", "{0,1}", "{1,}?", "|")), { maxLength: 8 })
    .map((parts) => parts.map(([atom, quantifier]) => atom + quantifier).join(""))
    .filter((source) => {
      try {
        return new RegExp(source, "u").source !== "";
      } catch {
        return false;
      }
    });
  fc.assert(
    fc.property(pattern, fc.string({ unit: fc.constantFrom("a", "b", "c", "é", ".", "1") }), (source, text) => {
      const literal = requiredLiteral(source);
      if (literal === null || !new RegExp(source, "u").test(text)) return;
      expect(text).toContain(literal);
    }),
    { numRuns: 5_000 },
  );
});
