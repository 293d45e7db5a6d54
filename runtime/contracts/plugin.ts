/**
 * Manifests: what describes a plugin without loading it. Each plugin's folder has one in `manifest.ts`, which imports nothing
 * of the plugin but types, so that commands and the configuration can read all of them; `create` loads the rest.
 */

export const PLUGIN_KINDS = ["provider", "channel", "tool", "memory", "embedding", "hook"] as const;
export type PluginKind = (typeof PLUGIN_KINDS)[number];

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
