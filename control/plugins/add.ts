/** `plugin add`: a plugin is tried as the node does it, and then named in plugin_dirs of cairn.yaml. */

import { realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Document, isSeq } from "yaml";
import { within } from "../../infra/plan/workspaces.ts";
import { isOwnId } from "../../runtime/config/plugins.ts";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { LoadedKind } from "../../runtime/contracts/plugin.ts";
import type { FoundPlugin, UsablePlugin } from "../../runtime/files/plugin-package.ts";
import { loadedPlugins, requireValid } from "../configuration/current.ts";
import { type Edit, editOf, planEdit } from "../configuration/edit.ts";
import { setOwn } from "../configuration/own-nodes.ts";
import { replaceConfiguration } from "../configuration/replace.ts";
import type { Deployment } from "../service/deployment.ts";
import {
  installDependencies,
  integrityOf,
  isPackage,
  keep,
  PACKAGES,
  removeUnnamed,
  unpack,
  withPackages,
} from "./packages.ts";
import type { PluginSource } from "./plugin-source.ts";
import { nameOf } from "./remove.ts";
import { readUsable, requireUsable, tryAdded } from "./try-added.ts";

export interface AddedPlugin extends Edit {
  readonly plugin: string;
  readonly kind: LoadedKind;
  readonly version: string | null;
  /** Its folder. */
  readonly path: string;
  /** Names of the tools or hooks that it brings. */
  readonly provides: readonly string[];
  /** Of the package that it was installed from, as npm writes it; null: it is a folder of yours. */
  readonly integrity: string | null;
  /** The version whose place it takes; null: there was none. */
  readonly replaced: string | null;
}

export interface AddOptions {
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/**
 * CONFIG_INVALID where it cannot be used, or its settings are missing; RUNTIME_CONFLICT where another plugin has its id; errors of
 * `unpack` and `editConfiguration`. Nothing is changed where it rejects.
 */
export async function addPlugin(
  deployment: Deployment,
  source: PluginSource,
  options: AddOptions,
): Promise<AddedPlugin> {
  if (source.kind === "folder") {
    const plugin = await readUsable(source.path);
    return nameInConfiguration(deployment, { plugin, integrity: null, old: null }, options);
  }
  const { home } = deployment;
  // Before anything is fetched.
  await loadedPlugins(deployment, options.signal);
  return withPackages(home, async (folder) => {
    if (!options.dryRun) await removeUnnamed(folder, await loadedPlugins(deployment, options.signal));
    const unpacked = await unpack(source, folder, options.signal);
    try {
      const { id, manifest } = await readUsable(unpacked.path);
      const version = requireVersion(manifest, source);
      const target = join(home, PACKAGES, `${id}@${version}`);
      const { plugins } = await loadedPlugins(deployment, options.signal);
      const { integrity } = unpacked;
      const installed = await integrityOf(target);
      const present = await findByPath(plugins, target);
      if (present) requireSame(present, installed === integrity, `${id}@${version}`);
      // A node that runs may have it still where no configuration names it.
      const isPresent = present !== undefined || installed === integrity;
      if (!isPresent) {
        await installDependencies(unpacked.path, options.signal);
        await keep(unpacked, target);
      }
      let isKept = isPresent;
      try {
        const other = present ? undefined : plugins.find((one) => one.id === id);
        const old = other && (await isPackage(home, other.path)) ? other : null;
        const added = await nameInConfiguration(
          deployment,
          { plugin: await readUsable(target), integrity, old },
          options,
        );
        isKept ||= !options.dryRun;
        return added;
      } finally {
        if (!isKept) await rm(target, { recursive: true, force: true });
      }
    } finally {
      await rm(unpacked.path, { recursive: true, force: true });
    }
  });
}

/** RUNTIME_CONFLICT where what the configuration names in that folder is another one, or broken. */
function requireSame(present: FoundPlugin, isSame: boolean, version: string): void {
  if (isSame && present.problem === null) return;
  const why = isSame ? `and cannot be used: ${present.problem}` : "from another archive";
  throw new RuntimeError("RUNTIME_CONFLICT", `${version} is installed already, ${why}.`, {
    hint: `First \`cairn plugin remove ${nameOf(present)}\`${isSame ? "" : ", or give the new one another version"}.`,
  });
}

/** The name and version that were asked for: a registry that gives another package is not trusted. */
function requireVersion(
  { name, version }: UsablePlugin["manifest"],
  source: Exclude<PluginSource, { kind: "folder" }>,
): string {
  if (version === undefined || !/^[0-9A-Za-z.+-]+$/.test(version)) {
    throw new ConfigError("CONFIG_INVALID", `The package ${name} has no version that can be used.`);
  }
  if (source.kind === "package" && (name !== source.name || version !== source.version)) {
    throw new ConfigError(
      "CONFIG_INVALID",
      `The registry has given ${name}@${version} for ${source.name}@${source.version}.`,
      { hint: "Nothing was changed." },
    );
  }
  return version;
}

async function nameInConfiguration(
  deployment: Deployment,
  { plugin, integrity, old }: { plugin: UsablePlugin; integrity: string | null; old: FoundPlugin | null },
  { dryRun, signal }: AddOptions,
): Promise<AddedPlugin> {
  const { id, path, manifest } = plugin;
  const { config, plugins } = await loadedPlugins(deployment, signal);
  const found = await findByPath(plugins, path);
  if (found === undefined) requireFreeId(plugin, plugins, old);
  const planned = await planEdit(
    deployment,
    (document, current) => {
      if (found !== undefined) return;
      // Other commands may have changed the file since it was read.
      const { plugin_dirs: directories } = requireValid(deployment, current);
      const at = old === null ? -1 : directories.indexOf(old.path);
      nameDirectory(document, at < 0 ? directories.length : at, writtenPath(deployment.dir, path));
    },
    { signal },
  );
  // Its settings are checked by now.
  const named = await findByPath(planned.loaded?.plugins ?? [], path);
  const provides = await tryAdded(requireUsable(named ?? plugin), planned.loaded ?? { config, plugins }, signal);
  if (planned.changed && !dryRun) {
    await replaceConfiguration({ file: planned.file, expected: planned.before, text: planned.after });
  }
  return {
    ...editOf(planned),
    plugin: id,
    kind: manifest.cairn.kind,
    version: manifest.version ?? null,
    path,
    provides,
    integrity,
    replaced: old?.manifest?.version ?? null,
  };
}

/** Whatever links lead to it. */
async function findByPath(plugins: readonly FoundPlugin[], path: string): Promise<FoundPlugin | undefined> {
  const real = await realPath(path);
  const paths = await Promise.all(plugins.map((plugin) => realPath(plugin.path)));
  return plugins[paths.indexOf(real)];
}

async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

function requireFreeId({ id }: UsablePlugin, plugins: readonly FoundPlugin[], old: FoundPlugin | null): void {
  if (isOwnId(id)) {
    throw new RuntimeError("RUNTIME_CONFLICT", `${id} is a name of Cairn's own.`, {
      hint: "Give the plugin another `cairn.id` in its package.json.",
    });
  }
  const other = plugins.find((one) => one.id === id && one.path !== old?.path);
  if (other === undefined) return;
  throw new RuntimeError("RUNTIME_CONFLICT", `There is a plugin ${id} already: ${other.path}.`, {
    hint: `First \`cairn plugin remove ${id}\`, or give one of them another \`cairn.id\`.`,
  });
}

/** In the place of the old version, else behind the others. */
function nameDirectory(document: Document, index: number, path: string): void {
  const list = document.getIn(["plugin_dirs"], true);
  if (isSeq(list)) setOwn(document, ["plugin_dirs", index], path);
  else setOwn(document, ["plugin_dirs"], document.createNode([path]));
}

/** Below the deployment directory as from there: the directory may be moved. */
function writtenPath(dir: string, path: string): string {
  const inside = within(dir, path);
  return inside === null ? path : `./${inside}`;
}
