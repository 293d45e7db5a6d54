/**
 * The night's command: makes what lanes need, then runs every lane whose tools are here, the nightly one as well, with random seeds
 * and both databases. Ends with what it covered and the line `N passed, N failed[, N skipped]`. Paths restrict it to the test files
 * below them; `--write` puts the results of the slow suites into docs/proofs.md, and leaves the rows of the others as they are.
 */

import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Outcome } from "../test/lanes/count-reporter.ts";
import { LANES, laneOf } from "../test/lanes/lanes.ts";
import { coverage, isSlow, mergePage, neededTools, type Proof, renderCoverage } from "../test/lanes/proofs.ts";
import { pathWithEngine } from "../test/lanes/pulumi/engine.ts";
import { lackOf } from "../test/lanes/tools.ts";
import { versionOf } from "../test/lanes/versions.ts";
import { ROOT } from "./lib/paths.js";
import { runStep, say, untilEnded } from "./lib/processes.ts";
import { TASKS } from "./lib/tasks.js";

const PAGE = join(ROOT, "docs", "proofs.md");
/** A night. */
const DEADLINE_MS = 10 * 3_600_000;

const signal = untilEnded();
const args = process.argv.slice(2);
const unknown = args.filter((word) => word.startsWith("-") && word !== "--write");
if (unknown.length > 0) {
  say(`Unknown option ${unknown.join(" ")}. Known: --write, and paths of tests.`);
  process.exitCode = 2;
} else {
  const paths = args.filter((word) => !word.startsWith("-")).map((path) => path.replace(/^\.\//, ""));
  process.exitCode = await main(paths, args.includes("--write"));
}

async function main(paths: readonly string[], write: boolean): Promise<number> {
  const files = globSync("test/**/*.test.ts", { cwd: ROOT })
    .sort()
    .filter((file) => laneOf(file) !== undefined && (paths.length === 0 || paths.some((path) => file.includes(path))));
  if (files.length === 0) {
    say(`No test file is called ${paths.join(" or ")}.`);
    return 1;
  }
  // What takes minutes once is made first: a lane that lacks it says so itself.
  const wanted = [...new Set(files.filter(isSlow).flatMap((file) => preparedFor(laneOf(file)?.name ?? "")))];
  if (wanted.length > 0) await runStep([...(TASKS["prepare-lanes"]?.command ?? []), ...wanted], { signal });
  // An engine that was built for the tests is on no PATH.
  process.env.PATH = pathWithEngine();
  // A lane's tool that is lacking is named beside each of its files.
  const lanes = LANES.filter(
    (lane) => files.some((file) => laneOf(file) === lane) && lane.needs.every((tool) => lackOf(tool) === undefined),
  );
  const { outcome, broken } = await run(
    lanes.map(({ name }) => name),
    paths,
  );
  const proofs = coverage(files, outcome.suites, (file) => {
    const tools = neededTools(file, readFileSync(join(ROOT, file), "utf8"));
    return { tools, lacks: tools.filter((tool) => lackOf(tool) !== undefined) };
  });
  const reason = (proof: Proof): string => proof.lacks.map((tool) => `${tool}: ${lackOf(tool)}`).join("; ");
  const date = new Date().toISOString().slice(0, 10);
  const tools = [...new Set(proofs.flatMap((proof) => proof.tools))];
  say(`\n${renderCoverage(proofs, { date, versions: ["node", ...tools].flatMap(versionOf), reason })}`);
  if (write && !signal.aborted) {
    const slow = globSync("test/**/*.test.ts", { cwd: ROOT }).filter(isSlow);
    const before = existsSync(PAGE) ? readFileSync(PAGE, "utf8") : "";
    writeFileSync(PAGE, mergePage(before, slow, proofs, { date, versionOf }));
    say("docs/proofs.md: written");
  }
  for (const name of outcome.repeated) say(`passed only when repeated: ${name}`);
  const failed = outcome.failed + (broken && outcome.failed === 0 ? 1 : 0);
  const skipped = outcome.skipped > 0 ? `, ${outcome.skipped} skipped` : "";
  say(`\n${outcome.passed} passed, ${failed} failed${skipped}`);
  if (signal.aborted) return 130;
  return failed > 0 ? 1 : 0;
}

/** Preparations that the files of a lane need. */
function preparedFor(lane: string): readonly string[] {
  if (lane === "nightly") return ["engine", "docker", "live-cluster"];
  return lane === "kubernetes" ? [lane, "live-cluster"] : [lane];
}

/** `broken`: Vitest failed; a run that broke down leaves no counts, or only good ones. */
async function run(
  lanes: readonly string[],
  paths: readonly string[],
): Promise<{ readonly outcome: Outcome; readonly broken: boolean }> {
  const nothing: Outcome = { passed: 0, failed: 0, skipped: 0, suites: [], repeated: [] };
  if (lanes.length === 0) return { outcome: nothing, broken: false };
  const folder = mkdtempSync(join(tmpdir(), "cairn-nightly-"));
  try {
    const file = join(folder, "counts.json");
    const projects = lanes.flatMap((name) => ["--project", name]);
    const reporters = ["--reporter=default", "--reporter=./test/lanes/count-reporter.ts"];
    const { code } = await runStep(["node_modules/vitest/vitest.mjs", "run", ...projects, ...reporters, ...paths], {
      env: { ...process.env, CAIRN_TEST_COUNTS: file },
      deadline: DEADLINE_MS,
      signal,
    });
    const outcome: Outcome = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : nothing;
    return { outcome, broken: code !== 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
