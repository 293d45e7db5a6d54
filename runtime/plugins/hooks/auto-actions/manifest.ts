import type { AnyHook } from "../../../contracts/hooks.ts";
import type { PluginManifest } from "../../../contracts/plugin.ts";
import type { AutoCommitDeps } from "./auto-commit.ts";
import type { AutoActionDeps } from "./index.ts";

/** Each action is switched by the settings. */
export const autoActions = {
  kind: "hook",
  id: "auto_actions",
  about: "Commands after calls that changed files",
  configuration: "runtime.auto_actions",
  hooks: [
    { name: "auto_actions", about: "Formats, lints, tests and checks git after calls that changed files" },
    { name: "auto_commit", about: "Commits the workspace at the end of a turn or session" },
  ],
  async create(deps) {
    const { createAutoActionHooks, createAutoCommitHooks } = await import("./index.ts");
    return [...createAutoActionHooks(deps), ...createAutoCommitHooks({ ...deps, commit: deps.settings.commit })];
  },
} as const satisfies PluginManifest<"hook", AutoActionDeps & Omit<AutoCommitDeps, "commit">, readonly AnyHook[]> & {
  readonly hooks: readonly { readonly name: string; readonly about: string }[];
};
