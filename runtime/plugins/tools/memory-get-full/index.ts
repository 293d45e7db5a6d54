/** memory_get_full for agents: a message as it was before anything was cut from it, of those that the turn's user may see. */

import type { MemoryTools } from "../../../app/api.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { createMemoryTool } from "../shared/memory-tool.ts";
import { presentFull } from "./present.ts";

export function createMemoryGetFullTool(deps: { readonly memoryTools: MemoryTools }): Tool {
  return createMemoryTool(deps.memoryTools, "memory_get_full", presentFull);
}
