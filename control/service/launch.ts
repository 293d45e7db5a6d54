/** Everything that `start` does before there is a node: a first configuration, the owner's token, and a look at both. */

import process from "node:process";
import type { ConfigIssue, LoadedConfig } from "../../runtime/config/index.ts";
import type { InitResult } from "../wizard/init.ts";
import { refuseDeployed } from "./deployed-node.ts";
import { type Deployment, findDeployment, inspectWithoutSecrets, tokenFor, writtenToken } from "./deployment.ts";
import { startDetached } from "./start-node.ts";

export interface Prepared {
  readonly deployment: Deployment;
  readonly config: LoadedConfig;
  /** What was set up now; null when there was a configuration. */
  readonly init: InitResult | null;
  /** What the configuration and `.env` are warned of. */
  readonly warnings: readonly ConfigIssue[];
}

export interface StartResult {
  readonly pid: number;
  readonly url: string;
  readonly dir: string;
  readonly home: string;
  /** Where the owner's token is, never the token itself. */
  readonly token: string;
  readonly agent: string;
  readonly init: InitResult | null;
}

/** ConfigValidationError and the other errors of `loadConfig`, except for secrets, which the node reads itself; RUNTIME_CONFLICT. */
export async function prepare(deployment: Deployment, signal: AbortSignal): Promise<Prepared> {
  const { dir, file } = deployment;
  await refuseDeployed(deployment);
  const init = deployment.exists ? null : await setUp(deployment, signal);
  // Reads .env first: the first read repairs its mode, and only it has the warning.
  const { loaded, error, warnings } = await inspectWithoutSecrets(deployment, signal);
  if (loaded === null) throw error ?? new Error(`${file} could not be read`);
  if ((await writtenToken(deployment)) === undefined) await tokenFor(deployment);
  return { deployment: init ? findDeployment({ dir }) : deployment, config: loaded, init, warnings };
}

export async function launch(
  { deployment, config, init }: Prepared,
  options: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<StartResult> {
  const { dir, home } = deployment;
  const { pid, url } = await startDetached(deployment, options);
  return { pid, url, dir, home, token: tokenPlace(config), agent: config.config.runtime.default_agent, init };
}

async function setUp({ dir, home, file }: Deployment, signal: AbortSignal): Promise<InitResult> {
  const { initYes } = await import("../wizard/init.ts");
  return initYes({ directories: { dir, home, file }, env: process.env, signal });
}

/** The process environment wins over the file. */
export function tokenPlace({ dir }: Pick<LoadedConfig, "dir">): string {
  return process.env["SERVICE_API_TOKEN"] ? "SERVICE_API_TOKEN in the environment" : `SERVICE_API_TOKEN in ${dir}/.env`;
}
