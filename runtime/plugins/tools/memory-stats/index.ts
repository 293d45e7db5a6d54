/** memory_stats for agents: how much the turn's user can find, and how the background work on it is doing. */

import type { MemoryTools } from "../../../app/api.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { createMemoryTool } from "../shared/memory-tool.ts";
import { presentStats } from "./present.ts";

export function createMemoryStatsTool(deps: { readonly memoryTools: MemoryTools }): Tool {
  return createMemoryTool(deps.memoryTools, "memory_stats", presentStats);
}
