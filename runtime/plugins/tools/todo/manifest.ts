import type { ToolManifest } from "../manifest.ts";

export const todo = {
  kind: "tool",
  id: "todo",
  about: "Keep a list of what is to be done",
  configuration: "tools.todo",
  create: async ({ todoLists }) => (await import("./index.ts")).createTodoTool({ todoLists }),
} as const satisfies ToolManifest;
