import type { ToolManifest } from "../manifest.ts";

export const searchGrep = {
  kind: "tool",
  id: "search_grep",
  about: "Search the text of the workspace's files",
  configuration: "tools.search_grep",
  create: async ({ gate, hostEnv }) =>
    (await import("./index.ts")).createSearchGrepTool({ gate, searchPath: hostEnv["PATH"] }),
} as const satisfies ToolManifest;
