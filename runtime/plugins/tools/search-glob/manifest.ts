import type { ToolManifest } from "../manifest.ts";

export const searchGlob = {
  kind: "tool",
  id: "search_glob",
  about: "Find files of the workspace by name",
  configuration: "tools.search_glob",
  create: async ({ gate }) => (await import("./index.ts")).createSearchGlobTool({ gate }),
} as const satisfies ToolManifest;
