import fc from "fast-check";
import { expect, it } from "vitest";
import { hasMoreValues } from "../../../runtime/domain/json-size.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Objects, lists and the commas between their entries, of a parsed value. */
function structure(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const entries = Object.values(value);
  return 1 + Math.max(0, entries.length - 1) + entries.reduce((sum: number, entry) => sum + structure(entry), 0);
}

it("counts what is outside of strings, whatever strings and keys hold", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 0, max: 40 }), (value, most) => {
      expect(hasMoreValues(bytes(JSON.stringify(value)), most)).toBe(structure(value) > most);
    }),
  );
});

it.each([
  ['["a,[{\\",[{"]', 1, false],
  ["[{},{},{}]", 5, true],
  ["[{},{},{}]", 6, false],
  ['"never ends,,,,', 0, false],
  ["", 0, false],
])("of %s more than %i: %s", (text, most, more) => {
  expect(hasMoreValues(bytes(text), most)).toBe(more);
});
