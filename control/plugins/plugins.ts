/** `plugins list | info`: what comes with the installation, what stands in plugin_dirs, and what the configuration uses. */

import type { Config } from "../../runtime/config/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import type { PluginKind } from "../../runtime/contracts/plugin.ts";
import { type FoundPlugin, pluginsIn } from "../../runtime/files/plugin-package.ts";
import { PROVIDERS } from "../../runtime/plugins/providers/manifests.ts";
import { BUILT_IN } from "./built-in.ts";

export interface PluginEntry {
  readonly name: string;
  /** Null where a folder's manifest does not have it. */
  readonly kind: PluginKind | null;
  readonly about: string;
  readonly version: string | null;
  readonly source: "built-in" | "directory";
  /** Folder of a plugin in plugin_dirs. */
  readonly path: string | null;
  /** Path of its settings in cairn.yaml; null where that is unknown. */
  readonly configuration: string | null;
  /** What of the configuration uses it, such as `providers.main`. */
  readonly used_by: readonly string[];
  /** What is wrong with it; null when nothing is. */
  readonly problem: string | null;
}

/** Built-in ones first, then those of plugin_dirs in the order of the configuration. A broken one is listed as such. */
export async function listPlugins(config: Config, version: string): Promise<readonly PluginEntry[]> {
  const builtIn = BUILT_IN.map(
    ({ kind, name, about, configuration }): PluginEntry => ({
      name,
      kind,
      about,
      version,
      source: "built-in",
      path: null,
      configuration,
      used_by: usesOf(config, kind, name),
      problem: null,
    }),
  );
  const others = await Promise.all(config.plugin_dirs.map((directory) => pluginsIn(directory)));
  return [...builtIn, ...others.flat().map((plugin) => fromDirectory(plugin, config))];
}

/** RUNTIME_NOT_FOUND, naming what there is. */
export function pluginInfo(plugins: readonly PluginEntry[], name: string): PluginEntry {
  const found = plugins.find((plugin) => plugin.name === name);
  if (found) return found;
  throw new RuntimeError("RUNTIME_NOT_FOUND", `There is no plugin ${name}.`, {
    hint: `There are: ${plugins.map((plugin) => plugin.name).join(", ")}.`,
  });
}

function fromDirectory(plugin: FoundPlugin, config: Config): PluginEntry {
  const { path, manifest, problem } = plugin;
  const place = { source: "directory", path, configuration: null } as const;
  if (manifest === null) {
    const name = path.split("/").at(-1) ?? path;
    return { ...place, name, kind: null, about: "", version: null, used_by: [], problem };
  }
  const { name, version = null, description: about = "", cairn } = manifest;
  return { ...place, name, kind: cairn.kind, about, version, used_by: usesOf(config, cairn.kind, name), problem };
}

function usesOf(config: Config, kind: PluginKind, name: string): string[] {
  if (kind === "provider") {
    const kinds = PROVIDERS.find(({ id }) => id === name)?.kinds ?? [name];
    return entriesOfKind(config.providers, kinds).map((id) => `providers.${id}`);
  }
  if (kind === "channel") return entriesOfKind(config.channels, [name]).map((id) => `channels.${id}`);
  if (kind === "embedding") return config.memory.embedding.provider === name ? ["memory.embedding"] : [];
  if (kind === "memory") return config.memory.backend === name ? [`memory.${name}`] : [];
  return [];
}

function entriesOfKind(
  entries: Readonly<Record<string, { readonly kind: string }>>,
  kinds: readonly string[],
): string[] {
  return Object.entries(entries)
    .filter(([, entry]) => kinds.includes(entry.kind))
    .map(([id]) => id);
}
