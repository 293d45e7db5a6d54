import fc from "fast-check";
import { expect, it } from "vitest";
import { anyOf, Values } from "../../../../runtime/app/recall/sql.ts";

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
