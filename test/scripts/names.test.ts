import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { refusedNames } from "../../scripts/lib/names.ts";
import { ROOT } from "../../scripts/lib/paths.js";

const namesIn = (text: string, file = "runtime/app/a.ts") => refusedNames(file, text).map(({ name }) => name);

describe("a name with a refused word", () => {
  it.each([
    ["a variable", "const known = 1;", "known"],
    ["a constant", "const LOOK_MS = 500;", "LOOK_MS"],
    ["a function", "function ringNow() {}", "ringNow"],
    ["a parameter", "const f = (claimant: string) => claimant;", "claimant"],
    ["a property", "interface A { readonly isAway: boolean }", "isAway"],
    ["a private member", "class A { #silentJobs = 1; }", "#silentJobs"],
    ["a type", "type Likeness = number;", "Likeness"],
    ["a key of an object", "const a = { besideOf: 1 };", "besideOf"],
    ["an alias", 'import { fs as toldOnce } from "x";', "toldOnce"],
    ["a type that is too general", "interface Place { readonly x: number }", "Place"],
  ])("is refused: %s", (_kind, text, name) => expect(namesIn(text)).toEqual([name]));

  it.each([
    ["an import, which another file declares", 'import { tell } from "x";'],
    ["a member of something foreign", "const a = process.stdin.unref().known;"],
    ["a word inside a longer one", "const string = 1; const lookup = 2; const settlement = 3;"],
    ["a text", 'const text = "told, away, beside";'],
    ["a comment", "/** Whoever is told looks away. */ const a = 1;"],
    ["a value with a general name", "const place = 1; const run = 2;"],
    ["an exception with a reason", "const knownHosts = 1; const leftOut = 2;"],
  ])("passes: %s", (_kind, text) => expect(namesIn(text)).toEqual([]));

  it("is refused as the name of a file", () => {
    expect(namesIn("", "runtime/workers/doorbell.ts")).toEqual(["doorbell.ts"]);
    expect(namesIn("", "runtime/workers/ticker.ts")).toEqual([]);
  });

  it("passes only in the file of its exception", () => {
    expect(namesIn("const settled = 1;", "control/wizard/draft.ts")).toEqual([]);
    expect(namesIn("const settled = 1;", "control/wizard/answer-flags.ts")).toEqual(["settled"]);
  });
});

it("the check ends with 1 and says what to write instead", () => {
  const folder = mkdtempSync(join(tmpdir(), "cairn-names-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "runtime/workers"), { recursive: true });
  const file = join(folder, "runtime/workers/a.ts");
  const check = () => spawnSync(process.execPath, [join(ROOT, "scripts/names.ts"), folder], { encoding: "utf8" });
  writeFileSync(file, "\nexport const doorbell = 1;\n");
  expect(check()).toMatchObject({ status: 1, stderr: "runtime/workers/a.ts:2: doorbell: write trigger\n" });
  writeFileSync(file, "export const trigger = 1;\n");
  expect(check()).toMatchObject({ status: 0, stderr: "" });
});
