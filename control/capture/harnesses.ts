/** What is written where for each coding assistant. */

import { join } from "node:path";
import type { Machine } from "../../runtime/client/hook/find-sessions.ts";
import { HARNESSES, type Harness, harnessPaths } from "../../runtime/client/hook/harnesses.ts";
import type { WantedHook } from "./hooks-file.ts";

export { HARNESSES, type Harness };

export interface HarnessTarget {
  readonly harness: Harness;
  readonly kind: "hooks" | "plugin";
  /** The harness's own directory: where it is missing, the harness has never run. */
  readonly directory: string;
  /** The file that is changed, or written. */
  readonly file: string;
  readonly events: readonly Omit<WantedHook, "command">[];
  /** What the person has to do, where a file is not enough. */
  readonly next?: string;
}

/** The launcher returns at once; a harness that waits this long waits for something else. */
const TIMEOUT_S = 10;
const on = (...events: string[]) => events.map((event) => ({ event, timeout: TIMEOUT_S }));

export function harnessTarget(harness: Harness, machine: Machine): HarnessTarget {
  const directory = harnessPaths(harness, machine.env, machine.userHome).settings;
  switch (harness) {
    case "claude-code":
      return {
        harness,
        kind: "hooks",
        directory,
        file: join(directory, "settings.json"),
        events: on("SessionStart", "Stop", "SubagentStop", "PreCompact", "SessionEnd"),
      };
    case "codex":
      return {
        harness,
        kind: "hooks",
        directory,
        file: join(directory, "hooks.json"),
        events: on("SessionStart", "Stop"),
        next: "Codex runs new hooks only after you have trusted them: type /hooks in Codex once.",
      };
    case "opencode":
      return {
        harness,
        kind: "plugin",
        directory,
        file: join(directory, "plugins", "cairn-capture.js"),
        events: [],
      };
  }
}
