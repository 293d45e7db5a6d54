/** Every tool that a node registers, made by their manifests; none of them is called. */

import type { Tool } from "../../runtime/contracts/tool.ts";
import { createSystemNetwork, createWorkspaceGate, SHELL_DEFAULTS } from "../../runtime/plugins/tools/index.ts";
import { TOOLS } from "../../runtime/plugins/tools/manifests.ts";
import { createFakeApplication } from "./fake-application.ts";
import { quietLogger } from "./quiet-logger.ts";

export function builtInTools(): Promise<Tool[]> {
  const needs = {
    memoryTools: createFakeApplication().memoryTools,
    todoLists: { replace: async () => undefined },
    skillLibrary: {
      catalogue: async () => ({ skills: [], skipped: [] }),
      report: async () => ({ usable: 0, skipped: [] }),
    },
    skills: {
      list: async () => "",
      load: async () => "",
      read: async () => "",
      prompt: async () => ({ list: "", triggered: "" }),
    },
    gate: createWorkspaceGate({ protectedPaths: [] }),
    shell: SHELL_DEFAULTS,
    delegation: { timeoutMs: 600_000, maxDepth: 3, agents: [{ name: "main", description: null }] },
    coding: { timeoutMs: 3_600_000, checkTimeoutMs: 600_000, maxRounds: 3, maxTokens: 1_000_000, checks: new Map() },
    clock: { now: () => new Date(), monotonic: () => performance.now() },
    subagents: { timeoutMs: 900_000, maxDepth: 2, maxRunning: 4, maxTokens: 1_000_000 },
    webFetch: { allowHosts: [], timeoutMs: 30_000, maxBytes: 5_000_000 },
    webSearch: { backend: "duckduckgo" as const, baseUrl: null, apiKey: null, maxResults: 10 },
    webNetwork: createSystemNetwork(),
    container: false,
    protectedPaths: [],
    stateDirectory: "/",
    hostEnv: {},
    newId: () => "id",
    logger: quietLogger,
  };
  return Promise.all(TOOLS.map((manifest) => manifest.create(needs)));
}
