/** The plugins of a deployment: from its configuration, and from its node where one answers. */

import { loadedPlugins } from "../configuration/current.ts";
import { connect } from "../service/connect.ts";
import type { Deployment } from "../service/deployment.ts";
import type { InstalledPlugins } from "./plugins.ts";

/** The list needs no node: one that is slow is left out. */
const NODE_MS = 3_000;

export async function installedPlugins(deployment: Deployment, signal: AbortSignal): Promise<InstalledPlugins> {
  const installed = await loadedPlugins(deployment, signal);
  if (installed.plugins.length === 0) return { ...installed, reports: null };
  try {
    const client = await connect(deployment);
    const { plugins = [] } = await client.health({ signal, timeoutMs: NODE_MS });
    return { ...installed, reports: plugins };
  } catch {
    signal.throwIfAborted();
    return { ...installed, reports: null };
  }
}
