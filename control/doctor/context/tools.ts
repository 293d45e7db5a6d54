/** Programs of the machine: whether they are there, and their output. */

import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";

export interface ToolOutcome {
  /** Null when it was ended by a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolOptions {
  /** The program is killed when it aborts. */
  readonly signal: AbortSignal;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Rejects when the program cannot be started, or was killed by the signal; any exit code is an answer. */
export function runTool(name: string, args: readonly string[], options: ToolOptions): Promise<ToolOutcome> {
  const { signal, cwd, env } = options;
  return new Promise((resolve, reject) => {
    const child = execFile(
      name,
      [...args],
      {
        signal,
        killSignal: "SIGKILL",
        maxBuffer: 1024 * 1024,
        ...(cwd === undefined ? {} : { cwd }),
        env: { ...process.env, LC_ALL: "C", ...env },
      },
      (error, stdout, stderr) => {
        if (error === null || typeof error.code === "number") resolve({ code: child.exitCode, stdout, stderr });
        else reject(signal.aborted ? new Error(`\`${name}\` did not answer in time`) : error);
      },
    );
    child.stdin?.end();
  });
}

/** Its full path, or null. */
export async function findTool(name: string, path = process.env.PATH ?? ""): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    if (folder === "") continue;
    const candidate = join(folder, name);
    const there = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (there) return candidate;
  }
  return null;
}
