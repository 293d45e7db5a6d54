import { parse } from "dotenv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderEnvFile } from "../../../infra/plan/env-file.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";

const NAMES = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,8}$/);
const AWKWARD = fc.string({
  unit: fc.constantFrom("a", "\\", "'", '"', "`", "#", " ", "\n", "$", "=", "n", "é", "{", "}"),
  maxLength: 12,
});

describe("the .env of a node", () => {
  test("is read back as it was, or refused by the name of the variable", () => {
    fc.assert(
      fc.property(fc.dictionary(NAMES, fc.oneof(AWKWARD, fc.string()), { maxKeys: 5 }), (variables) => {
        let text: string;
        try {
          text = renderEnvFile(variables);
        } catch (error) {
          expect(error).toBeInstanceOf(InfraError);
          return;
        }
        expect(parse(text)).toEqual({ ...variables });
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["a key of several lines", "-----BEGIN PRIVATE KEY-----\nMIIE+/=\n-----END PRIVATE KEY-----\n"],
    ["a quote of each kind on one line", `a'b"c\`d`],
    ["a backslash at the end", "abc\\"],
    ["a comment's sign", "abc # def"],
    ["white space around it", "  abc  "],
    ["nothing", ""],
    ["what a shell would expand", "$(rm -rf /) ${HOME}"],
  ])("holds %s", (_what, value) => {
    const variables = { A_FIRST: value, B_SECOND: "it's", C_THIRD: ' "x" # y' };
    expect(parse(renderEnvFile(variables))).toEqual(variables);
  });

  test("never repeats a value that it cannot hold", () => {
    const value = "very-secret\n'\"`";
    expect(() => renderEnvFile({ OTHER: "x", API_KEY: value })).toThrow(/API_KEY/);
    expect(() => renderEnvFile({ API_KEY: value })).not.toThrow(/very-secret/);
  });

  test("does not depend on the order of the variables", () => {
    expect(renderEnvFile({ B: "2", A: "1" })).toBe(renderEnvFile({ A: "1", B: "2" }));
  });
});
