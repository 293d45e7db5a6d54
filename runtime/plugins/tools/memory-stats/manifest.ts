import type { ToolManifest } from "../manifest.ts";

export const memoryStats = {
  kind: "tool",
  id: "memory_stats",
  about: "See how the memory is doing",
  configuration: "tools.memory_stats",
  create: async ({ memoryTools }) => (await import("./index.ts")).createMemoryStatsTool({ memoryTools }),
} as const satisfies ToolManifest;
