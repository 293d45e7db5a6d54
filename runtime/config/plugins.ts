/** The plugins of `plugin_dirs` that count, and how entries of the configuration find theirs. Pure. */

import type { LoadedKind } from "../contracts/plugin.ts";
import type { FoundPlugin, UsablePlugin } from "../files/plugin-package.ts";
import { MANIFESTS } from "../plugins/manifests.ts";
import { CHANNEL_KINDS, PROVIDER_KINDS } from "./known-ids.ts";
import { toolsSection } from "./schema/tools.ts";
import type { ParsedConfig } from "./schema.ts";

/** Kinds of providers and channels, and names of tools and hooks, this version's and those that it keeps for later ones. */
const OWN_IDS: ReadonlySet<string> = new Set([
  ...PROVIDER_KINDS,
  ...CHANNEL_KINDS,
  ...Object.keys(toolsSection.shape),
  ...Object.values(MANIFESTS).flatMap((manifests) => manifests.map(({ id }) => id)),
  ...MANIFESTS.provider.flatMap(({ services }) => services.map(({ id }) => id)),
  ...MANIFESTS.hook.flatMap(({ hooks }) => hooks.map(({ name }) => name)),
]);

/** Whether no plugin may have this id. */
export function isOwnId(id: string): boolean {
  return OWN_IDS.has(id);
}

/** Names of tools that no plugin may have. */
export const OWN_TOOLS: readonly string[] = Object.keys(toolsSection.shape);

/** Of those with one id the first counts, and Cairn's own before all: nothing is ever put in another's place. */
export function admitPlugins(found: readonly FoundPlugin[]): readonly FoundPlugin[] {
  const paths = new Map<string, string>();
  return found.map((plugin): FoundPlugin => {
    if (plugin.problem !== null) return plugin;
    const { id, path } = plugin;
    if (isOwnId(id)) return { ...plugin, problem: `${id} is a name of Cairn's own` };
    const earlier = paths.get(id);
    if (earlier !== undefined && earlier !== path) return { ...plugin, problem: `${earlier} is ${id} already` };
    paths.set(id, path);
    return plugin;
  });
}

export function isSwitchedOff(config: Pick<Partial<ParsedConfig>, "plugins">, id: string): boolean {
  return config.plugins?.[id]?.enabled === false;
}

/** The one that brings a kind of providers or channels; undefined: there is none that can be used. */
export function pluginOfKind(plugins: readonly FoundPlugin[], kind: LoadedKind, id: string): UsablePlugin | undefined {
  return plugins.find(
    (plugin): plugin is UsablePlugin =>
      plugin.problem === null && plugin.id === id && plugin.manifest.cairn.kind === kind,
  );
}
