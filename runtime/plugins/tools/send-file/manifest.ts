import type { ToolManifest } from "../manifest.ts";

export const sendFile = {
  kind: "tool",
  id: "send_file",
  about: "Send a file of the workspace to the user",
  configuration: "tools.send_file",
  create: async ({ gate }) => (await import("./index.ts")).createSendFileTool({ gate }),
} as const satisfies ToolManifest;
