/** Settings of other people's plugins: checked against the JSON Schema of each, with its defaults filled in. */

import type { Ajv, ErrorObject, ValidateFunction } from "ajv";
import type { FoundPlugin, UsablePlugin } from "../files/plugin-package.ts";
import { createCollector, type Findings } from "./checks/collector.ts";
import { isSwitchedOff, pluginOfKind } from "./plugins.ts";
import { describe } from "./report.ts";
import type { ParsedConfig } from "./schema.ts";
import { type TreeMap, type TreePath, valueAt } from "./tree.ts";

type Settings = Readonly<Record<string, unknown>>;

export interface CheckedSettings {
  readonly findings: Findings;
  /** With settings as their plugins get them. */
  readonly config: Partial<ParsedConfig>;
  /** Values of settings that their schema marks with `writeOnly`. */
  readonly secrets: readonly string[];
  /** Those whose schema cannot be used have a problem now. */
  readonly plugins: readonly FoundPlugin[];
}

/** `written` is the tree as the file has it: a resolved value is never repeated in a finding. Loads the validator where there is a plugin. */
export async function checkPluginSettings(
  config: Partial<ParsedConfig>,
  found: readonly FoundPlugin[],
  written: TreeMap,
): Promise<CheckedSettings> {
  const collector = createCollector();
  if (!found.some(({ problem }) => problem === null)) {
    return { findings: collector, config, secrets: [], plugins: found };
  }
  const { Ajv: Validator } = await import("ajv");
  // Values that come from variables are texts.
  const ajv = new Validator({ allErrors: true, useDefaults: true, coerceTypes: true, validateFormats: false });
  const validators = new Map<string, ValidateFunction>();
  const plugins = found.map((plugin): FoundPlugin => {
    if (plugin.problem !== null) return plugin;
    const problem = compileInto(validators, ajv, plugin);
    return problem === null ? plugin : { ...plugin, problem };
  });
  const secrets: string[] = [];
  const fill = (plugin: UsablePlugin | undefined, settings: Settings, path: TreePath): Settings => {
    const validate = plugin && validators.get(plugin.id);
    if (!plugin || !validate || isSwitchedOff(config, plugin.id)) return settings;
    const filled = structuredClone(settings);
    if (!validate(filled)) for (const error of validate.errors ?? []) report(collector, error, path, written);
    secrets.push(...secretsOf(plugin.manifest.cairn.settings, filled));
    return filled;
  };
  const entries = <Entry extends { readonly kind: string; readonly settings: Settings }>(
    key: "providers" | "channels",
    of: Readonly<Record<string, Entry>> | undefined,
  ) =>
    of &&
    mapEntries(of, (id, entry) => {
      const plugin = pluginOfKind(plugins, key === "providers" ? "provider" : "channel", entry.kind);
      return { ...entry, settings: fill(plugin, entry.settings, [key, id, "settings"]) };
    });
  const parts = {
    providers: entries("providers", config.providers),
    channels: entries("channels", config.channels),
    plugins: config.plugins && fillOwn(config.plugins, plugins, fill),
  };
  return { findings: collector, config: { ...config, ...defined(parts) }, secrets, plugins };
}

/** Of tools and hooks, those without an entry included: their settings may all have defaults, or one may be needed. */
function fillOwn(
  written: ParsedConfig["plugins"],
  plugins: readonly FoundPlugin[],
  fill: (plugin: UsablePlugin, settings: Settings, path: TreePath) => Settings,
): ParsedConfig["plugins"] {
  const own = plugins.filter(
    (plugin): plugin is UsablePlugin =>
      plugin.problem === null && ["tool", "hook"].includes(plugin.manifest.cairn.kind),
  );
  const entries = new Map(Object.entries(written));
  const filled = own.map((plugin) => {
    const entry = entries.get(plugin.id) ?? { enabled: true, settings: {} };
    return [plugin.id, { ...entry, settings: fill(plugin, entry.settings, ["plugins", plugin.id, "settings"]) }];
  });
  return { ...written, ...Object.fromEntries(filled) };
}

function compileInto(validators: Map<string, ValidateFunction>, ajv: Ajv, plugin: UsablePlugin): string | null {
  const { settings = { type: "object", additionalProperties: false } } = plugin.manifest.cairn;
  if (settings["type"] !== "object") return 'its package.json: cairn.settings must have "type": "object"';
  try {
    validators.set(plugin.id, ajv.compile(settings));
    return null;
  } catch (error) {
    return `its package.json: cairn.settings is no JSON Schema that can be used (${error instanceof Error ? error.message : "unknown error"})`;
  }
}

function report(
  collector: ReturnType<typeof createCollector>,
  { instancePath, keyword, params, message = "something else" }: ErrorObject,
  path: TreePath,
  written: TreeMap,
): void {
  const inside = instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const missing: unknown = keyword === "required" ? params["missingProperty"] : undefined;
  const extra: unknown = keyword === "additionalProperties" ? params["additionalProperty"] : undefined;
  const at = [...path, ...inside, ...[missing, extra].flatMap((key) => (typeof key === "string" ? [key] : []))];
  if (typeof missing === "string") collector.error(at, "nothing", "what the plugin's settings schema asks for");
  else if (typeof extra === "string") collector.refuse(at, "unknown-key", "the plugin has no such setting");
  else collector.error(at, describe(valueAt(written, at), at), message);
}

/** Texts of properties that the schema marks with `writeOnly`, JSON Schema's word for what is never shown. */
function secretsOf(schema: unknown, value: unknown): string[] {
  if (typeof schema !== "object" || schema === null || typeof value !== "object" || value === null) return [];
  const { properties, items } = schema as { readonly properties?: unknown; readonly items?: unknown };
  if (Array.isArray(value)) return value.flatMap((item) => secretOf(items, item));
  if (typeof properties !== "object" || properties === null) return [];
  const schemas = new Map(Object.entries(properties));
  return Object.entries(value).flatMap(([key, item]) => secretOf(schemas.get(key), item));
}

function secretOf(schema: unknown, value: unknown): string[] {
  if (typeof value !== "string") return secretsOf(schema, value);
  const marked = typeof schema === "object" && schema !== null && "writeOnly" in schema && schema.writeOnly === true;
  return marked && value !== "" ? [value] : [];
}

function mapEntries<Entry, Changed>(
  record: Readonly<Record<string, Entry>>,
  change: (id: string, entry: Entry) => Changed,
): Record<string, Changed> {
  return Object.fromEntries(Object.entries(record).map(([id, entry]) => [id, change(id, entry)]));
}

/** Sections that are not there stay so. */
function defined<Parts extends object>(parts: Parts): { [Key in keyof Parts]?: NonNullable<Parts[Key]> } {
  // The entries that are left have values.
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Parts]?: NonNullable<Parts[Key]>;
  };
}
