/** Processes of this machine, by their numbers. */

import process from "node:process";
import { codeOf } from "../../runtime/contracts/system-errors.ts";

/** True while the process exists, whoever owns it. Never of what is no process of its own: 0, negative numbers, init. */
export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
