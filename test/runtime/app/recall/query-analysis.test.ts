import fc from "fast-check";
import { expect, it } from "vitest";
import { selectiveTerms } from "../../../../runtime/app/recall/query-analysis.ts";
import { anyOf, Values } from "../../../../runtime/app/recall/sql.ts";

const term = (lexeme: string, frequency: number | null) => ({ lexeme, frequency });

it("fetches candidates by the rare terms and the rarest of the common ones, and leaves the others to scoring", () => {
  const terms = [term("zanzibar", null), term("harbour", 0.001), term("ship", 0.2), term("day", 0.6)];
  expect(selectiveTerms(terms, 1_000_000)).toMatchObject({ selective: ["zanzibar", "harbour"], common: "ship" });
  expect(selectiveTerms(terms, 1_000)).toMatchObject({
    selective: ["zanzibar", "harbour", "ship", "day"],
    common: null,
  });
});

it("takes the rarest term when all are common", () => {
  const terms = [term("ship", 0.2), term("day", 0.6)];
  expect(selectiveTerms(terms, 1_000_000)).toEqual({ selective: ["ship"], common: "day", expected: 200_000 });
});

it("quotes any lexeme so that it stays one operand", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 }), (lexemes) => {
      const quoted = anyOf(lexemes) ?? "";
      const operands = [...quoted.matchAll(/'((?:''|\\\\|[^'\\])*)'/g)].map(([, inner = ""]) =>
        inner.replaceAll("''", "'").replaceAll("\\\\", "\\"),
      );
      expect(operands).toEqual(lexemes);
    }),
  );
  expect(anyOf([])).toBeNull();
});

it("numbers values in their order and makes texts storable", () => {
  const values = new Values();
  expect([values.add("a\0"), values.add(["\ud800", 1]), values.add(null)]).toEqual(["$1", "$2", "$3"]);
  expect(values.list).toEqual(["a\ufffd", ["\ufffd", 1], null]);
});
