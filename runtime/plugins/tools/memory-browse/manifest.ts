import type { ToolManifest } from "../manifest.ts";

export const memoryBrowse = {
  kind: "tool",
  id: "memory_browse",
  about: "Read what was said, in order",
  configuration: "tools.memory_browse",
  create: async ({ memoryTools }) => (await import("./index.ts")).createMemoryBrowseTool({ memoryTools }),
} as const satisfies ToolManifest;
