/** A git repository, read by the git command without running anything that the repository could configure. */

import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runTool, type ToolOutcome } from "./tools.ts";

/** The directory with `.git` that a directory is in; null when it is in none. */
export async function repositoryOf(directory: string): Promise<string | null> {
  for (let at = directory; ; at = dirname(at)) {
    if (await stat(join(at, ".git")).catch(() => null)) return at;
    if (dirname(at) === at) return null;
  }
}

export function git(directory: string, args: readonly string[], signal: AbortSignal): Promise<ToolOutcome> {
  return runTool("git", ["-C", directory, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", ...args], {
    signal,
    env: {
      GIT_TERMINAL_PROMPT: "0",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_ASKPASS: "true",
      GIT_SSH_COMMAND: "ssh -o BatchMode=yes",
    },
  });
}
