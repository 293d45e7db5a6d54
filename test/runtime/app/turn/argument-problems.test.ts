import { Ajv } from "ajv";
import { expect, it } from "vitest";
import { argumentProblems } from "../../../../runtime/app/turn/argument-problems.ts";

const validate = new Ajv({ allErrors: true, strict: false }).compile({
  type: "object",
  properties: {
    mode: { enum: ["fast", "slow"] },
    version: { const: 2 },
    map: { type: "object", propertyNames: { pattern: "^[a-z]*$" } },
    long: { enum: Array.from({ length: 5_000 }, (_, value) => value) },
    items: {
      type: "array",
      items: {
        type: "object",
        properties: { state: { type: "string" } },
        required: ["state"],
        additionalProperties: false,
      },
    },
  },
});

const problems = (args: unknown) => (validate(args) ? "" : argumentProblems(validate.errors ?? []));

it.each([
  [
    { items: [{ status: "open" }] },
    "arguments/items/0 must have required property 'state'; arguments/items/0 must NOT have the property 'status'.",
  ],
  [{ mode: "quick" }, 'arguments/mode must be one of ["fast","slow"].'],
  [{ version: 1 }, "arguments/version must be 2."],
  [{ map: { A: 1 } }, /arguments\/map must NOT have the property 'A'/],
  [[], "arguments must be object."],
])("names what a model has to change: %j", (args, words) => {
  if (typeof words === "string") expect(problems(args)).toBe(words);
  else expect(problems(args)).toMatch(words);
});

it("bounds what it names", () => {
  const many = problems({ items: Array.from({ length: 5_000 }, () => 1) });
  expect(many).toMatch(/; and 4990 more\.$/);
  expect(many.length).toBeLessThan(500);
  expect(problems({ long: "x" }).length).toBeLessThan(400);
  expect(problems({ items: [{ state: "x", ["y".repeat(200_000)]: 1 }] }).length).toBeLessThan(400);
});
