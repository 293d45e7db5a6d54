/** Runs a program of this machine with a short deadline. */
import type { Environment } from "../../../runtime/config/index.ts";

export interface ToolQuestion {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ToolAnswer {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

const KILL_AFTER_MS = 200;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** Null where there is no such program or it does not answer in time. Never rejects. */
export async function askTool({ program, args, env, timeoutMs, signal }: ToolQuestion): Promise<ToolAnswer | null> {
  const { execa } = await import("execa");
  const result = await execa(program, args, {
    reject: false,
    stdin: "ignore",
    timeout: timeoutMs,
    forceKillAfterDelay: KILL_AFTER_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    env,
    extendEnv: false,
    ...(signal ? { cancelSignal: signal } : {}),
  });
  if (result.exitCode === undefined) return null;
  return { ok: result.exitCode === 0, stdout: result.stdout, stderr: result.stderr };
}
