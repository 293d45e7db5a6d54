import type { ToolManifest } from "../manifest.ts";

export const webSearch = {
  kind: "tool",
  id: "web_search",
  about: "Search the web",
  configuration: "tools.web_search",
  create: async ({ webSearch: settings, webNetwork: network, newId }) => {
    if (settings === null) throw new TypeError("web_search has no backend");
    return (await import("./index.ts")).createWebSearchTool({ settings, network, newId });
  },
} as const satisfies ToolManifest;
