/** Vitest reporter that leaves the outcome of a run in the file that CAIRN_TEST_COUNTS names. */

import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from "vitest/node";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** A test file, as a run of `npm run nightly` tells of it. */
export interface SuiteResult extends Counts {
  /** From the root of the repository. */
  readonly file: string;
  /** Of its first `describe`, else the file's name. */
  readonly title: string;
  /** Milliseconds. */
  readonly duration: number;
}

export interface Outcome extends Counts {
  readonly suites: readonly SuiteResult[];
  /** Names of tests that failed first and passed when they were repeated. */
  readonly repeated: readonly string[];
}

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env.CAIRN_TEST_COUNTS;
    if (file) writeFileSync(file, JSON.stringify(count(modules, unhandled)));
  }
}

/** A loose promise that broke counts as one failure beside those of the files. */
function count(modules: readonly TestModule[], unhandled: readonly SerializedError[]): Outcome {
  const tests: TestCase[] = modules.flatMap((module) => [...module.children.allTests()]);
  const suites = modules.map(suiteOf);
  const sum = (key: keyof Counts): number => suites.reduce((total, suite) => total + suite[key], 0);
  return {
    passed: sum("passed"),
    failed: sum("failed") + unhandled.length,
    skipped: sum("skipped"),
    suites,
    repeated: tests
      .filter((test) => test.diagnostic()?.flaky)
      .map((test) => `${test.module.relativeModuleId}: ${test.fullName}`),
  };
}

/** A file or a hook that broke counts as one failure beside those of its tests. */
function suiteOf(module: TestModule): SuiteResult {
  const tests = [...module.children.allTests()];
  const suites: TestSuite[] = [...module.children.allSuites()];
  const having = (state: string): number => tests.filter((test) => test.result().state === state).length;
  const broken = [module, ...suites].filter((place) => place.errors().length > 0).length;
  return {
    file: module.relativeModuleId,
    title: suites[0]?.name ?? basename(module.relativeModuleId),
    passed: having("passed"),
    failed: having("failed") + having("pending") + broken,
    skipped: having("skipped"),
    duration: Math.round(module.diagnostic().duration),
  };
}
