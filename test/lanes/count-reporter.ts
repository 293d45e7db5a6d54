/** Vitest reporter that leaves the outcome of a run in the file that CAIRN_TEST_COUNTS names. */

import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from "vitest/node";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface Outcome extends Counts {
  /** Names of tests that failed first and passed when they were repeated. */
  readonly repeated: readonly string[];
}

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env.CAIRN_TEST_COUNTS;
    if (file) writeFileSync(file, JSON.stringify(count(modules, unhandled)));
  }
}

/** A file, a hook or a loose promise that broke counts as one failure beside those of the tests. */
function count(modules: readonly TestModule[], unhandled: readonly SerializedError[]): Outcome {
  const tests: TestCase[] = modules.flatMap((module) => [...module.children.allTests()]);
  const suites: TestSuite[] = modules.flatMap((module) => [...module.children.allSuites()]);
  const having = (state: string): number => tests.filter((test) => test.result().state === state).length;
  const broken = [...modules, ...suites].filter((place) => place.errors().length > 0).length;
  return {
    passed: having("passed"),
    failed: having("failed") + having("pending") + broken + unhandled.length,
    skipped: having("skipped"),
    repeated: tests
      .filter((test) => test.diagnostic()?.flaky)
      .map((test) => `${test.module.relativeModuleId}: ${test.fullName}`),
  };
}
