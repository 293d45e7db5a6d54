/** The tools that come with the service. The composition root hands over what they need and offers them to agents. */

import type { MemoryTools } from "../../app/api.ts";
import type { Logger, NewId } from "../../contracts/ports.ts";
import type { Tool } from "../../contracts/tool.ts";
import { createFileEditTool } from "./file-edit/index.ts";
import { createFileReadTool } from "./file-read/index.ts";
import { createFileWriteTool } from "./file-write/index.ts";
import { createMemoryBrowseTool } from "./memory-browse/index.ts";
import { createMemorySearchTool } from "./memory-search/index.ts";
import { createWorkspaceGate, type WorkspaceGate } from "./shared/locate.ts";
import { createShellTool } from "./shell/index.ts";
import { SHELL_DEFAULTS, type ShellSettings } from "./shell/settings.ts";

export { createWorkspaceGate, type WorkspaceGate } from "./shared/locate.ts";
export { SHELL_DEFAULTS, type ShellSettings } from "./shell/settings.ts";

export interface BuiltinToolDeps {
  readonly memoryTools: MemoryTools;
  /** `tools.shell.*`; what is left out has its default. */
  readonly shell?: Partial<ShellSettings>;
  /** Whether the service runs in a container of its own, which then counts as the sandbox of `auto`. */
  readonly container: boolean;
  /** Absolute paths of the service's own files: `.env`, the home directory, the store. No tool shows them. */
  readonly protectedPaths: readonly string[];
  /** The service's home directory, out of reach of the shell's commands. */
  readonly stateDirectory: string;
  /** The service's environment; the shell takes PATH, HOME, language and time zone from it, nothing else. */
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly newId: NewId;
  readonly logger: Logger;
  /** The gate that the workspace fence uses too; made here when absent. */
  readonly gate?: WorkspaceGate;
}

/** In the order in which agents see them. Nothing is started and nothing is looked at before the first call. */
export function createBuiltinTools(deps: BuiltinToolDeps): Tool[] {
  const { memoryTools, newId, logger, hostEnv, container, protectedPaths, stateDirectory } = deps;
  const gate = deps.gate ?? createWorkspaceGate({ protectedPaths });
  const chosen = { ...SHELL_DEFAULTS, ...deps.shell };
  // A default deadline above the longest one raises that, too.
  const settings = { ...chosen, maxTimeoutMs: Math.max(chosen.maxTimeoutMs, chosen.timeoutMs) };
  return [
    createFileReadTool({ gate }),
    createFileWriteTool({ gate, newId }),
    createFileEditTool({ gate, newId }),
    createShellTool({ gate, settings, container, protectedPaths, stateDirectory, hostEnv, newId, logger }),
    createMemorySearchTool({ memoryTools }),
    createMemoryBrowseTool({ memoryTools }),
  ];
}
