/**
 * Blocks of shell commands in the pages. A test executes them in order, in the home of somebody who has just started; one that it
 * cannot execute says why in a comment of its own line above: `<!-- not run here: it needs ... -->`.
 */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/paths.js";

export interface Block {
  /** Of its first command, from 1. */
  readonly line: number;
  readonly commands: string;
  /** Why it is not executed; null where it is. */
  readonly notRun: string | null;
}

const MARK = /^<!-- not run here: (.+) -->$/;

/** Paths of the pages for people, from the root of the repository, sorted. */
export function pages(): readonly string[] {
  return globSync(["README.md", "docs/*.md"], { cwd: ROOT }).sort();
}

/** Throws for a mark that is above nothing, and for a block that does not end. */
export function blocksOf(text: string): readonly Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  let notRun: { readonly why: string; readonly line: number } | null = null;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const why = MARK.exec(line)?.[1];
    if (why !== undefined) {
      if (lines[at + 1] !== "```sh") throw new Error(`line ${at + 1}: the mark is not above a block of shell commands`);
      notRun = { why, line: at };
    } else if (line.startsWith("```") && line !== "```") {
      const end = lines.indexOf("```", at + 1);
      if (end === -1) throw new Error(`line ${at + 1}: the block does not end`);
      const commands = lines.slice(at + 1, end).join("\n");
      if (line === "```sh") blocks.push({ line: at + 2, commands, notRun: notRun?.why ?? null });
      notRun = null;
      at = end;
    }
  }
  return blocks;
}

export function blocksOfPage(page: string): readonly Block[] {
  return blocksOf(readFileSync(join(ROOT, page), "utf8"));
}
