/** Everything that `start` does before there is a node: a first configuration, the owner's token, and the validation of both. */

import { existsSync } from "node:fs";
import process from "node:process";
import { mayHaveShared } from "../../runtime/config/home.ts";
import type { ConfigIssue, LoadedConfig } from "../../runtime/config/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import type { InitResult } from "../wizard/init.ts";
import { refuseDeployed } from "./deployed-node.ts";
import {
  type Deployment,
  findDeployment,
  inspectWithoutSecrets,
  sharedHome,
  tokenFor,
  writtenToken,
} from "./deployment.ts";
import { isFreePort } from "./free-port.ts";
import { otherNodeAt } from "./other-node.ts";
import { missingSandbox } from "./sandbox.ts";
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
  await refuseTakenPort(loaded, deployment);
  const moved = init === null ? sharedBefore(deployment) : null;
  const unsafe = await withoutSandbox(loaded, signal);
  if ((await writtenToken(deployment)) === undefined) await tokenFor(deployment);
  return {
    deployment: init ? findDeployment({ dir }) : deployment,
    config: loaded,
    init,
    warnings: [...warnings, ...[moved, unsafe].filter((warning) => warning !== null)],
  };
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
  const { initialize } = await import("../wizard/init.ts");
  return initialize({ directories: { dir, home, file }, env: process.env, signal });
}

/** RUNTIME_ALREADY_RUNNING, naming the other deployment. What else may have the port is the node's to report. */
async function refuseTakenPort({ config }: LoadedConfig, deployment: Deployment): Promise<void> {
  const { parseListen } = await import("../../runtime/config/listen.ts");
  const { listen } = config.runtime;
  const address = parseListen(listen);
  if (address === null || address.port === 0) return;
  const other = await otherNodeAt(`http://127.0.0.1:${address.port}`, deployment);
  if (other === null) return;
  const { pid, dir } = other;
  throw new RuntimeError("RUNTIME_ALREADY_RUNNING", `${listen} is taken by the node of ${dir} (process ${pid}).`, {
    hint: "Set runtime.listen in cairn.yaml (or SERVICE_LISTEN) to another HOST:PORT, or stop the other node.",
  });
}

/**
 * RUNTIME_ALREADY_RUNNING where something has the port of a deployment whose own node does not run: said in a sentence, before
 * the node's log begins.
 */
export async function requireFreePort({ config: { config } }: Prepared): Promise<void> {
  const { parseListen } = await import("../../runtime/config/listen.ts");
  const { listen } = config.runtime;
  const address = parseListen(listen);
  if (address === null || (await isFreePort(address))) return;
  throw new RuntimeError("RUNTIME_ALREADY_RUNNING", `${listen} is taken by another process.`, {
    hint: "Set runtime.listen in cairn.yaml (or SERVICE_LISTEN) to another HOST:PORT, or stop the other process.",
  });
}

/** Before a directory's first start with a home of its own: what an earlier version kept for all of them stays where it is. */
function sharedBefore({ dir, home }: Deployment): ConfigIssue | null {
  const shared = sharedHome();
  if (existsSync(home) || home === shared || !mayHaveShared(shared, dir)) return null;
  return {
    path: "home",
    code: "separate-home",
    message:
      `this deployment has a home of its own now, ${home}. What an earlier version remembered for all directories ` +
      `is in ${shared} as before; \`cairn memory backup\` there and \`cairn memory restore\` here bring a copy over`,
  };
}

/** The node starts all the same: an agent need not run commands. */
async function withoutSandbox({ config }: LoadedConfig, signal: AbortSignal): Promise<ConfigIssue | null> {
  const missing = await missingSandbox(config, signal);
  if (missing === null) return null;
  const { problem, fix } = missing;
  return {
    path: "tools.shell",
    code: "sandbox-missing",
    message: `agents' commands will be refused: ${problem}. ${fix}`,
  };
}

/** The process environment wins over the file. */
export function tokenPlace({ dir }: Pick<LoadedConfig, "dir">): string {
  return process.env["SERVICE_API_TOKEN"] ? "SERVICE_API_TOKEN in the environment" : `SERVICE_API_TOKEN in ${dir}/.env`;
}
