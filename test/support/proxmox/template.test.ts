import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { moveInto } from "./template.ts";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "cairn-template-"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function draft(name: string): string {
  const folder = join(base, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "made-by"), name);
  return folder;
}

it("a template that another suite finished first stays, and counts as made", () => {
  const folder = join(base, "template");
  moveInto(draft("first"), folder);
  moveInto(draft("second"), folder);
  expect(readFileSync(join(folder, "made-by"), "utf8")).toBe("first");
  expect(existsSync(join(base, "second"))).toBe(true);
});

it("any other failure is one", () => {
  expect(() => moveInto(draft("first"), join(base, "missing", "template"))).toThrow(/ENOENT/);
});
