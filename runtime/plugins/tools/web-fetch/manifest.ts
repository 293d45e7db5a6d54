import type { ToolManifest } from "../manifest.ts";

export const webFetch = {
  kind: "tool",
  id: "web_fetch",
  about: "Read a page of the web",
  configuration: "tools.web_fetch",
  create: async ({ webFetch: settings, webNetwork: network, newId }) =>
    (await import("./index.ts")).createWebFetchTool({ settings, network, newId }),
} as const satisfies ToolManifest;
