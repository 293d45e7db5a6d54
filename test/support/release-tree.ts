/**
 * The source tree of an earlier release, with its own packages and its own build: what a fleet ran before it is upgraded to this tree.
 * CAIRN_TEST_RELEASE names another commit than the newest tag before this one.
 */

import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { ROOT } from "../../scripts/lib/paths.js";

export interface ReleaseTree {
  /** As Git knows it. */
  readonly ref: string;
  readonly version: string;
  readonly root: string;
  /** The built service. */
  readonly main: string;
  remove(): Promise<void>;
}

/** The newest tag of a release below this commit; null in an archive, a shallow clone, and before the first release. */
export function earlierRelease(): string | null {
  const named = process.env.CAIRN_TEST_RELEASE;
  if (named) return named;
  try {
    return git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^").trim();
  } catch {
    return null;
  }
}

/** Takes a minute: packages are installed from the registry, or from npm's cache, and the tree is built. */
export async function buildReleaseTree(ref: string): Promise<ReleaseTree> {
  const root = await mkdtemp(join(tmpdir(), "cairn-release-"));
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true });
  try {
    const archive = join(root, "release.tar");
    git("archive", "--output", archive, ref);
    await execa("tar", ["-x", "-f", archive, "-C", root]);
    await rm(archive);
    await execa(process.execPath, ["scripts/run.js", "build"], { cwd: root, env: ownEnvironment(), extendEnv: false });
    const { version }: { version: string } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    return { ref, version, root, main: join(root, "dist", "runtime", "main.js"), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

export interface SuiteOutcome {
  readonly passed: number;
  /** Full names, each with its first line of failure. */
  readonly failed: readonly string[];
}

/** Runs the release's own tests of a lane below the paths, with its own test runner. */
export async function runSuites(
  { root }: ReleaseTree,
  lane: string,
  paths: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<SuiteOutcome> {
  const output = join(root, "suites.json");
  const { all } = await execa(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", "--project", lane, ...paths, "--reporter=json", `--outputFile=${output}`],
    { cwd: root, env: { ...ownEnvironment(), ...env }, extendEnv: false, reject: false, all: true },
  );
  const text = await readFile(output, "utf8").catch(() => {
    throw new Error(`The suites of the release did not run: ${all}`);
  });
  const report: Report = JSON.parse(text);
  const tests = report.testResults.flatMap(({ name, message, assertionResults }) =>
    // A file that could not be loaded has no tests.
    assertionResults.length > 0 ? assertionResults : [{ fullName: name, status: "failed", failureMessages: [message] }],
  );
  return {
    passed: tests.filter(({ status }) => status === "passed").length,
    failed: tests
      .filter(({ status }) => status === "failed")
      .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]?.split("\n")[0] ?? ""}`),
  };
}

/** The part of Vitest's JSON report that is read. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Without what this run's own test runner has set. */
function ownEnvironment(): Record<string, string> {
  const kept = ["PATH", "HOME", "TMPDIR", "LANG", "npm_config_cache", "npm_config_registry"];
  return Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
