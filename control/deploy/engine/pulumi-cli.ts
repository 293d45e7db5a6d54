/**
 * The Pulumi command: found on PATH, or installed on first use, and run so that a Ctrl-C of the terminal reaches it only
 * through us. Everything that it prints stays here; a run that fails is thrown as a PulumiFailure.
 */

import { existsSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import process from "node:process";
import type { PulumiCommand } from "@pulumi/pulumi/automation/index.js";
import { execa } from "execa";
import type { Environment } from "../../../runtime/config/index.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { isOlder } from "../../../runtime/contracts/versions.ts";
import { killGroup } from "../../service/processes.ts";
import { type EngineOutput, engineOutput } from "./engine-output.ts";

/** The oldest engine that has everything we use: inline programs for `destroy`, events over gRPC. */
export const OLDEST_ENGINE = "3.206.0";

/** Undefined takes a variable out of the environment of a child. */
const NO_PASSPHRASE = { PULUMI_CONFIG_PASSPHRASE: undefined };

/** Milliseconds between the second request to stop and the kill. */
const KILL_AFTER_MS = 5_000;

/** Characters of the reason why it could not be installed. */
const LONGEST_REASON = 200;

/** Commands of the engine that go on for minutes, and have to end well also when ours is killed. */
const OPERATIONS = ["up", "preview", "destroy", "refresh"];

export interface PulumiCli {
  /** Absolute path. */
  readonly command: string;
  readonly version: string;
  /** For the Automation API. */
  readonly automation: PulumiCommand;
  /** One command of the engine, with text for its standard input. */
  run(args: readonly string[], options: RunOptions): Promise<{ readonly stdout: string }>;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Asks the engine to stop once its current steps are done. */
  readonly signal?: AbortSignal | undefined;
}

/** The engine ended with an error, or could not be started. Its words are for `describeEngineFailure` alone. */
export class PulumiFailure extends Error {
  readonly stderr: string;
  readonly stdout: string;
  /** Whether it ended because it was asked to. */
  readonly cancelled: boolean;

  /** The failure of the process is no cause of it: its text repeats the engine's output unredacted. */
  constructor(result: { readonly stderr: string; readonly stdout: string; readonly cancelled: boolean }) {
    super("The Pulumi engine failed");
    this.name = "PulumiFailure";
    this.stderr = result.stderr;
    this.stdout = result.stdout;
    this.cancelled = result.cancelled;
  }
}

export interface FindOptions {
  readonly env: Environment;
  /** Where it is installed when PATH has none: `<home>/pulumi`. */
  readonly installRoot: string;
  /** Ends the engine at once, with what it is doing. */
  readonly killSignal: AbortSignal;
  readonly report: (text: string) => void;
  /** Milliseconds that it gets to end by itself after the kill signal. */
  readonly killAfterMs?: number;
}

/** Version of the engine at `command`, or null when it does not answer as one. */
export type ReadVersion = (command: string) => Promise<string | null>;
export type Install = (root: string) => Promise<void>;

/**
 * INFRA_TOOL_MISSING when there is none and it cannot be installed, or when the one on PATH is too old. `parts` are there
 * for tests.
 */
export async function findPulumi(
  options: FindOptions,
  parts: { readonly readVersion?: ReadVersion; readonly install?: Install } = {},
): Promise<PulumiCli> {
  const readVersion = parts.readVersion ?? versionOf;
  const installed = join(options.installRoot, "bin", "pulumi");
  const command = onPath("pulumi", options.env) ?? (existsSync(installed) ? installed : null);
  if (command === null) {
    options.report(`Installing Pulumi into ${options.installRoot}`);
    await (parts.install ?? installPulumi)(options.installRoot).catch((error: unknown) => {
      throw toolMissing(`Pulumi is not on PATH and could not be installed: ${lastWordsOf(error)}.`, error);
    });
  }
  const found = command ?? installed;
  const version = await readVersion(found);
  if (version === null) throw toolMissing(`${found} does not work as Pulumi.`);
  if (isOlder(version, OLDEST_ENGINE)) {
    throw toolMissing(`${found} is Pulumi ${version}; at least ${OLDEST_ENGINE} is needed.`);
  }
  return pulumiCli(found, version, options);
}

/** The installer's own output ends with what stopped it. */
function lastWordsOf(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).split("\n").map((line) => line.trim());
  const last = lines.findLast((line) => line !== "") ?? "no reason was given";
  return last.slice(0, LONGEST_REASON).replace(/\.$/, "");
}

function toolMissing(message: string, cause?: unknown): InfraError {
  return new InfraError("INFRA_TOOL_MISSING", message, {
    hint: `Install Pulumi ${OLDEST_ENGINE} or newer (https://www.pulumi.com/docs/install/) and put it on PATH.`,
    ...(cause === undefined ? {} : { cause }),
  });
}

async function versionOf(command: string): Promise<string | null> {
  const result = await execa(command, ["version"], {
    reject: false,
    stdin: "ignore",
    timeout: 30_000,
    env: { PULUMI_SKIP_UPDATE_CHECK: "true" },
  });
  return /^v?(\d+\.\d+\.\d+)/.exec(String(result.stdout ?? "").trim())?.[1] ?? null;
}

/** By the Automation API's own installer: the version that belongs to it, from where Pulumi publishes it. */
async function installPulumi(root: string): Promise<void> {
  const { PulumiCommand: Command } = await import("@pulumi/pulumi/automation/index.js");
  await Command.install({ root });
}

function onPath(name: string, env: Environment): string | null {
  const folders = (env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

function pulumiCli(
  command: string,
  version: string,
  { killSignal, killAfterMs = KILL_AFTER_MS }: FindOptions,
): PulumiCli {
  const run = async (
    args: readonly string[],
    options: RunOptions,
    files?: { readonly stdout: EngineOutput; readonly stderr: EngineOutput },
  ): Promise<{ stdout: string; stderr: string }> => {
    // Plugins that came with the engine stand beside it.
    const path = `${dirname(command)}${delimiter}${options.env["PATH"] ?? process.env["PATH"] ?? ""}`;
    const child = execa(command, [...args], {
      cwd: options.cwd,
      // An operator's own passphrase would win over the file, even an empty one: the variable must not be there.
      env: { ...process.env, ...options.env, PATH: path, PULUMI_AUTOMATION_API: "true", ...NO_PASSPHRASE },
      extendEnv: false,
      // A process group of its own: the terminal's Ctrl-C would reach it beside ours, and twice means "at once".
      detached: true,
      cleanup: false,
      reject: false,
      stripFinalNewline: false,
      maxBuffer: 200_000_000,
      ...(options.input === undefined ? { stdin: "ignore" } : { input: options.input }),
      // Any descriptor is handed on as it is; the types know the standard ones alone.
      ...(files === undefined ? {} : { stdout: files.stdout.fd as 1, stderr: files.stderr.fd as 2 }),
    });
    const ended = new AbortController();
    const cancel = (): void => void child.kill("SIGINT");
    const forceKill = (): void => {
      child.kill("SIGINT");
      const timer = setTimeout(() => killGroup(child.pid), killAfterMs);
      ended.signal.addEventListener("abort", () => clearTimeout(timer));
    };
    const listen = { once: true, signal: ended.signal };
    options.signal?.addEventListener("abort", cancel, listen);
    killSignal.addEventListener("abort", forceKill, listen);
    if (options.signal?.aborted) cancel();
    const result = await child.finally(() => ended.abort());
    const output = {
      stdout: (await files?.stdout.text()) ?? String(result.stdout ?? ""),
      stderr: (await files?.stderr.text()) ?? String(result.stderr ?? ""),
    };
    if (!result.failed) return output;
    const cancelled = options.signal?.aborted === true || killSignal.aborted;
    throw new PulumiFailure({ ...output, cancelled });
  };
  const operate: typeof run = async (args, options) => {
    // What prints secrets is short, and keeps to pipes.
    if (!OPERATIONS.includes(args[0] ?? "")) return run(args, options);
    const [stdout, stderr] = await Promise.all([engineOutput(), engineOutput()]);
    try {
      return await run(args, options, { stdout, stderr });
    } finally {
      await Promise.all([stdout.close(), stderr.close()]);
    }
  };
  return { command, version, run, automation: forAutomation(command, version, operate) };
}

/**
 * The Automation API runs the engine through `run` of its command object, which its types keep to itself: the arguments are
 * those of `PulumiCommand.run` in @pulumi/pulumi 3.270.
 */
function forAutomation(
  command: string,
  version: string,
  run: (args: readonly string[], options: RunOptions) => Promise<{ stdout: string; stderr: string }>,
): PulumiCommand {
  const own = {
    command,
    // The API compares it by semver, to which the text is as good as the object.
    version,
    async run(
      args: string[],
      cwd: string,
      env: Record<string, string>,
      _onOutput?: (text: string) => void,
      _onError?: (text: string) => void,
      signal?: AbortSignal,
    ) {
      const given = args.includes("--non-interactive") ? args : [...args, "--non-interactive"];
      const output = await run(given, { cwd, env, signal });
      return { ...output, code: 0 };
    },
  };
  return own as unknown as PulumiCommand; // Its constructor is private; `run` above is all that is called.
}
