/** Whether a plugin can be used: its manifest, who may write to its files, its names, and whether it can be loaded. */

import { getuid } from "node:process";
import type { Config, LoadedConfig } from "../../runtime/config/index.ts";
import { needsOf } from "../../runtime/config/plugin-needs.ts";
import { isSwitchedOff, OWN_TOOLS } from "../../runtime/config/plugins.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import type { TrialOutcome } from "../../runtime/contracts/plugin-trial.ts";
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

/** Names of the tools or hooks that it brings. CONFIG_INVALID where the node could not load it beside the others; the signal's reason. */
export async function tryAdded(
  plugin: UsablePlugin,
  { config, plugins }: Pick<LoadedConfig, "config" | "plugins">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const tried = await tryOne(plugin, config, signal);
  if (!tried.ok) throw unusable(plugin.path, tried.reason);
  const { names } = tried;
  if (plugin.manifest.cairn.kind !== "tool") return names;
  const double = names.find((name, index) => names.indexOf(name) !== index);
  if (double !== undefined) throw unusable(plugin.path, `it brings two tools named ${double}`);
  const own = names.find((name) => OWN_TOOLS.includes(name));
  if (own !== undefined) throw unusable(plugin.path, `there is a tool ${own} already`);
  const others = plugins.filter(({ id }) => id !== plugin.id && !isSwitchedOff(config, id ?? ""));
  // At once: each may need all the time that there is to load one.
  const tools = await Promise.all(others.map((other) => toolsOf(other, config, signal)));
  for (const [index, other] of others.entries()) {
    const taken = tools[index]?.find((name) => names.includes(name));
    if (taken !== undefined) throw unusable(plugin.path, `the plugin ${other.id} has a tool ${taken} already`);
  }
  return names;
}

/** Names of tools are in a plugin's code alone. One that cannot be loaded brings none. */
export async function toolsOf(plugin: FoundPlugin, config: Config, signal: AbortSignal): Promise<readonly string[]> {
  if (plugin.problem !== null || plugin.manifest.cairn.kind !== "tool") return [];
  const tried = await tryOne(plugin, config, signal);
  return tried.ok ? tried.names : [];
}

function tryOne(plugin: UsablePlugin, config: Config, signal: AbortSignal): Promise<TrialOutcome> {
  const { kind } = plugin.manifest.cairn;
  return tryPlugin({ file: mainOf(plugin), kind, needs: needsOf(plugin, config) }, signal);
}

function unusable(path: string, problem: string): ConfigError {
  return new ConfigError("CONFIG_INVALID", `${path} is no plugin that can be used: ${problem}.`, {
    hint: "Nothing was changed. docs/plugins.md says what a plugin has to have.",
  });
}
