/**
 * Manifests: what describes a plugin without loading it. Each plugin's folder has one in `manifest.ts`, which imports nothing
 * of the plugin but types, so that commands and the configuration can read all of them; `create` loads the rest.
 */

export const PLUGIN_KINDS = ["provider", "channel", "tool", "memory", "embedding", "hook"] as const;
export type PluginKind = (typeof PLUGIN_KINDS)[number];

/** Kinds that people may write themselves (docs/plugins.md says why the others are not among them). */
export const LOADED_KINDS = ["provider", "channel", "tool", "hook"] as const satisfies readonly PluginKind[];
export type LoadedKind = (typeof LOADED_KINDS)[number];

/** Version of what a plugin of other people exports and is given; one made for another version is not loaded. */
export const PLUGIN_CONTRACT = 1;

/** Ids of other people's plugins: kinds in cairn.yaml, names in logs. */
export const PLUGIN_ID = /^[a-z][a-z0-9_-]{0,62}$/;

export interface PluginManifest<Kind extends PluginKind, Needs, Made> {
  readonly kind: Kind;
  /** Unique among those of its kind. */
  readonly id: string;
  readonly about: string;
  /** Path of its settings in cairn.yaml. */
  readonly configuration: string;
  /** Loads the plugin and makes one. Starts nothing and connects to nothing, but for a store, which is opened. */
  create(needs: Needs): Promise<Made>;
}

/** A plugin of `plugin_dirs`, as it was when the node started. */
export interface PluginReport {
  /** Null where its manifest cannot be read. */
  readonly id: string | null;
  readonly kind: LoadedKind | null;
  readonly version: string | null;
  /** Its folder on the node's machine. */
  readonly path: string;
  readonly state: "loaded" | "failed" | "off";
  /** Why it could not be loaded. */
  readonly reason: string | null;
}
