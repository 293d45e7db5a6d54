/**
 * The quick check of a change: formatting and lint of the changed files, types, and the tests of the quick lanes that reach
 * them. Changed is what differs from main's last common commit, is not committed, or is new; an
 * argument names another commit than that one. `npm test` stays the proof.
 */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { createVitest, type TestSpecification } from "vitest/node";
import { LANES } from "../test/lanes/lanes.ts";
import { nearestFirst } from "../test/lanes/nearest.ts";
import { ROOT } from "./lib/paths.js";
import { check, say, untilEnded } from "./lib/processes.ts";
import { TASKS } from "./lib/tasks.js";

/** Files outside the lane `pure`, which cost a second or more each: the nearest ones. */
const MOST_OTHERS = 10;

const signal = untilEnded();
process.exitCode = (await main()) ? 0 : 1;
// A store's thread or a server of a test that was given up would keep the process.
process.exit();

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
  ];
  const tests = await runRelated(changed);
  const passed = await Promise.all(checks);
  return tests && passed.every((one) => one);
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
  const vitest = await createVitest("test", {
    root: ROOT,
    watch: false,
    related: changed.map((file) => join(ROOT, file)),
    project: LANES.filter((lane) => lane.quick).map(({ name }) => name),
  });
  try {
    const found = await vitest.getRelevantTestSpecifications();
    const pure = found.filter(({ project }) => project.name === "pure");
    const others = nearestFirst(
      found.filter((one) => !pure.includes(one)),
      changed,
      ({ moduleId }: TestSpecification) => relative(ROOT, moduleId),
    );
    const run = [...pure, ...others.slice(0, MOST_OTHERS)];
    if (run.length > 0) await vitest.runTestSpecifications(run);
    const left = others.length - MOST_OTHERS;
    if (left > 0) say(`${left} more test files reach the change; npm test runs them.`);
    if (run.length === 0) say("No test of the quick lanes reaches the change.");
    return !vitest.state.getTestModules().some((module) => !module.ok()) && process.exitCode !== 1;
  } finally {
    await vitest.close();
  }
}
