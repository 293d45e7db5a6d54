import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { configurationPage } from "../../scripts/lib/configuration-page.ts";

test("docs/configuration.md is what the schema says; `node scripts/configuration-page.ts` writes it", async () => {
  const written = (await readFile(new URL("../../docs/configuration.md", import.meta.url), "utf8")).split("\n");
  const made = configurationPage().split("\n");
  // Line by line: the runner's own comparison of two long texts takes minutes.
  expect(made.filter((line) => !written.includes(line))).toEqual([]);
  expect(written.filter((line) => !made.includes(line))).toEqual([]);
  expect(written.length).toBe(made.length);
});

test("every key of the reference says what is allowed", () => {
  const rows = configurationPage()
    .split("\n")
    .filter((line) => /^\| `[a-z_]+(?:\.|` \|)/.test(line) && line.split(" | ").length === 4);
  expect(rows.length).toBeGreaterThan(150);
  expect(rows.filter((row) => row.split(" | ")[1]?.trim() === "")).toEqual([]);
});
