import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { pages } from "./blocks.ts";

const LONGEST = 100;
/** The program writes it: its sentences stand in test/lanes/proved.ts. */
const GENERATED = ["docs/proofs.md"];
/** What cannot be broken: rows of tables, comments, words without a blank such as addresses and code between backticks. */
const UNBROKEN = /^\s*(?:\||<|[-*] \S+$|\S+$|[-*]? ?`[^`]*`[.,:;]*$|\[[^\]]+\]:)/;

function longLines(text: string): string[] {
  let inBlock = false;
  return text.split("\n").flatMap((line, index) => {
    if (/^\s*```/.test(line)) inBlock = !inBlock;
    const isLong = !inBlock && line.length > LONGEST && !UNBROKEN.test(line);
    return isLong ? [`${index + 1}: ${line.slice(0, LONGEST)}`] : [];
  });
}

it("long lines are found in prose, not in tables and blocks", () => {
  const words = "word ".repeat(30);
  expect(longLines(`${words}\n| ${words} |\n\`\`\`\n${words}\n\`\`\`\n- ${words}`)).toHaveLength(2);
});

/** Lines of an indented block that were joined as prose is: a second command, outside of a comment's backticks or a pipe, or a second key. */
function joinedLines(text: string): string[] {
  const joined = /^ {4}cairn [^#|]*(?:#[^`]*? |(?<!\|) )cairn [a-z]|^ {4,}\w+: \w+: /;
  return text.split("\n").filter((line) => joined.test(line));
}

it("lines of code that were joined are found", () => {
  expect(
    joinedLines("    cairn a # it goes cairn infra up\n    cairn a   # as `b`\n    target: docker: x"),
  ).toHaveLength(2);
});

it.each(pages())("%s has each line of its examples apart", (page) => {
  expect(joinedLines(readFileSync(join(ROOT, page), "utf8"))).toEqual([]);
});

it.each(pages().filter((page) => !GENERATED.includes(page)))("%s has lines of at most 100 columns", (page) => {
  expect(longLines(readFileSync(join(ROOT, page), "utf8"))).toEqual([]);
});
