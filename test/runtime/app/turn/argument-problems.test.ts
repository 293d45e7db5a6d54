import { Ajv } from "ajv";
import { expect, it } from "vitest";
import { argumentProblems } from "../../../../runtime/app/turn/argument-problems.ts";

const validate = new Ajv({ allErrors: true, strict: false }).compile({
  type: "object",
  properties: {
    mode: { enum: ["fast", "slow"] },
    version: { const: 2 },
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
  [[], "arguments must be object."],
])("names what a model has to change: %j", (args, words) => {
  expect(problems(args)).toBe(words);
});

it("names the first problems of very many", () => {
  expect(problems({ items: Array.from({ length: 5_000 }, () => 1) }).length).toBeLessThan(500);
});
