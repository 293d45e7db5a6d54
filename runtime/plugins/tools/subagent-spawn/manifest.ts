import type { ToolManifest } from "../manifest.ts";

export const subagentSpawn = {
  kind: "tool",
  id: "subagent_spawn",
  about: "Have a task done in a session of its own",
  configuration: "tools.subagent_spawn",
  create: async ({ subagents, newId }) => (await import("./index.ts")).createSubagentSpawnTool(subagents, newId),
} as const satisfies ToolManifest;
