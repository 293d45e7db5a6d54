/**
 * The manifest of a third-party plugin: its package.json. One schema for everything that reads it: `plugins list`,
 * the builder of images, and what loads plugins.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { LOADED_KINDS, PLUGIN_CONTRACT, PLUGIN_ID } from "../contracts/plugin.ts";
import { codeOf } from "../contracts/system-errors.ts";

const ID_RULE = "must be small letters, digits, - and _, at most 63, starting with a letter";

const packages = z.record(z.string(), z.string()).optional();

/** What it must have; everything else in it is its own. */
const pluginPackage = z.object({
  name: z.string("must be the plugin's name").min(1, "must not be empty"),
  version: z.string().optional(),
  description: z.string().optional(),
  /** The module that exports `create`; the folder's `index.js` when absent. */
  main: z.string().min(1, "must not be empty").optional(),
  /** Installed with npm where the plugin is part of an image. */
  dependencies: packages,
  optionalDependencies: packages,
  cairn: z.object(
    {
      kind: z.enum(LOADED_KINDS, `must be one of ${LOADED_KINDS.join(", ")}`),
      contract: z.literal(PLUGIN_CONTRACT, {
        error: ({ input }) =>
          input === undefined
            ? `must be ${PLUGIN_CONTRACT}, the version of what the plugin was written for`
            : `is ${JSON.stringify(input)}, and this version of Cairn loads plugins of contract ${PLUGIN_CONTRACT}`,
      }),
      /** The `kind` of a provider or channel in cairn.yaml, and the key in `plugins`; the package's name without its scope when absent. */
      id: z.string().regex(PLUGIN_ID, ID_RULE).optional(),
      /** JSON Schema of its settings, an object. */
      settings: z.record(z.string(), z.unknown(), "must be a JSON Schema").optional(),
    },
    `must say what the plugin is, such as { "kind": "tool", "contract": ${PLUGIN_CONTRACT} }`,
  ),
});

export type PluginPackage = z.infer<typeof pluginPackage>;

export interface UsablePlugin {
  readonly path: string;
  /** Whether it has a package.json at all. */
  readonly written: boolean;
  readonly manifest: PluginPackage;
  readonly id: string;
  readonly problem: null;
}

export interface UnusablePlugin {
  readonly path: string;
  readonly written: boolean;
  /** Null where it cannot be read. */
  readonly manifest: PluginPackage | null;
  readonly id: string | null;
  /** What is wrong, as the end of a sentence: "its package.json is not JSON". */
  readonly problem: string;
}

export type FoundPlugin = UsablePlugin | UnusablePlugin;

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

/** Absolute path of the module that exports `create`. */
export function mainOf({ path, manifest }: UsablePlugin): string {
  return join(path, manifest.main ?? "index.js");
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
  if (parsed.success) return named(path, parsed.data);
  const [issue] = parsed.error.issues;
  return broken(path, true, `its package.json: ${issue?.path.join(".")} ${issue?.message}`);
}

function named(path: string, manifest: PluginPackage): FoundPlugin {
  const id = manifest.cairn.id ?? manifest.name.slice(manifest.name.lastIndexOf("/") + 1);
  // The check of who may write to its files covers its folder alone, and refuses links that lead outside.
  if (!staysInside(manifest.main)) {
    return { path, written: true, manifest, id: null, problem: "its package.json: main must lie in its folder" };
  }
  if (PLUGIN_ID.test(id)) return { path, written: true, manifest, id, problem: null };
  return { path, written: true, manifest, id: null, problem: `its package.json: cairn.id ${ID_RULE}` };
}

function staysInside(main = "."): boolean {
  const [first] = join(".", main).split("/");
  return first !== "..";
}

function broken(path: string, written: boolean, problem: string): FoundPlugin {
  return { path, written, manifest: null, id: null, problem };
}
