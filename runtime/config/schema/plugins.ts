/** `plugins`: switches and settings of other people's plugins, and what an entry of theirs may have elsewhere. */
import { z } from "zod";
import { PLUGIN_ID } from "../../contracts/plugin.ts";
import { choice, flag, mapping, section } from "./scalars.ts";

const SETTINGS = "a mapping, as the plugin's settings schema says";

export const pluginSettings = () => z.record(z.string(), z.unknown(), { error: SETTINGS }).prefault({});

/** One of Cairn's own kinds, or one that a plugin brings; which there are is checked with the plugins at hand. */
export function pluggableKind<const Kinds extends readonly [string, ...string[]]>(kinds: Kinds) {
  const allowed = `one of ${kinds.join(", ")}, or the id of a plugin`;
  return z.union([choice(kinds), z.string().regex(PLUGIN_ID)], { error: allowed });
}

const id = z
  .string()
  .regex(PLUGIN_ID, { error: "a plugin's id: small letters, digits, - and _, at most 63, starting with a letter" });

const plugin = section({
  enabled: flag().prefault(true).describe("Whether the node loads it."),
  settings: pluginSettings().describe(
    "Of a tool or hook, as its settings schema says. Providers and channels have theirs at their entries.",
  ),
});

export const pluginsSection = mapping(id, plugin)
  .prefault({})
  .describe("Plugins of `plugin_dirs`, by id; one that is not named here is loaded, too (plugins.md).");
