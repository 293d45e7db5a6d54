/** Runs commands of `infra` as processes over the stub plugins, and ends what they leave behind. */

import { execFileSync, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const CHILD = fileURLToPath(new URL("../fakes/pulumi/cairn-infra.ts", import.meta.url));

export interface InfraProcess {
  readonly pid: number;
  /** Process ids of the engine that it started. */
  engines(): number[];
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

export interface SpawnOptions {
  readonly stubs: string;
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

export function spawnInfra({ stubs, argv, env }: SpawnOptions): InfraProcess {
  const args = ["--no-warnings", CHILD, stubs, ...argv];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>(
    (resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
    },
  );
  const { pid } = child;
  if (pid === undefined) throw new Error("the command could not be started");
  return {
    pid,
    engines: () => childrenOf(pid),
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

function childrenOf(pid: number): number[] {
  const text = execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" });
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, name]) => Number(parent) === pid && name === "pulumi")
    .map(([own]) => Number(own));
}
