/** Which test files a change reaches, the nearest first. */

import { globSync } from "node:fs";
import { ROOT } from "../../scripts/lib/paths.js";
import { importReader, reachOf } from "./imports.ts";

/**
 * Test files that import a changed file, by whatever way. Commands and programs are found by their place and not imported:
 * for a changed file that no test reaches, the tests of its folder.
 */
export function relatedTests(changed: readonly string[], wanted: (test: string) => boolean): string[] {
  const tests = globSync("test/**/*.test.ts", { cwd: ROOT }).filter(wanted);
  const read = importReader();
  const reach = new Map(tests.map((test) => [test, reachOf(test, read)]));
  const related = new Set<string>();
  for (const file of changed) {
    const direct = tests.filter((test) => reach.get(test)?.has(file));
    const folder = `test/${file.split("/").slice(0, -1).join("/")}/`;
    for (const test of direct.length > 0 ? direct : tests.filter((test) => test.startsWith(folder))) related.add(test);
  }
  return nearestFirst([...related], changed);
}

/** Tests that stand nearest to a changed file first; a changed test itself is the nearest. */
export function nearestFirst(tests: readonly string[], changed: readonly string[]): string[] {
  const near = new Map(tests.map((test) => [test, Math.max(0, ...changed.map((file) => nearness(test, file)))]));
  return tests.toSorted((a, b) => (near.get(b) ?? 0) - (near.get(a) ?? 0));
}

/** As many as fit into the budget, in their order: one that is too long leaves room for those behind it. */
export function affordable(tests: readonly string[], costOf: (test: string) => number, budget: number): string[] {
  let spent = 0;
  return tests.filter((test) => {
    const cost = costOf(test);
    if (spent + cost > budget) return false;
    spent += cost;
    return true;
  });
}

/** How many parts both paths share: a file's tests stand at the same path below `test/`. */
function nearness(test: string, changed: string): number {
  if (test === changed) return Number.POSITIVE_INFINITY;
  const parts = (path: string): string[] => path.replace(/^test\//, "").split(/[/.]/);
  const other = parts(changed);
  const own = parts(test);
  const differs = own.findIndex((part, at) => part !== other[at]);
  return differs === -1 ? own.length : differs;
}
