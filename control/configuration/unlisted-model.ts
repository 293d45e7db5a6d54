/**
 * Whether a provider lists the model that an agent was given: what is misspelt is seen at once, and not at the next message.
 */

import { hasModel, lacksModel } from "../../runtime/contracts/model-names.ts";
import { askModelServers } from "../doctor/context/model-servers.ts";
import type { Deployment } from "../service/deployment.ts";
import { loadedConfig, standIn } from "./current.ts";
import type { Switched } from "./providers.ts";

/** Milliseconds that a provider has for its list. */
const LIST_MS = 2_000;

/**
 * The change with a warning where its provider, as cairn.yaml has it, does not list the model: that may be one which is still
 * to be fetched, or which a service takes all the same. Unchanged where the list cannot be read in two seconds.
 */
export async function doubted(deployment: Deployment, switched: Switched, signal: AbortSignal): Promise<Switched> {
  const { provider: id, model } = switched;
  const { config, missing } = await loadedConfig(deployment, signal);
  const provider = config.providers[id];
  // Anthropic gives its list in parts.
  if (!switched.changed || model === null || provider === undefined || provider.kind === "anthropic") return switched;
  if (missing.map(standIn).includes(provider.api_key ?? "")) return switched;
  const within = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
  const [server] = await askModelServers([{ id, provider, use: "needed" }], within);
  const models = server?.answer.kind === "answered" ? server.answer.models : null;
  if (models === null || hasModel(models, model)) return switched;
  const warning = { path: `providers.${id}`, message: lacksModel(id, models, model), code: "unknown-name" } as const;
  return { ...switched, warnings: [...switched.warnings, warning] };
}
