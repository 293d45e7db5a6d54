/**
 * The manifest of a third-party plugin: its package.json. One schema for everything that reads it: `plugins list`,
 * the builder of images, and what loads plugins.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { PLUGIN_KINDS } from "../contracts/plugin.ts";
import { codeOf } from "../contracts/system-errors.ts";

const packages = z.record(z.string(), z.string()).optional();

/** What it must have; everything else in it is its own. */
const pluginPackage = z.object({
  name: z.string("must be the plugin's name").min(1, "must not be empty"),
  version: z.string().optional(),
  description: z.string().optional(),
  /** Installed with npm where the plugin is part of an image. */
  dependencies: packages,
  optionalDependencies: packages,
  cairn: z.object(
    { kind: z.enum(PLUGIN_KINDS, `must be one of ${PLUGIN_KINDS.join(", ")}`) },
    'must say what the plugin is, such as { "kind": "tool" }',
  ),
});

export type PluginPackage = z.infer<typeof pluginPackage>;

export type FoundPlugin = {
  readonly path: string;
  /** Whether it has a package.json at all. */
  readonly written: boolean;
} & (
  | { readonly manifest: PluginPackage; readonly problem: null }
  /** `problem` is what is wrong, as the end of a sentence: "its package.json is not JSON". */
  | { readonly manifest: null; readonly problem: string }
);

/** The plugins of a directory, which is one itself or holds one in each of its folders; in the order of their names. Never rejects. */
export async function pluginsIn(directory: string): Promise<readonly FoundPlugin[]> {
  const own = await readPlugin(directory);
  if (own.written) return [own];
  let names: string[];
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
  } catch (error) {
    return [broken(directory, false, `the directory cannot be read (${codeOf(error) ?? "unknown error"})`)];
  }
  return Promise.all(names.sort().map((name) => readPlugin(join(directory, name))));
}

async function readPlugin(path: string): Promise<FoundPlugin> {
  let text: string;
  try {
    text = await readFile(join(path, "package.json"), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return broken(path, false, "it has no package.json");
    return broken(path, true, `its package.json cannot be read (${codeOf(error) ?? "unknown error"})`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return broken(path, true, "its package.json is not JSON");
  }
  const parsed = pluginPackage.safeParse(json);
  if (parsed.success) return { path, written: true, manifest: parsed.data, problem: null };
  const [issue] = parsed.error.issues;
  return broken(path, true, `its package.json: ${issue?.path.join(".")} ${issue?.message}`);
}

function broken(path: string, written: boolean, problem: string): FoundPlugin {
  return { path, written, manifest: null, problem };
}
