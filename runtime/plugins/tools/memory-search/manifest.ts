import type { ToolManifest } from "../manifest.ts";

export const memorySearch = {
  kind: "tool",
  id: "memory_search",
  about: "Find what was said",
  configuration: "tools.memory_search",
  create: async ({ memoryTools }) => (await import("./index.ts")).createMemorySearchTool({ memoryTools }),
} as const satisfies ToolManifest;
