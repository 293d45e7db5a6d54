import type { ToolManifest } from "../manifest.ts";

export const fileEdit = {
  kind: "tool",
  id: "file_edit",
  about: "Change a part of a file of the workspace",
  configuration: "tools.file_edit",
  create: async ({ gate, newId }) => (await import("./index.ts")).createFileEditTool({ gate, newId }),
} as const satisfies ToolManifest;
