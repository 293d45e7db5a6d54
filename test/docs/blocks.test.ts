import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { blocksOf, blocksOfPage, pages } from "./blocks.ts";

describe("the blocks of a page", () => {
  it("are executed unless the line above says why not", () => {
    const text =
      "# A\n\n```sh\na\nb\n```\n\n```yaml\nx: 1\n```\n\n<!-- not run here: it needs a star -->\n```sh\nc\n```\n";
    expect(blocksOf(text)).toEqual([
      { line: 4, commands: "a\nb", notRun: null },
      { line: 14, commands: "c", notRun: "it needs a star" },
    ]);
  });

  it.each([
    "<!-- not run here: why -->\n\n```sh\na\n```\n",
    "<!-- not run here: why -->\n```yaml\na\n```\n",
    "```sh\na\n",
  ])("are refused in %j", (text) => expect(() => blocksOf(text)).toThrow(/^line 1: /));
});

describe("the pages", () => {
  const all = pages().flatMap((page) => blocksOfPage(page).map((block) => ({ page, ...block })));

  it("have blocks of both kinds", () => {
    expect(all.filter(({ notRun }) => notRun === null).length).toBeGreaterThan(8);
    expect(all.filter(({ notRun }) => notRun !== null)).not.toHaveLength(0);
  });

  it("show shell commands as such: in no block of another name", () => {
    // Blocks without a name, and those of bash or console, would escape both tests.
    expect(
      pages().filter((page) => /^```(?:bash|shell|console|zsh)$/m.test(readFileSync(join(ROOT, page), "utf8"))),
    ).toEqual([]);
  });
});
