/** Tells the SIGHUP of a terminal that was closed from the one that an operator sends. */

import { closeSync, openSync } from "node:fs";

/**
 * Call it at the start; the function it returns is true once the terminal that the process was started on is closed.
 * Always false for a process that had none, as under a service manager.
 */
export function watchTerminal(): () => boolean {
  if (process.stdin.isTTY !== true && process.stdout.isTTY !== true) return () => false;
  return () => {
    try {
      // The system detaches a closed terminal from the processes that it controlled.
      closeSync(openSync("/dev/tty", "r"));
      return false;
    } catch {
      return true;
    }
  };
}
