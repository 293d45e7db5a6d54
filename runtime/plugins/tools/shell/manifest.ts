import type { ToolManifest } from "../manifest.ts";

export const shell = {
  kind: "tool",
  id: "shell",
  about: "Run a command in a sandbox",
  configuration: "tools.shell",
  create: async ({ shell: settings, memoryTools: _, ...needs }) =>
    (await import("./index.ts")).createShellTool({ ...needs, settings }),
} as const satisfies ToolManifest;
