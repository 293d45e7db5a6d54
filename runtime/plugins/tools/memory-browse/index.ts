/** memory_browse for agents: messages in order of time, seen through the eyes of the turn's user. */

import type { MemoryTools } from "../../../app/api.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { createMemoryTool } from "../shared/memory-tool.ts";
import { presentMessages } from "./present.ts";

export function createMemoryBrowseTool(deps: { readonly memoryTools: MemoryTools }): Tool {
  return createMemoryTool(deps.memoryTools, "memory_browse", presentMessages);
}
