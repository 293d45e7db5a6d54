import type { ToolManifest } from "../manifest.ts";

export const delegateTask = {
  kind: "tool",
  id: "delegate_task",
  about: "Hand a task to another agent",
  configuration: "tools.delegate_task",
  create: async ({ delegation, newId }) => (await import("./index.ts")).createDelegateTaskTool(delegation, newId),
} as const satisfies ToolManifest;
