/** Ends the process once its output is out, where something that hangs would keep it. */

import process from "node:process";

const POLL_MS = 20;

/** The exit code is `process.exitCode`. Does nothing in a process that ends by itself before. */
export function leaveWhenSaid(): void {
  const timer = setInterval(() => {
    if (process.stdout.writableLength > 0 || process.stderr.writableLength > 0) return;
    clearInterval(timer);
    process.exit();
  }, POLL_MS);
  timer.unref();
}
