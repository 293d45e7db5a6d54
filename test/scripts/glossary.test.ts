import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

const ROWS = readFileSync(join(ROOT, "docs/glossary.md"), "utf8").matchAll(/^\| ([a-z ]+) \| (.+) \| `([^`]+)` \|$/gm);
const TERMS = [...ROWS].map(([, term = "", sentence = "", file = ""]) => ({ term, sentence, file }));

it("the glossary explains at least thirty terms, each once", () => {
  expect(TERMS.length).toBeGreaterThanOrEqual(30);
  expect(new Set(TERMS.map(({ term }) => term)).size).toBe(TERMS.length);
});

it.each(TERMS)("the glossary's $term is one sentence and stands in a file that exists: $file", ({ sentence, file }) => {
  expect(sentence).toMatch(/^[A-Z][^.]*(?:\.\w[^.]*)*\.$/);
  expect(existsSync(join(ROOT, file))).toBe(true);
});
