/**
 * The test command. Without arguments: formatting and lint, types, imports, licences, names, the build, then every lane whose tools
 * are here. Paths run the tests there, and options of Vitest go to it: then only what these tests need comes before them.
 * `--lane NAME` makes what the lane needs where it can, and runs that lane alone. Ends with what was left out and how to ask
 * for it, and the line `N passed, N failed[, N skipped]` over all of it; a check counts as one.
 */

import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Counts, Outcome } from "../test/lanes/count-reporter.ts";
import { chooseLanes, LANES, type Lane, laneOf, requiredLanes } from "../test/lanes/lanes.ts";
import { type Request, readArguments } from "../test/lanes/request.ts";
import { lackOf, requiredSuites, TOOLS } from "../test/lanes/tools.ts";
import { isBuilt } from "./lib/build-stamp.js";
import { ROOT } from "./lib/paths.js";
import { check, runStep, say, untilEnded } from "./lib/processes.ts";
import { TASKS } from "./lib/tasks.js";

const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0 };
const FAILURE: Counts = { ...NOTHING, failed: 1 };

const signal = untilEnded();

process.exitCode = await main(readArguments(process.argv.slice(2)));

async function main(request: Request): Promise<number> {
  const required = new Set([...requiredLanes(process.env), ...request.lanes]);
  const suites = requiredSuites(process.env);
  const before = request.complete ? await checks() : [];
  if (required.size > 0) await prepare([...required]);
  const { lanes, omitted, failed } = choose(request, required);
  const after = [{ ...NOTHING, failed }];
  if (!request.complete && lanes.some(({ built }) => built) && !isBuilt()) after.push(await task("build"));
  const folder = mkdtempSync(join(tmpdir(), "cairn-test-"));
  try {
    const lacking = join(folder, "lacks");
    if (lanes.length > 0 && !signal.aborted) after.push(await vitest(folder, lacking, lanes, request.vitest));
    const named = existsSync(lacking) ? readFileSync(lacking, "utf8").split("\n") : [];
    const missing = TOOLS.filter((tool) => named.includes(tool) || (suites.has(tool) && lackOf(tool) !== undefined));
    for (const tool of missing.filter((one) => suites.has(one))) {
      omitted.push(`suites that need ${tool}: REQUIRED, but ${lackOf(tool)}`);
      after.push(FAILURE);
    }
    omitted.push(
      ...missing.filter((one) => !suites.has(one)).map((tool) => `suites that need ${tool}: skipped, ${lackOf(tool)}`),
    );
    return end([...before, ...after].reduce(add, NOTHING), omitted);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The type check takes as long as the build and the quick checks together, so they share the two cores. */
async function checks(): Promise<Counts[]> {
  const quick = ["lint", "build", "imports", "licences", "names"].map((name) => () => task(name));
  return (await Promise.all([inOrder(quick), inOrder([() => task("typecheck")])])).flat();
}

/** What takes minutes once is made before the tests, which have deadlines. A lane that lacks it says so itself. */
async function prepare(lanes: readonly string[]): Promise<void> {
  await runStep([...(TASKS["prepare-lanes"]?.command ?? []), ...lanes], { signal });
}

/** The lanes to run, the words about those that cannot run here, and how many of them are required. */
function choose(request: Request, required: ReadonlySet<string>): { lanes: Lane[]; omitted: string[]; failed: number } {
  const isOmitted = (lane: Lane): boolean => request.complete && lane.asked && !required.has(lane.name);
  const wanted = LANES.filter((lane) => {
    if (request.lanes.length > 0) return request.lanes.includes(lane.name);
    if (isOmitted(lane)) return false;
    const named =
      lane.always || required.has(lane.name) || request.paths.some((path) => path.includes(`.${lane.name}.`));
    return named && (request.paths.length === 0 || filesOf(lane).some((file) => matches(file, request.paths)));
  });
  if (wanted.length === 0)
    return { lanes: [], omitted: [`no test file is called ${request.paths.join(" or ")}`], failed: 1 };
  const { run, skipped } = chooseLanes(wanted, required);
  const omitted = skipped.map(
    ({ lane, reason, required: must }) => `lane ${lane.name}: ${must ? "REQUIRED, but" : "skipped,"} ${reason}`,
  );
  omitted.push(...LANES.filter(isOmitted).map(({ name }) => `lane ${name}: real tools are asked for`));
  return { lanes: [...run], omitted, failed: skipped.filter((one) => one.required).length };
}

function matches(file: string, paths: readonly string[]): boolean {
  return paths.some((path) => file.includes(path));
}

function filesOf(lane: Lane): string[] {
  return globSync([...lane.include], { cwd: ROOT }).filter((file) => laneOf(file) === lane);
}

async function vitest(
  folder: string,
  lacking: string,
  lanes: readonly Lane[],
  args: readonly string[],
): Promise<Counts> {
  const file = join(folder, "counts.json");
  const { code } = await runStep(
    [
      "node_modules/vitest/vitest.mjs",
      "run",
      ...lanes.flatMap(({ name }) => ["--project", name]),
      "--reporter=default",
      "--reporter=./test/lanes/count-reporter.ts",
      ...args,
    ],
    { env: { ...process.env, CAIRN_TEST_COUNTS: file, CAIRN_TEST_LACKS: lacking }, signal },
  );
  // A run that broke down leaves no counts, or only good ones.
  const counts: Outcome = existsSync(file)
    ? JSON.parse(readFileSync(file, "utf8"))
    : { ...NOTHING, suites: [], repeated: [] };
  for (const name of counts.repeated) say(`passed only when repeated: ${name}`);
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

function end(total: Counts, omitted: readonly string[]): number {
  if (omitted.length > 0) {
    say("\nNot run here:");
    for (const line of omitted) say(`  ${line}`);
    say("`npm test -- --lane NAME` makes what a lane needs, where it can, and runs it; REQUIRE_LANES=a,b and");
    say("REQUIRE_SUITES=a,b fail where one cannot run (CONTRIBUTING.md).");
  }
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  say(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
  if (signal.aborted) return 130;
  return total.failed > 0 ? 1 : 0;
}

async function task(name: keyof typeof TASKS): Promise<Counts> {
  return (await check(name, TASKS[name]?.command ?? [], signal)) ? { ...NOTHING, passed: 1 } : FAILURE;
}

async function inOrder(steps: readonly (() => Promise<Counts>)[]): Promise<Counts[]> {
  const results: Counts[] = [];
  for (const step of steps) if (!signal.aborted) results.push(await step());
  return results;
}

function add(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}
