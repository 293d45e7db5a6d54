/** Where the coding assistants keep their settings and sessions, from their own documentation. */

import { isAbsolute, join } from "node:path";
import type { Harness } from "./event.ts";

export interface HarnessPaths {
  readonly settings: string;
  /** Directories below which its sessions lie. */
  readonly sessions: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `home` is the user's home directory. Relative and empty variables count as absent. */
export function harnessPaths(harness: Harness, env: Environment, home: string): HarnessPaths {
  const named = (variable: string, ...otherwise: string[]) => {
    const value = env[variable];
    return value && isAbsolute(value) ? value : join(home, ...otherwise);
  };
  switch (harness) {
    case "claude-code": {
      const settings = named("CLAUDE_CONFIG_DIR", ".claude");
      return { settings, sessions: [join(settings, "projects")] };
    }
    case "codex": {
      const settings = named("CODEX_HOME", ".codex");
      return { settings, sessions: [join(settings, "sessions"), join(settings, "archived_sessions")] };
    }
    case "opencode":
      return {
        settings: join(named("XDG_CONFIG_HOME", ".config"), "opencode"),
        sessions: [join(named("XDG_DATA_HOME", ".local", "share"), "opencode")],
      };
  }
}
