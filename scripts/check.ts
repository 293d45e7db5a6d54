/**
 * The quick check of a change: formatting and lint of the changed files, types, names, and the tests of the quick lanes that reach
 * them. Changed is what differs from the last commit that is also main's (an argument names another one), committed or not.
 * `npm test` stays the proof.
 */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { laneOf } from "../test/lanes/lanes.ts";
import { affordable, relatedTests } from "../test/lanes/related.ts";
import { secondsOf } from "../test/lanes/seconds.ts";
import { ROOT } from "./lib/paths.js";
import { check, runStep, say, untilEnded } from "./lib/processes.ts";
import { TASKS } from "./lib/tasks.js";

/** Seconds of a processor for tests. Two processors have the rest of the time for the types. */
const BUDGET_S = 20;

const signal = untilEnded();
process.exitCode = (await main()) ? 0 : 1;

async function main(): Promise<boolean> {
  const changed = changedFiles();
  if (changed.length === 0) {
    say("Nothing has changed.");
    return true;
  }
  const biome = TASKS["lint"]?.command.slice(0, -1) ?? [];
  const checks = [
    check("lint", [...biome, "--no-errors-on-unmatched", ...changed], signal),
    check("typecheck", TASKS["typecheck"]?.command ?? [], signal),
    check("names", TASKS["names"]?.command ?? [], signal),
  ];
  const passed = await Promise.all([...checks, runRelated(changed)]);
  return passed.every((one) => one);
}

/** Paths from the root of the repository of files that are there. */
function changedFiles(): string[] {
  const git = (...args: readonly string[]): string[] => {
    const text = execFileSync("git", [...args], { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return text.split("\0").filter((name) => name !== "");
  };
  const diff = (base: string): string[] => git("diff", "--name-only", "-z", "--no-renames", "--diff-filter=d", base);
  const files = [
    ...diff(process.argv[2] ?? mergeBase() ?? "HEAD"),
    ...git("ls-files", "--others", "--exclude-standard", "-z"),
  ];
  return [...new Set(files)].filter((file) => existsSync(join(ROOT, file))).sort();
}

/** The last commit that is also main's; undefined where there is no main. */
function mergeBase(): string | undefined {
  for (const main of ["origin/main", "main"]) {
    try {
      const args = ["merge-base", main, "HEAD"];
      return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    } catch {
      // There is no such branch here.
    }
  }
  return undefined;
}

async function runRelated(changed: readonly string[]): Promise<boolean> {
  const quickOf = (test: string): number | null => laneOf(test)?.quickS ?? null;
  const related = relatedTests(changed, (test) => quickOf(test) !== null);
  const costOf = (test: string): number => Math.max(quickOf(test) ?? 0, secondsOf(test) / 2);
  const files = affordable(related, costOf, BUDGET_S);
  const unread = related.length - files.length;
  if (unread > 0) say(`${unread} more test files reach the change; \`npm test\` runs them.`);
  if (files.length === 0) {
    say("No test of the quick lanes reaches the change.");
    return true;
  }
  const { code } = await runStep(["node_modules/vitest/vitest.mjs", "run", ...files], { signal });
  return code === 0;
}
