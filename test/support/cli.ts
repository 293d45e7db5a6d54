/** Runs command lines in a home directory of their own: in a process that they share, or each in one of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { CACHE } from "../../scripts/lib/paths.js";
import { CommandServers, type Outcome } from "./command-servers.ts";
import { MINIMAL, temporaryDirectory } from "./deployment.ts";
import { runtimeEntry } from "./stand-in-entry.ts";

export const TOKEN = "cairn_test-token-of-the-owner";
const PROGRAM = fileURLToPath(new URL("./cairn.ts", import.meta.url));

export type { Outcome } from "./command-servers.ts";

/** Commands that end their process themselves, whatever hangs in it. */
const LEAVING: ReadonlySet<string> = new Set(["doctor"]);

const servers = new CommandServers();

export interface RunOptions {
  readonly input?: string;
  /** What the stand-in does otherwise; see stand-in-node.ts. */
  readonly standIn?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export interface Cli {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** In a process that commands of the file share: for what a command prints, writes and answers. */
  run(argv: readonly string[], options?: RunOptions): Promise<Outcome>;
  /** In a process of its own, to its end: for what only a process has. */
  runInOwnProcess(argv: readonly string[], options?: RunOptions): Promise<Outcome>;
  start(argv: readonly string[], options?: RunOptions): ChildProcess;
  /** Starts a stand-in node, as `start --detach` would, and ends it with the test. */
  node(options?: { readonly standIn?: string; readonly maintenance?: boolean }): Promise<ChildProcess>;
}

export async function createCli(files: { readonly configured?: boolean } = {}): Promise<Cli> {
  const home = join(await temporaryDirectory(), "home");
  await mkdir(home);
  if (files.configured !== false) await writeFile(join(home, "cairn.yaml"), MINIMAL);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: home,
    SERVICE_HOME: home,
    SERVICE_API_TOKEN: TOKEN,
    // A node of this machine's user may have the usual port.
    SERVICE_LISTEN: "127.0.0.1:0",
    CAIRN_STAND_IN: "1",
    // Half of a command's time goes into reading the sources, which stay the same from one to the next.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(CACHE, "compile"),
  };
  onTestFinished(() => endNodeOf(home));

  const start = (argv: readonly string[], { standIn = "", env: more = {} }: RunOptions = {}): ChildProcess => {
    const child = spawn(process.execPath, [PROGRAM, ...argv], {
      cwd: home,
      env: { ...env, STAND_IN: standIn, ...more },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    // A command may end before it has read what it is given.
    child.stdin?.on("error", () => undefined);
    return child;
  };

  const runInOwnProcess = (argv: readonly string[], options: RunOptions = {}): Promise<Outcome> => {
    const child = start(argv, options);
    child.stdin?.end(options.input ?? "");
    return outcomeOf(child);
  };

  return {
    home,
    env,
    start,
    run(argv, options = {}) {
      if (LEAVING.has(argv[0] ?? "")) return runInOwnProcess(argv, options);
      const { input = "", standIn = "", env: more = {} } = options;
      return servers.run({ argv, env: { ...env, STAND_IN: standIn, ...more }, cwd: home, input });
    },
    runInOwnProcess,
    async node({ standIn = "", maintenance = false } = {}) {
      const args = [runtimeEntry(), "--dir", home, "--home", home, ...(maintenance ? ["--maintenance"] : [])];
      const child = spawn(process.execPath, args, {
        env: { ...env, STAND_IN: standIn },
        stdio: ["ignore", "ignore", "inherit", "ipc"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      await once(child, "message");
      // A short-lived node ends with its parent's channel.
      if (!maintenance) child.disconnect();
      return child;
    },
  };
}

export async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  if (!child.stdout || !child.stderr) throw new Error("the process has no output to read");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, stdout, stderr };
}

/** Resolves once the process has printed the text; rejects when it ends before. */
export async function untilPrinted(child: ChildProcess, wanted: string | RegExp): Promise<string> {
  let printed = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stdout?.on("data", (piece: Buffer) => {
    printed += piece.toString("utf8");
    if (typeof wanted === "string" ? printed.includes(wanted) : wanted.test(printed)) resolve(printed);
  });
  child.once("close", () => reject(new Error(`it ended after it had printed: ${printed}`)));
  promise.catch(() => undefined);
  return promise;
}

/** A node that was started by a command outlives it. */
export async function endNodeOf(home: string): Promise<void> {
  try {
    const { pid }: { pid: number } = JSON.parse(await readFile(join(home, "run", "node.json"), "utf8"));
    if ((await readFile(`/proc/${pid}/cmdline`, "utf8")).includes("stand-in-node")) process.kill(pid, "SIGKILL");
  } catch {
    // None is left.
  }
}
