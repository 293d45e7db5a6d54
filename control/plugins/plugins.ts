/** `plugins list | info`: what comes with the installation, what stands in plugin_dirs, what the configuration uses, and what a node has loaded. */

import { getuid } from "node:process";
import type { Health } from "../../runtime/client/index.ts";
import type { Config } from "../../runtime/config/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import type { PluginKind } from "../../runtime/contracts/plugin.ts";
import { pluginAccessProblem } from "../../runtime/files/plugin-access.ts";
import type { FoundPlugin } from "../../runtime/files/plugin-package.ts";
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
  /** Of one in plugin_dirs, as the running node has it; null: no node runs, or it does not know the plugin. */
  readonly state: "loaded" | "failed" | "off" | null;
  /** What is wrong with it; null when nothing is. */
  readonly problem: string | null;
}

export interface InstalledPlugins {
  readonly config: Config;
  /** Of plugin_dirs. */
  readonly plugins: readonly FoundPlugin[];
  /** Of the node that runs; null: none answers. */
  readonly reports: Health["plugins"] | null;
}

/** Built-in ones first, then those of plugin_dirs in the order of the configuration. A broken one is listed as such. */
export async function listPlugins(installed: InstalledPlugins, version: string): Promise<readonly PluginEntry[]> {
  const { config, plugins } = installed;
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
      state: null,
      problem: null,
    }),
  );
  const others = await Promise.all(plugins.map((plugin) => fromDirectory(plugin, installed)));
  return [...builtIn, ...others];
}

/** RUNTIME_NOT_FOUND, naming what there is. */
export function pluginInfo(plugins: readonly PluginEntry[], name: string): PluginEntry {
  const found = plugins.find((plugin) => plugin.name === name);
  if (found) return found;
  throw new RuntimeError("RUNTIME_NOT_FOUND", `There is no plugin ${name}.`, {
    hint: `There are: ${plugins.map((plugin) => plugin.name).join(", ")}.`,
  });
}

async function fromDirectory(plugin: FoundPlugin, { config, reports }: InstalledPlugins): Promise<PluginEntry> {
  const { path, manifest, id } = plugin;
  const report = reports?.find((one) => (id === null ? one.path === path : one.id === id));
  const problem = plugin.problem ?? (await pluginAccessProblem(path, getuid?.() ?? 0)) ?? report?.reason ?? null;
  const found = { source: "directory", path, state: report?.state ?? null, problem } as const;
  if (manifest === null) {
    const name = path.split("/").at(-1) ?? path;
    return { ...found, name, kind: null, about: "", version: null, configuration: null, used_by: [] };
  }
  const { version = null, description: about = "", cairn } = manifest;
  const { kind } = cairn;
  const name = id ?? manifest.name;
  const configuration = kind === "provider" || kind === "channel" ? `${kind}s.<id>.settings` : `plugins.${name}`;
  return { ...found, name, kind, about, version, configuration, used_by: usesOf(config, kind, name) };
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
