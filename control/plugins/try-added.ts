/** Whether a plugin can be used: its manifest, who may write to its files, its name, and whether it can be loaded. */

import { getuid } from "node:process";
import type { Config } from "../../runtime/config/index.ts";
import { needsOf } from "../../runtime/config/plugin-needs.ts";
import { OWN_TOOLS } from "../../runtime/config/plugins.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import { pluginAccessProblem } from "../../runtime/files/plugin-access.ts";
import { type FoundPlugin, mainOf, pluginsIn, type UsablePlugin } from "../../runtime/files/plugin-package.ts";
import { tryPlugin } from "../../runtime/files/plugin-trial.ts";

/** CONFIG_INVALID where the folder is no plugin that can be used, or others can change its files. */
export async function readUsable(path: string): Promise<UsablePlugin> {
  const [found] = await pluginsIn(path);
  if (found === undefined || found.path !== path) throw unusable(path, "it has no package.json");
  const usable = requireUsable(found);
  const problem = await pluginAccessProblem(path, getuid?.() ?? 0);
  if (problem !== null) throw unusable(path, problem);
  return usable;
}

export function requireUsable(found: FoundPlugin): UsablePlugin {
  if (found.problem !== null) throw unusable(found.path, found.problem);
  return found;
}

/** Names of the tools or hooks that it brings. CONFIG_INVALID where the node could not load it; the signal's reason. */
export async function tryAdded(plugin: UsablePlugin, config: Config, signal: AbortSignal): Promise<readonly string[]> {
  const { kind } = plugin.manifest.cairn;
  const tried = await tryPlugin({ file: mainOf(plugin), kind, needs: needsOf(plugin, config) }, signal);
  if (!tried.ok) throw unusable(plugin.path, tried.reason);
  const taken = kind === "tool" ? tried.names.find((name) => OWN_TOOLS.includes(name)) : undefined;
  if (taken !== undefined) throw unusable(plugin.path, `there is a tool ${taken} already`);
  return tried.names;
}

function unusable(path: string, problem: string): ConfigError {
  return new ConfigError("CONFIG_INVALID", `${path} is no plugin that can be used: ${problem}.`, {
    hint: "Nothing was changed. docs/plugins.md says what a plugin has to have.",
  });
}
