import type { ToolManifest } from "../manifest.ts";

export const memoryGetFull = {
  kind: "tool",
  id: "memory_get_full",
  about: "Read a message that was cut, whole",
  configuration: "tools.memory_get_full",
  create: async ({ memoryTools }) => (await import("./index.ts")).createMemoryGetFullTool({ memoryTools }),
} as const satisfies ToolManifest;
