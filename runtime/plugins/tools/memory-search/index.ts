/** memory_search for agents: the search of the memory tools, seen through the eyes of the turn's user. */

import type { MemoryTools } from "../../../app/api.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { createMemoryTool } from "../shared/memory-tool.ts";
import { presentSearch } from "./present.ts";

export function createMemorySearchTool(deps: { readonly memoryTools: MemoryTools }): Tool {
  return createMemoryTool(deps.memoryTools, "memory_search", presentSearch);
}
