import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import {
  ChannelError,
  ERROR_CODES,
  type ErrorCode,
  fromErrorBody,
  RuntimeError,
} from "../../../runtime/contracts/errors.ts";
import { shellQuote, shellWord } from "../../../runtime/contracts/shell-quote.ts";
import { causeCodeOf, codeOf, networkReason } from "../../../runtime/contracts/system-errors.ts";
import { isRecord } from "../../../runtime/contracts/values.ts";
import { isOlder } from "../../../runtime/contracts/versions.ts";

const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

describe("what an error says of itself", () => {
  test("the code is text, of an error or of what a worker made of one", () => {
    expect([refused, { code: "42P01" }, { code: 1 }, "ENOENT", null].map(codeOf)).toEqual([
      "ECONNREFUSED",
      "42P01",
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("a failed fetch tells the code of its cause, of the first address where there are several", () => {
    const several = new AggregateError([refused, new Error("other")], "all addresses failed");
    for (const cause of [refused, several]) {
      const failed = new TypeError("fetch failed", { cause });
      expect([causeCodeOf(failed), networkReason(failed)]).toEqual(["ECONNREFUSED", "ECONNREFUSED"]);
    }
  });

  test("without a code the innermost message is the reason", () => {
    expect(networkReason(new TypeError("fetch failed", { cause: new Error("bad port") }))).toBe("bad port");
    expect(networkReason("?")).toBe("connection failed");
  });
});

test.each([
  ["0.8.0", "0.8", false],
  ["0.7.4", "0.8", true],
  ["0.10.1", "0.8", false],
  ["1.9", "1.44", true],
  ["1.0.0-rc.1", "1.0.0", true],
  ["unknown", "1.0.0", false],
  ["1.0.0", "unknown", false],
])("%s is older than %s: %s", (version, than, older) => {
  expect(isOlder(version, than)).toBe(older);
});

test("quoted text is one word of a shell, whatever stands in it", () => {
  for (const text of ["plain", "it's $HOME `id`", "", "a\nb", "-x;y"]) {
    for (const quoted of [shellQuote(text), shellWord(text || "x")]) {
      expect(execFileSync("sh", ["-c", `printf %s ${quoted}`], { encoding: "utf8" })).toBe(quoted === "x" ? "x" : text);
    }
  }
  expect([shellWord("ssh://me@host:22/path"), shellWord("a b")]).toEqual(["ssh://me@host:22/path", "'a b'"]);
});

test("a record has keys", () => {
  expect([{}, [], null, "a"].map(isRecord)).toEqual([true, false, false, false]);
});

test("every code comes back from its JSON form in the class of its prefix", () => {
  // The keys of the table.
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const error = fromErrorBody({ code, message: "m", severity: "error", retryable: false });
    const [prefix = ""] = code.split("_", 1);
    expect(error.name).toBe(`${prefix[0]}${prefix.slice(1).toLowerCase()}Error`);
    expect(error.code).toBe(code);
  }
  expect(new RuntimeError("RUNTIME_INTERNAL", "m")).not.toBeInstanceOf(ChannelError);
});
