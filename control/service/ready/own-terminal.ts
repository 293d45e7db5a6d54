/** Whether a command may take keys from its terminal: a job in the background that tries to is stopped by the system. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import type { Terminal } from "../../output/terminal.ts";

/** False without a terminal on all three streams, for a job in the background (`cairn start &`), and where that is unknown. */
export async function ownsTerminal(
  terminal: Pick<Terminal, "inIsTerminal" | "outIsTerminal" | "errIsTerminal">,
): Promise<boolean> {
  if (!(terminal.inIsTerminal && terminal.outIsTerminal && terminal.errIsTerminal)) return false;
  const [group, foreground] = await processGroups().catch(() => []);
  return group !== undefined && group === foreground;
}

/** Of this process, and of the one in the foreground of its terminal. */
async function processGroups(): Promise<readonly string[]> {
  if (process.platform !== "linux") {
    const { stdout } = await promisify(execFile)("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)]);
    return stdout.trim().split(/\s+/);
  }
  // After the name, which may contain blanks and brackets: state, parent, group, session, terminal, group in the foreground.
  const stat = await readFile("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return [fields[2], fields[5]].filter((field) => field !== undefined);
}
