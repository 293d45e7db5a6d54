/** Whether bubblewrap works on this machine, tried with the namespaces that the shell tool's sandbox needs. */

import { access, constants } from "node:fs/promises";
import { placesOf } from "../../../runtime/contracts/sandbox.ts";
import { findTool, runTool } from "./tools.ts";

/** The smallest sandbox with the namespaces of a real one; the program in it only has to start. */
const TRIAL = [
  ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--cap-drop", "ALL"],
  ...["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", "exit 0"],
];

/** Null where a sandbox can be made, else why not, as a clause. Rejects when the signal aborts. */
export async function sandboxProblem(
  signal: AbortSignal,
  paths: readonly string[] = placesOf("bwrap"),
): Promise<string | null> {
  const file = await firstExecutable(paths);
  if (file === null) {
    const other = await findTool("bwrap");
    if (other === null) return "bubblewrap (bwrap) is not installed";
    return `bubblewrap at ${other} is not used, only one at ${paths.join(", ")}`;
  }
  const { code, stderr } = await runTool(file, TRIAL, { signal });
  if (code === 0) return null;
  const said = stderr.trim().split("\n").at(-1) ?? "";
  return `bubblewrap does not work here (${said === "" ? `exit code ${code}` : said})`;
}

async function firstExecutable(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) {
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return null;
}
