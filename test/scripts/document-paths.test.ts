import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

const DOCUMENTS = globSync(["*.md", "docs/**/*.md"], { cwd: ROOT });
const TESTS = globSync("test/**/*.test.ts", { cwd: ROOT });
const NAMES = new Set(TESTS.map((path) => basename(path)));

/** Test files that a document names: with their path from the root or below `test/`, or by their name alone. */
function testsIn(text: string): string[] {
  return [...new Set(text.match(/[a-z][\w/-]*(?:\.[a-z\d]+)?\.test\.ts/g) ?? [])];
}

function isThere(path: string): boolean {
  return path.includes("/") ? [path, join("test", path)].some((one) => existsSync(join(ROOT, one))) : NAMES.has(path);
}

it.each(DOCUMENTS)("%s names tests that exist", (document) => {
  const missing = testsIn(readFileSync(join(ROOT, document), "utf8")).filter((path) => !isThere(path));
  // CONTRIBUTING.md shows how names of tests are formed.
  expect(missing.filter((path) => !/^x\./.test(path))).toEqual([]);
});
