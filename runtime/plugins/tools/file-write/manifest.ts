import type { ToolManifest } from "../manifest.ts";

export const fileWrite = {
  kind: "tool",
  id: "file_write",
  about: "Write a file of the workspace",
  configuration: "tools.file_write",
  create: async ({ gate, newId }) => (await import("./index.ts")).createFileWriteTool({ gate, newId }),
} as const satisfies ToolManifest;
