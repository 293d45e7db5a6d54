/** Tries out what a machine offers: a program is started, and its exit is checked. */

import { spawn } from "node:child_process";
import { access, constants } from "node:fs/promises";

const PROBE_TIMEOUT_MS = 10_000;
const MAX_COMPLAINT_CHARS = 4_000;

export interface ProbeResult {
  /** Null when it could not be started or did not end in time. */
  readonly exitCode: number | null;
  /** The last line of what it wrote to standard error. */
  readonly complaint: string;
}

/** Never rejects. `descriptor` becomes number 3 of the program. */
export async function probe(file: string, args: readonly string[], descriptor?: number): Promise<ProbeResult> {
  return await new Promise((resolve) => {
    const child = spawn(file, [...args], {
      stdio: ["ignore", "ignore", "pipe", ...(descriptor === undefined ? [] : [descriptor])],
      env: {},
      timeout: PROBE_TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      if (said.length < MAX_COMPLAINT_CHARS) said += chunk.toString("utf8");
    });
    child.once("error", () => resolve({ exitCode: null, complaint: "" }));
    child.once("close", (exitCode) => resolve({ exitCode, complaint: said.trim().split("\n").at(-1) ?? "" }));
  });
}

export async function succeeds(file: string, args: readonly string[], descriptor?: number): Promise<boolean> {
  return (await probe(file, args, descriptor)).exitCode === 0;
}

export async function firstExecutable(candidates: readonly string[]): Promise<string | null> {
  for (const candidate of candidates) {
    const found = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  return null;
}
