/** From `plugin_dirs` in the configuration to the providers, channels, tools and hooks that other people's plugins bring. */

import { getuid } from "node:process";
import { entriesOf, needsOf } from "../config/plugin-needs.ts";
import { isSwitchedOff, OWN_TOOLS, pluginOfKind } from "../config/plugins.ts";
import type { Channel } from "../contracts/channel.ts";
import type { AnyHook } from "../contracts/hooks.ts";
import type { PluginReport } from "../contracts/plugin.ts";
import type { Logger } from "../contracts/ports.ts";
import type { Provider } from "../contracts/provider.ts";
import type { Tool } from "../contracts/tool.ts";
import { pluginAccessProblem } from "../files/plugin-access.ts";
import { type FoundPlugin, mainOf, type UsablePlugin } from "../files/plugin-package.ts";
import { loadPlugin, provideApi } from "../plugins/loader/index.ts";
import type { HostOptions } from "./options.ts";
import { guardedChannel, guardedTool, missingChannel, missingProvider } from "./plugin-guards.ts";

export interface PluginParts {
  /** By the ids of their entries in cairn.yaml: each entry of a kind that is not Cairn's own has one, be its plugin loaded or not. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly tools: readonly Tool[];
  readonly hooks: readonly AnyHook[];
  report(): readonly PluginReport[];
  /** To be called when nothing of a plugin runs any more. */
  close(): void;
}

const AT_ONCE = 2;

interface Loaded {
  readonly plugin: FoundPlugin;
  readonly made: readonly unknown[];
  readonly report: PluginReport;
}

/** Rejects only when the node is to stop. One that cannot be loaded is reported, and the node starts without it. */
export async function loadPlugins(options: HostOptions, stopping: AbortSignal): Promise<PluginParts> {
  const { loaded, log, maintenance } = options;
  // A node for one command takes no messages and calls no model.
  const found = maintenance ? [] : loaded.plugins;
  const api = found.some(({ problem }) => problem === null) ? provideApi() : null;
  const all = await eachOf(found, (plugin) => loadOne(plugin, options, stopping));
  const toolNames = new Set(OWN_TOOLS);
  const named = all.map((one) => refuseTakenNames(one, toolNames));
  const { logger } = log;
  for (const { report } of named) logOf(report, logger);
  return {
    ...entriesMade(named, options, maintenance),
    // The shapes were checked when they were made.
    tools: madeOf<Tool>(named, "tool").map((tool) => guardedTool(tool)),
    hooks: madeOf<AnyHook>(named, "hook"),
    report: () => named.map(({ report }) => report),
    close: () => api?.deregister(),
  };
}

/** Some at a time: each is tried in a process of its own. */
async function eachOf<One, Done>(all: readonly One[], work: (one: One) => Promise<Done>): Promise<Done[]> {
  const done: Done[] = [];
  const open = [...all.entries()];
  const next = async (): Promise<void> => {
    for (let taken = open.shift(); taken; taken = open.shift()) done[taken[0]] = await work(taken[1]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return done;
}

async function loadOne(plugin: FoundPlugin, options: HostOptions, signal: AbortSignal): Promise<Loaded> {
  const { loaded, log, redact } = options;
  const { config } = loaded;
  const failed = (reason: string): Loaded => ({ plugin, made: [], report: reportOf(plugin, "failed", redact(reason)) });
  if (plugin.problem !== null) return failed(plugin.problem);
  if (isSwitchedOff(config, plugin.id)) return { plugin, made: [], report: reportOf(plugin, "off", null) };
  const problem = await pluginAccessProblem(plugin.path, getuid?.() ?? 0);
  if (problem !== null) return failed(problem);
  const { kind } = plugin.manifest.cairn;
  const logger = log.logger.child({ plugin: plugin.id });
  const request = { file: mainOf(plugin), kind, needs: needsOf(plugin, config) };
  const { made, reason } = await loadPlugin(request, { logger, signal });
  return made === null ? failed(reason) : { plugin, made, report: reportOf(plugin, "loaded", null) };
}

/** No tool is put in the place of another: a plugin with a name that is taken is not loaded. */
function refuseTakenNames(one: Loaded, taken: Set<string>): Loaded {
  if (one.plugin.manifest?.cairn.kind !== "tool") return one;
  const names = one.made.flat().map((tool) => (tool as Tool).name);
  const double = names.find((name, index) => taken.has(name) || names.indexOf(name) !== index);
  if (double !== undefined) {
    return { ...one, made: [], report: reportOf(one.plugin, "failed", `there is a tool ${double} already`) };
  }
  for (const name of names) taken.add(name);
  return one;
}

function madeOf<Made>(all: readonly Loaded[], kind: string): Made[] {
  const made = all.flatMap((one) => (one.plugin.manifest?.cairn.kind === kind ? one.made.flat() : []));
  return made as Made[];
}

function entriesMade(
  all: readonly Loaded[],
  { loaded: { config, plugins }, redact }: HostOptions,
  maintenance: boolean,
): Pick<PluginParts, "providers" | "channels"> {
  const why = (plugin: UsablePlugin | undefined): string => {
    if (maintenance) return "this node runs for one command";
    const report = all.find((one) => one.plugin === plugin)?.report;
    if (report?.state === "off") return "its plugin is switched off";
    return report?.reason ? `its plugin cannot be loaded: ${report.reason}` : "no plugin that can be used brings it";
  };
  const makeEntries = <Made>(kind: "provider" | "channel", missing: (id: string, kind: string, why: string) => Made) =>
    new Map(
      entriesOf(kind, config).map(([id, brought]) => {
        const plugin = pluginOfKind(plugins, kind, brought);
        const position = plugin ? needsOf(plugin, config).findIndex((needs) => needs.id === id) : -1;
        const made = all.find((one) => one.plugin === plugin)?.made[position];
        // Its shape was checked when it was made.
        return [id, made === undefined ? missing(id, brought, redact(why(plugin))) : (made as Made)] as const;
      }),
    );
  const channels = makeEntries<Channel>("channel", missingChannel);
  return {
    providers: makeEntries<Provider>("provider", missingProvider),
    channels: new Map([...channels].map(([id, channel]) => [id, guardedChannel(channel)])),
  };
}

function reportOf(
  { path, id, manifest }: FoundPlugin,
  state: PluginReport["state"],
  reason: string | null,
): PluginReport {
  const { kind } = manifest?.cairn ?? {};
  return { id, kind: kind ?? null, version: manifest?.version ?? null, path, state, reason };
}

function logOf({ id, path, state, reason, version }: PluginReport, logger: Logger): void {
  if (state === "failed") logger.error({ plugin: id, path, reason }, "a plugin cannot be loaded, and is skipped");
  else if (state === "loaded") logger.info({ plugin: id, path, version }, "a plugin is loaded");
}
