import type { ToolManifest } from "../manifest.ts";

export const fileRead = {
  kind: "tool",
  id: "file_read",
  about: "Read a file of the workspace",
  configuration: "tools.file_read",
  create: async ({ gate }) => (await import("./index.ts")).createFileReadTool({ gate }),
} as const satisfies ToolManifest;
