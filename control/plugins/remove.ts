/** `plugin remove`: a plugin is taken out of cairn.yaml; a folder of the operator's own stays. */

import { basename } from "node:path";
import type { Document } from "yaml";
import type { Config } from "../../runtime/config/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import type { FoundPlugin } from "../../runtime/files/plugin-package.ts";
import { loadedPlugins, requireValid } from "../configuration/current.ts";
import { type Edit, editConfiguration } from "../configuration/edit.ts";
import { deleteOwn } from "../configuration/own-nodes.ts";
import type { Deployment } from "../service/deployment.ts";
import { BUILT_IN } from "./built-in.ts";
import { isPackage, removeUnnamed, withPackages } from "./packages.ts";
import { toolsOf } from "./try-added.ts";

export interface RemovedPlugin extends Edit {
  readonly plugin: string;
  /** Its folder; null: there was no such plugin. */
  readonly path: string | null;
  /** Whether `plugin add` has installed it: its folder is deleted by the next command that installs or removes a package. */
  readonly installed: boolean;
}

export interface RemoveOptions {
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/**
 * Changes nothing where there is no such plugin. RUNTIME_INVALID_REQUEST for one that comes with Cairn, RUNTIME_CONFLICT while
 * something names it or its directory holds other plugins; errors of `editConfiguration`.
 */
export async function removePlugin(
  deployment: Deployment,
  name: string,
  options: RemoveOptions,
): Promise<RemovedPlugin> {
  const { dryRun, signal } = options;
  const { config, plugins } = await loadedPlugins(deployment, signal);
  const found = plugins.find((one) => nameOf(one) === name);
  if (found === undefined && BUILT_IN.some((one) => one.name === name)) {
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${name} comes with Cairn and cannot be removed.`, {
      hint: "`agents.<name>.tools.exclude` keeps a tool from an agent.",
    });
  }
  if (found === undefined) {
    const { file } = deployment;
    return { file, changed: false, diff: "", warnings: [], missing: [], plugin: name, path: null, installed: false };
  }
  const { path } = found;
  if (!config.plugin_dirs.includes(path)) throw inDirectory(name, path);
  await requireUnused(found, config, signal);
  const ownsSettings = found.id === name && plugins.every((one) => one.path === path || one.id !== name);
  const edit = () =>
    editConfiguration(
      deployment,
      (document, current) => {
        // Where they are now: other commands may have changed the file while the plugin was tried.
        const at = requireValid(deployment, current).plugin_dirs.flatMap((one, index) => (one === path ? [index] : []));
        // From the last: the others keep their positions.
        for (const index of at.toReversed()) deleteOwn(document, ["plugin_dirs", index]);
        if (ownsSettings) deleteSettings(document, name);
      },
      { dryRun, signal },
    );
  if (!(await isPackage(deployment.home, path))) return { ...(await edit()), plugin: name, path, installed: false };
  return withPackages(deployment.home, async (folder) => {
    if (!dryRun) await removeUnnamed(folder, await loadedPlugins(deployment, signal));
    return { ...(await edit()), plugin: name, path, installed: true };
  });
}

/** As `plugins list` shows it. */
export function nameOf({ id, manifest, path }: FoundPlugin): string {
  return id ?? manifest?.name ?? basename(path);
}

function inDirectory(name: string, path: string): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `${name} is one of the plugins of a directory in plugin_dirs: ${path}.`, {
    hint: `Move its folder out of that directory, or write \`plugins: { ${name}: { enabled: false } }\`.`,
  });
}

/** RUNTIME_CONFLICT while the configuration names what it brings. */
async function requireUnused(plugin: FoundPlugin, config: Config, signal: AbortSignal): Promise<void> {
  const uses = await usesOf(plugin, config, signal);
  if (uses.length === 0) return;
  throw new RuntimeError("RUNTIME_CONFLICT", `${nameOf(plugin)} cannot be removed: ${uses.join(" and ")} names it.`, {
    hint: "Take that out of cairn.yaml first; `cairn config validate` checks the rest.",
  });
}

async function usesOf(plugin: FoundPlugin, config: Config, signal: AbortSignal): Promise<string[]> {
  const kind = plugin.manifest?.cairn.kind;
  if (kind === "provider" || kind === "channel") {
    const entries = Object.entries(config[`${kind}s`]);
    return entries.flatMap(([id, entry]) => (entry.kind === plugin.id ? [`${kind}s.${id}`] : []));
  }
  const names = await toolsOf(plugin, config, signal);
  return Object.entries(config.agents).flatMap(([agent, { tools }]) =>
    [
      { key: "tools.include", list: tools?.include },
      { key: "tools.others.include", list: tools?.others?.include },
    ].flatMap(({ key, list = [] }) => (list.some((name) => names.includes(name)) ? [`agents.${agent}.${key}`] : [])),
  );
}

function deleteSettings(document: Document, id: string): void {
  if (document.hasIn(["plugins", id])) deleteOwn(document, ["plugins", id]);
}
