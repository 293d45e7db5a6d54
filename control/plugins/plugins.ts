/** `plugins list | info`: what comes with the installation, what stands in plugin_dirs, and what the configuration uses. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../../runtime/config/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { BUILT_IN, PLUGIN_KINDS, type PluginKind } from "./built-in.ts";

export interface PluginEntry {
  readonly name: string;
  /** Null where a folder does not say. */
  readonly kind: PluginKind | null;
  readonly about: string;
  readonly version: string | null;
  readonly source: "built-in" | "directory";
  /** Folder of a plugin in plugin_dirs. */
  readonly path: string | null;
  /** Where its settings stand in cairn.yaml; null where that is not known. */
  readonly configuration: string | null;
  /** What of the configuration uses it, such as `providers.main`. */
  readonly used_by: readonly string[];
  /** What is wrong with it; null when nothing is. */
  readonly problem: string | null;
}

/** What a plugin's package.json has to say; everything else in it is its own. */
const manifest = z.object({
  name: z.string().min(1),
  version: z.string().optional(),
  description: z.string().optional(),
  cairn: z.object({ kind: z.enum(PLUGIN_KINDS) }),
});

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
  const others = await Promise.all(config.plugin_dirs.map((dir) => pluginsIn(dir, config)));
  return [...builtIn, ...others.flat()];
}

/** RUNTIME_NOT_FOUND, naming what there is. */
export function pluginInfo(plugins: readonly PluginEntry[], name: string): PluginEntry {
  const found = plugins.find((plugin) => plugin.name === name);
  if (found) return found;
  throw new RuntimeError("RUNTIME_NOT_FOUND", `There is no plugin ${name}.`, {
    hint: `There are: ${plugins.map((plugin) => plugin.name).join(", ")}.`,
  });
}

/** A directory is a plugin itself, or holds one in each of its folders. */
async function pluginsIn(dir: string, config: Config): Promise<PluginEntry[]> {
  if (await hasManifest(dir)) return [await readPlugin(dir, config)];
  let names: string[];
  try {
    const entries = await readdir(dir, { withFileTypes: true });
    names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
  } catch (error) {
    return [broken(dir, `the directory cannot be read (${codeOf(error) ?? "unknown error"})`)];
  }
  return Promise.all(names.sort().map((name) => readPlugin(join(dir, name), config)));
}

async function readPlugin(path: string, config: Config): Promise<PluginEntry> {
  let text: string;
  try {
    text = await readFile(join(path, "package.json"), "utf8");
  } catch (error) {
    return broken(path, `its package.json cannot be read (${codeOf(error) ?? "unknown error"})`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return broken(path, "its package.json is not JSON");
  }
  const parsed = manifest.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return broken(path, `its package.json: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not valid"}`);
  }
  const { name, version, description, cairn } = parsed.data;
  return {
    name,
    kind: cairn.kind,
    about: description ?? "",
    version: version ?? null,
    source: "directory",
    path,
    configuration: null,
    used_by: usesOf(config, cairn.kind, name),
    problem: null,
  };
}

function broken(path: string, problem: string): PluginEntry {
  const name = path.split("/").at(-1) ?? path;
  return {
    name,
    kind: null,
    about: "",
    version: null,
    source: "directory",
    path,
    configuration: null,
    used_by: [],
    problem,
  };
}

function usesOf(config: Config, kind: PluginKind, name: string): string[] {
  if (kind === "provider") {
    // These kinds are served by their chat-completions routes.
    const served = name === "openai-compatible" ? [name, "gemini", "xai", "ollama"] : [name];
    return entriesOfKind(config.providers, served).map((id) => `providers.${id}`);
  }
  if (kind === "channel") return entriesOfKind(config.channels, [name]).map((id) => `channels.${id}`);
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

async function hasManifest(dir: string): Promise<boolean> {
  return readFile(join(dir, "package.json")).then(
    () => true,
    () => false,
  );
}
