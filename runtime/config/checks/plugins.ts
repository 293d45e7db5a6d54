/** Kinds that no provider and no channel has, and what is set of plugins that are not there. */

import { CHANNEL_KINDS, PROVIDER_KINDS } from "../known-ids.ts";
import { isSwitchedOff, pluginOfKind } from "../plugins.ts";
import { suggestion } from "../report.ts";
import { type CheckInput, type Collector, createCollector, type Findings } from "./collector.ts";

export function checkPlugins(input: CheckInput): Findings {
  const found = createCollector();
  const { config, plugins } = input;
  for (const [key, own, kind] of [
    ["providers", PROVIDER_KINDS, "provider"],
    ["channels", CHANNEL_KINDS, "channel"],
  ] as const) {
    for (const [id, entry] of Object.entries(config[key] ?? {})) {
      checkKind(found, input, { path: [key, id], kind, id: entry.kind, own });
      const hasSettings = Object.keys(entry.settings).length > 0;
      if (hasSettings && own.some((one) => one === entry.kind)) {
        found.warn([key, id, "settings"], "no-effect", `only a ${kind} that a plugin brings has settings of its own`);
      }
    }
  }
  for (const [id, { settings }] of Object.entries(config.plugins ?? {})) {
    const plugin = plugins.find((one) => one.id === id);
    const kind = plugin?.manifest?.cairn.kind;
    if (plugin === undefined) {
      const ids = plugins.flatMap((one) => one.id ?? []);
      const names = ids.length === 0 ? "there is none" : `there are ${ids.join(", ")}`;
      found.warn(["plugins", id], "unknown-name", `no plugin of plugin_dirs has this id: ${names}`);
    } else if ((kind === "provider" || kind === "channel") && Object.keys(settings).length > 0) {
      const place = `${kind}s.<id>.settings`;
      found.warn(["plugins", id, "settings"], "no-effect", `the settings of a ${kind} are at its entry: ${place}`);
    }
  }
  return found;
}

/** An error, but where the one that brings the kind may be among those that cannot be used: then the node starts without the entry. */
function checkKind(
  found: Collector,
  { config, plugins }: CheckInput,
  of: {
    readonly path: readonly string[];
    readonly kind: "provider" | "channel";
    readonly id: string;
    readonly own: readonly string[];
  },
): void {
  const { path, kind, id, own } = of;
  if (own.includes(id)) return;
  const at = [...path, "kind"];
  const plugin = pluginOfKind(plugins, kind, id);
  if (plugin && !isSwitchedOff(config, id)) return;
  const brought = plugins.flatMap((one) => (one.manifest?.cairn.kind === kind && one.id !== null ? [one.id] : []));
  const kinds = [...own, ...brought];
  if (plugin) found.warn(at, "no-effect", `plugins.${id}.enabled is false: this ${kind} does nothing`);
  else if (plugins.some(({ problem }) => problem !== null)) {
    found.warn(
      at,
      "unknown-name",
      `no plugin that can be used brings the ${kind} ${id}: \`cairn plugins list\` says why`,
    );
  } else found.error(at, JSON.stringify(id), `one of ${kinds.join(", ")}`, suggestion(id, kinds));
}
