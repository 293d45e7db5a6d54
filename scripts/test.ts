/**
 * The test command: formatting and lint, types, imports, licences, the build, then the lanes of the test suite. Ends with the
 * line `N passed, N failed[, N skipped]` over all of it; a check counts as one. Arguments go to Vitest.
 */

import { spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Counts, Outcome } from "../test/lanes/count-reporter.ts";
import { chooseLanes, LANES, requiredLanes } from "../test/lanes/lanes.ts";
import { probe } from "../test/lanes/tools.ts";
import { ROOT } from "./lib/paths.js";
import { TASKS } from "./lib/tasks.js";

/** No step may hang for ever. In milliseconds: four times what the whole takes on a quiet machine of two processors. */
const STEP_DEADLINE_MS = 48 * 60_000;

const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0 };

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort());

process.exitCode = await main(process.argv.slice(2));

async function main(vitestArgs: readonly string[]): Promise<number> {
  // The type check takes as long as the quick checks together, so they share the two cores.
  const [quick, types] = await Promise.all([
    inOrder([() => check("lint"), () => check("imports"), () => check("licences")]),
    inOrder([() => check("typecheck"), () => check("build")]),
  ]);
  const lanes = await runLanes(vitestArgs);
  const total = [...quick, ...types, lanes].reduce(add, NOTHING);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed${skipped}\n`);
  if (stop.signal.aborted) return 130;
  return total.failed > 0 ? 1 : 0;
}

async function check(name: keyof typeof TASKS): Promise<Counts> {
  const command = TASKS[name]?.command ?? [];
  const started = performance.now();
  const { code, output } = await run(command, { capture: true });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (code !== 0) process.stdout.write(output);
  say(`${name}: ${code === 0 ? "passed" : "FAILED"} (${seconds} s)`);
  return code === 0 ? { ...NOTHING, passed: 1 } : { ...NOTHING, failed: 1 };
}

async function runLanes(vitestArgs: readonly string[]): Promise<Counts> {
  const required = requiredLanes(process.env);
  const { run: found, skipped } = chooseLanes(
    LANES.filter((lane) => lane.always || required.has(lane.name)),
    required,
  );
  let failed = 0;
  for (const { lane, reason, required: isRequired } of skipped) {
    say(`lane ${lane.name}: ${isRequired ? "REQUIRED, but" : "skipped,"} ${reason}`);
    if (isRequired) failed += 1;
  }
  const sandbox = probe("bwrap");
  if (sandbox !== undefined) say(`tests of the shell sandbox: skipped, ${sandbox}`);
  const filled = found.filter(
    (lane) => globSync([...lane.include], { cwd: ROOT, exclude: [...lane.exclude] }).length > 0,
  );
  for (const lane of found.filter((one) => required.has(one.name) && !filled.includes(one))) {
    say(`lane ${lane.name}: REQUIRED, but it has no tests`);
    failed += 1;
  }
  if (filled.length === 0 || stop.signal.aborted) return { ...NOTHING, failed };
  return add(
    await vitest(
      filled.map((lane) => lane.name),
      vitestArgs,
    ),
    { ...NOTHING, failed },
  );
}

async function vitest(projects: readonly string[], args: readonly string[]): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), "cairn-test-"));
  const file = join(folder, "counts.json");
  try {
    const { code } = await run(
      [
        "node_modules/vitest/vitest.mjs",
        "run",
        ...projects.flatMap((name) => ["--project", name]),
        "--reporter=default",
        "--reporter=./test/lanes/count-reporter.ts",
        ...args,
      ],
      { env: { ...process.env, CAIRN_TEST_COUNTS: file } },
    );
    // A run that broke down leaves no counts, or only good ones.
    const counts: Outcome = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { ...NOTHING, repeated: [] };
    for (const name of counts.repeated) say(`passed only when repeated: ${name}`);
    return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs Node with `args`. The child leads a process group of its own, which ends with it: tests start processes, too. */
function run(
  args: readonly string[],
  { capture = false, env = process.env }: { capture?: boolean; env?: NodeJS.ProcessEnv } = {},
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const stdio = capture ? "pipe" : "inherit";
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ["ignore", stdio, stdio], detached: true });
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const end = (): void => signalGroup(child.pid, "SIGTERM");
    const late = setTimeout(() => {
      say(`${args[0]}: ended after ${STEP_DEADLINE_MS / 60_000} minutes`);
      signalGroup(child.pid, "SIGKILL");
    }, STEP_DEADLINE_MS);
    stop.signal.addEventListener("abort", end, { once: true });
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(late);
      stop.signal.removeEventListener("abort", end);
      signalGroup(child.pid, "SIGTERM");
      resolve({ code: code ?? 1, output });
    });
  });
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in it.
  }
}

async function inOrder(steps: readonly (() => Promise<Counts>)[]): Promise<Counts[]> {
  const results: Counts[] = [];
  for (const step of steps) if (!stop.signal.aborted) results.push(await step());
  return results;
}

function add(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
