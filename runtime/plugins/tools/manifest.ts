/** What a tool is made from: each takes of it what it needs. */

import type { MemoryTools } from "../../app/api.ts";
import type { SkillLibrary } from "../../app/skills/library.ts";
import type { SkillUse } from "../../app/skills/skill-use.ts";
import type { TodoLists } from "../../app/todo-lists.ts";
import type { PluginManifest } from "../../contracts/plugin.ts";
import type { Clock, Logger, NewId } from "../../contracts/ports.ts";
import type { Tool } from "../../contracts/tool.ts";
import type { CodingSettings } from "./coding-pipeline/settings.ts";
import type { DelegationSettings } from "./delegate-task/index.ts";
import type { WorkspaceGate } from "./shared/locate.ts";
import type { WebNetwork } from "./shared/web/network.ts";
import type { ShellSettings } from "./shell/settings.ts";
import type { SubagentSettings } from "./subagent-spawn/index.ts";
import type { WebFetchSettings } from "./web-fetch/index.ts";
import type { WebSearchSettings } from "./web-search/backend.ts";

export interface ToolNeeds {
  readonly memoryTools: MemoryTools;
  readonly todoLists: TodoLists;
  readonly skills: SkillUse;
  readonly skillLibrary: SkillLibrary;
  /** The gate that the workspace fence uses too. */
  readonly gate: WorkspaceGate;
  /** `tools.shell`. */
  readonly shell: ShellSettings;
  /** Whether the service runs in a container of its own, which then counts as the sandbox of `auto`. */
  readonly container: boolean;
  /** Absolute paths of the service's own files: `.env`, the home directory, the store. No tool shows them. */
  readonly protectedPaths: readonly string[];
  /** The service's home directory, out of reach of the shell's commands. */
  readonly stateDirectory: string;
  /** The service's environment; the shell takes PATH, HOME, language and time zone from it, nothing else. */
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** `tools.delegate_task`. */
  readonly delegation: DelegationSettings;
  /** `tools.subagent_spawn`. */
  readonly subagents: SubagentSettings;
  /** `tools.coding_pipeline`. */
  readonly coding: CodingSettings;
  /** `tools.web_fetch`. */
  readonly webFetch: WebFetchSettings;
  /** `tools.web_search`; null without a backend. */
  readonly webSearch: WebSearchSettings | null;
  /** Of all web tools: it bounds what they do at once. */
  readonly webNetwork: WebNetwork;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

/** Its id is the tool's name. */
export type ToolManifest = PluginManifest<"tool", ToolNeeds, Tool>;
