import type { AnyHook } from "../../../contracts/hooks.ts";
import type { PluginManifest } from "../../../contracts/plugin.ts";
import type { SessionSummaryDeps } from "./index.ts";

/** There where memory.summarizer has a model. */
export const sessionSummary = {
  kind: "hook",
  id: "session_summary",
  about: "The summary of a conversation at its end",
  configuration: "memory.summarizer",
  hooks: [{ name: "session_summary", about: "Has a conversation summarized when its session ends" }],
  create: async (deps) => (await import("./index.ts")).createSessionSummaryHooks(deps),
} as const satisfies PluginManifest<"hook", SessionSummaryDeps, readonly AnyHook[]> & {
  readonly hooks: readonly { readonly name: string; readonly about: string }[];
};
