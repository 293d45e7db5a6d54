import type { AnyHook } from "../../../contracts/hooks.ts";
import type { PluginManifest } from "../../../contracts/plugin.ts";
import type { SafetyDeps } from "./index.ts";

/** Four hooks with one audit log; each is switched by the settings. */
export const safety = {
  kind: "hook",
  id: "safety",
  about: "The guards around tool calls",
  configuration: "runtime.safety",
  hooks: [
    { name: "shell_danger", about: "Refuses dangerous shell commands" },
    { name: "workspace_fence", about: "Keeps tools inside the workspace" },
    { name: "custom_rules", about: "Refuses what the owner's own rules forbid" },
    { name: "audit", about: "Writes tool calls that reach the guards into the audit log" },
  ],
  create: async (deps) => (await import("./index.ts")).createSafetyHooks(deps),
} as const satisfies PluginManifest<"hook", SafetyDeps, readonly AnyHook[]> & {
  readonly hooks: readonly { readonly name: string; readonly about: string }[];
};
