/** The plugins that every installation has, as `plugins list` shows them: what their manifests say. */

import type { PluginKind } from "../../runtime/contracts/plugin.ts";
import { MANIFESTS } from "../../runtime/plugins/manifests.ts";

export interface BuiltIn {
  readonly kind: PluginKind;
  readonly name: string;
  readonly about: string;
  /** Path of its settings in cairn.yaml. */
  readonly configuration: string;
}

const { hook, ...others } = MANIFESTS;

export const BUILT_IN: readonly BuiltIn[] = [
  ...Object.values(others)
    .flat()
    .map(({ kind, id, about, configuration }) => ({ kind, name: id, about, configuration })),
  // One plugin may bring several hooks.
  ...hook.flatMap(({ kind, configuration, hooks }) =>
    hooks.map(({ name, about }) => ({ kind, name, about, configuration })),
  ),
];
