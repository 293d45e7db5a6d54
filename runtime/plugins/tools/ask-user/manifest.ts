import type { ToolManifest } from "../manifest.ts";

export const askUser = {
  kind: "tool",
  id: "ask_user",
  about: "Ask the user, and wait for the answer",
  configuration: "tools.ask_user",
  create: async () => (await import("./index.ts")).createAskUserTool(),
} as const satisfies ToolManifest;
