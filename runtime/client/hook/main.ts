/** The hook as a program: `node bin/cairn-capture.js <harness> <home>`, the harness's JSON on standard input. Always exits with 0. */

import { homedir } from "node:os";
import process from "node:process";
import { runHook } from "./run.ts";

/** Deadline of the whole hook: processes that hang must not pile up. */
const DEADLINE_MS = 60_000;
/** After the deadline, time to write the rest to the spool. */
const GRACE_MS = 15_000;

export async function main(argv: readonly string[]): Promise<void> {
  const [harness = "", home = ""] = argv;
  const last = setTimeout(() => process.exit(0), DEADLINE_MS + GRACE_MS);
  last.unref();
  const chunks: Buffer[] = [];
  // Standard input without an encoding is bytes.
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  await runHook({
    harness,
    home,
    payload: Buffer.concat(chunks).toString("utf8"),
    machine: { env: process.env, userHome: process.env["HOME"] || homedir() },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  process.exitCode = 0;
}
