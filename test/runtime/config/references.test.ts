import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  hasReference,
  parseTemplate,
  resolveReferences,
  type SecretReader,
} from "../../../runtime/config/references.ts";
import { ConfigError } from "../../../runtime/contracts/errors.ts";

/** As docs/configuration.md has it: `$${` stands for `${`. A function, because "$$" in a replacement text would be one "$". */
const escapeReferences = (text: string): string => text.replaceAll("${", () => "$${");

const noSecrets: SecretReader = async (reference) => {
  throw new ConfigError("CONFIG_SECRET_UNRESOLVED", `${reference} was not expected`);
};

async function resolveText(text: string, env: Record<string, string> = {}, read = noSecrets) {
  const { tree, unresolved } = await resolveReferences({ value: text }, env, read);
  return { value: tree["value"], unresolved };
}

describe("references to the environment", () => {
  test.each([
    ["${A}", { A: "1" }, "1"],
    ["a ${A} b ${B}", { A: "1", B: "2" }, "a 1 b 2"],
    ["${A}${A}", { A: "x" }, "xx"],
    ["${A:-fallback}", {}, "fallback"],
    ["${A:-fallback}", { A: "" }, "fallback"],
    ["${A:-}", {}, ""],
    ["${A:-http://h:1/p?q=1}", {}, "http://h:1/p?q=1"],
    ["$${A}", { A: "1" }, "${A}"],
    ["$$${A}", { A: "1" }, "$${A}"],
    ["$A and $ and $$ and }", { A: "1" }, "$A and $ and $$ and }"],
    ["${A}", { A: "${B}", B: "not looked at" }, "${B}"],
  ])("%s with %j is %s", async (text, env, expected) => {
    expect(await resolveText(text, env as Record<string, string>)).toEqual({ value: expected, unresolved: [] });
  });

  test.each(["${}", "${A", "${1A}", "${A-b}", "${A:-${B}}", "${A B}", "a ${"])(
    "refuses the malformed %s",
    async (text) => {
      const { value, unresolved } = await resolveText(text, { A: "1" });
      expect(value).toBe(text);
      expect(unresolved).toMatchObject([{ path: ["value"], source: "syntax" }]);
    },
  );

  test.each([
    [{}, "is not set"],
    [{ A: "" }, "is empty"],
  ])("a variable in %j is reported by name and path", async (env, words) => {
    const { unresolved } = await resolveText("key ${A}", env);
    expect(unresolved).toMatchObject([{ path: ["value"], reference: "${A}", source: "variable" }]);
    expect(unresolved[0]?.reason).toContain(`A ${words}`);
  });

  test("a name that every object inherits is no variable", async () => {
    const { unresolved } = await resolveText("${constructor}");
    expect(unresolved).toHaveLength(1);
  });

  test("any text, once escaped, means itself", () => {
    const tricky = fc.string({ unit: fc.constantFrom("$", "{", "}", "A", ":", "-") });
    fc.assert(
      fc.property(fc.oneof(tricky, fc.string()), (text) => {
        const template = parseTemplate(escapeReferences(text));
        expect(template).toEqual({ ok: true, parts: text === "" ? [] : [{ kind: "text", text }] });
      }),
    );
  });

  test("values are put in as they are, whatever they contain", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), fc.string(), async (secret, around) => {
        const before = escapeReferences(around.replaceAll("op://", ""));
        const { value } = await resolveText(`-${before} \${SECRET}`, { SECRET: secret });
        expect(value).toBe(`-${around.replaceAll("op://", "")} ${secret}`);
      }),
    );
  });
});

describe("references to the password manager", () => {
  const answers: Record<string, string> = { "op://v/i/key": "top secret", "op://v/i/other": "more" };
  const reader =
    (asked: string[]): SecretReader =>
    async (reference) => {
      asked.push(reference);
      const answer = answers[reference];
      if (answer === undefined) throw new ConfigError("CONFIG_SECRET_UNRESOLVED", `${reference}: no such item`);
      return answer;
    };

  test("are read once each, directly or through a variable", async () => {
    const asked: string[] = [];
    const tree = { a: "op://v/i/key", b: ["op://v/i/key", "${FROM_ENV}"], c: "see op://v/i/other" };
    const result = await resolveReferences(tree, { FROM_ENV: "op://v/i/other" }, reader(asked));
    expect(result.tree).toEqual({ a: "top secret", b: ["top secret", "more"], c: "see op://v/i/other" });
    expect(asked.sort()).toEqual(["op://v/i/key", "op://v/i/other"]);
    expect([...result.secrets].sort()).toEqual(["more", "top secret"]);
    expect(result.unresolved).toEqual([]);
  });

  test("that cannot be read are reported for every place that has them", async () => {
    const result = await resolveReferences({ a: "op://v/i/none", b: { c: "op://v/i/none" } }, {}, reader([]));
    expect(result.unresolved.map(({ path }) => path)).toEqual([["a"], ["b", "c"]]);
    expect(result.unresolved[0]).toMatchObject({ source: "password-manager", reason: "op://v/i/none: no such item" });
  });

  test.each([
    ["op://v/i/f", true],
    ["${A}", true],
    ["x${A:-b}y", true],
    ["$${A}", false],
    ["plain", false],
  ])("%s is recognised as a reference: %s", (text, expected) => {
    expect(hasReference(text)).toBe(expected);
  });
});
