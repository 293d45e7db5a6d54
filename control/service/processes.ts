/** Processes of this machine, by their numbers. */

import process from "node:process";
import { codeOf } from "../../runtime/contracts/system-errors.ts";

/** True while the process exists, of any user. False for 0, negative numbers and init, which are no processes of ours. */
export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** A process that leads a group of its own, with all that it has started. Nothing where it was not started, or has ended. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
