/** The way from a command to the node: a deployed one, the one that runs here, or a short-lived one for the store alone. */

import { existsSync } from "node:fs";
import { isForeignListener } from "../../runtime/client/foreign-listener.ts";
import type { Client } from "../../runtime/client/index.ts";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { UsageError } from "../output/failure.ts";
import { connectDeployed, type NodeChoice, refuseUndeployed } from "./deployed-node.ts";
import { type Deployment, inspectWithoutSecrets, readToken, tokenFor } from "./deployment.ts";
import { announcedEndpoint, clientOf, configuredEndpoint, type Endpoint } from "./node-client.ts";
import { readNodeFile } from "./node-file.ts";
import { endChild, spawnNode, untilReady } from "./node-process.ts";
import { type OtherNode, otherNodeAt } from "./other-node.ts";
import { inspectNode } from "./stale-node-file.ts";
import { unknownHolder } from "./stop-node.ts";

const READY_MS = 60_000;
const END_MS = 20_000;

export interface Connection {
  readonly client: Client;
  close(): Promise<void>;
}

/**
 * A node to talk to: of the stack that this directory has deployed, else of this machine. The caller closes it. UsageError for
 * `choice.node` where no stack is deployed; RUNTIME_NOT_RUNNING where one is to be, and no node runs here meanwhile.
 */
export async function openConnection(
  deployment: Deployment,
  signal: AbortSignal,
  choice: NodeChoice = {},
): Promise<Connection> {
  refuseMissing(deployment);
  const deployed = await connectDeployed(deployment, signal, choice);
  if (deployed !== null) return deployed;
  await refuseChoice(deployment, choice);
  if ((await inspectNode(deployment.home)).state === "stopped") await refuseUndeployed(deployment);
  return { client: await connect(deployment), close: async () => undefined };
}

/** A client of the node of this home directory, or of the address that the configuration names: it may run elsewhere. */
export async function connect(deployment: Deployment): Promise<Client> {
  const [state, token] = await Promise.all([inspectNode(deployment.home), readToken(deployment)]);
  const endpoint = state.state === "running" ? announcedEndpoint(state.node) : await endpointOf(deployment);
  if (endpoint === null) throw notRunning();
  if (state.state !== "running") {
    if (await isForeignListener(endpoint.url)) throw foreign(endpoint.url);
    const other = await otherNodeAt(endpoint.url, deployment);
    if (other !== null) throw ofAnother(deployment, other);
  }
  return clientOf(endpoint, { token });
}

/**
 * Runs the work against the node, or against one that is started for it and ended after it. The store has one opener at a
 * time: RUNTIME_CONFLICT when a process that cannot be talked to has it. UsageError for `choice.node` where no stack is deployed.
 */
export async function withNode<T>(
  deployment: Deployment,
  signal: AbortSignal,
  work: (client: Client, node: { readonly shortLived: boolean }) => Promise<T>,
  choice: NodeChoice = {},
): Promise<T> {
  refuseMissing(deployment);
  const deployed = await connectDeployed(deployment, signal, choice);
  if (deployed !== null) {
    try {
      return await work(deployed.client, { shortLived: false });
    } finally {
      await deployed.close();
    }
  }
  await refuseChoice(deployment, choice);
  const state = await inspectNode(deployment.home);
  if (state.state === "busy") throw unknownHolder(deployment.home);
  if (state.state === "running") return work(await connect(deployment), { shortLived: false });
  await refuseUndeployed(deployment);
  // Without a configuration there is no store to speak of; its own error says what to do.
  if (!deployment.exists) await inspectWithoutSecrets(deployment);
  return withShortLivedNode(deployment, signal, (client) => work(client, { shortLived: true }));
}

/**
 * Runs the work against a node that is started for it and ended after it, and that keeps every other one out of the home
 * meanwhile; `config` is read in place of cairn.yaml. Rejects with what the node's start reports.
 */
export async function withShortLivedNode<T>(
  deployment: Pick<Deployment, "dir" | "home">,
  signal: AbortSignal,
  work: (client: Client) => Promise<T>,
  config?: string,
): Promise<T> {
  const token = await tokenFor(deployment);
  const { dir, home } = deployment;
  const node = await spawnNode({ dir, home, maintenance: true, config });
  try {
    const url = await untilReady(node, { deadlineMs: READY_MS, signal });
    const said = await readNodeFile(home);
    const endpoint = said?.url === url ? announcedEndpoint(said) : { url, certificate: null };
    return await work(clientOf(endpoint, { token }));
  } finally {
    await endChild(node.child, END_MS);
  }
}

/** The agent that is talked to when none is named. UsageError, naming them, when there is a choice. */
export async function defaultAgent(deployment: Deployment, client: Client): Promise<string> {
  const inspection = await inspectWithoutSecrets(deployment).catch(() => null);
  if (inspection?.loaded) return inspection.loaded.config.runtime.default_agent;
  const agents = Object.keys((await client.health()).agents);
  const [only] = agents;
  if (only !== undefined && agents.length === 1) return only;
  throw new UsageError("There is no default agent.", `Name one: ${agents.join(", ")}.`);
}

/** Where the node of this deployment listens when it runs; null where only the node itself can know. */
export async function endpointOf(deployment: Deployment): Promise<Endpoint | null> {
  if (!deployment.exists) return null;
  const inspection = await inspectWithoutSecrets(deployment).catch(() => null);
  return inspection?.loaded ? configuredEndpoint(inspection.loaded.config, deployment.home) : null;
}

/** CONFIG_UNREADABLE for a directory that is not there: with a home elsewhere its node would be the one that answers. */
function refuseMissing({ dir, home }: Deployment): void {
  if (dir === home || existsSync(dir)) return;
  throw new ConfigError("CONFIG_UNREADABLE", `There is no directory ${dir}.`, {
    hint: "Correct --dir, or set up a deployment there with `cairn init`.",
  });
}

/** A directory that deploys nothing has one node, which has no name to be chosen by; one that will deploy has none yet. */
export async function refuseChoice(deployment: Deployment, { node }: NodeChoice): Promise<void> {
  if (node === undefined) return;
  await refuseUndeployed(deployment);
  throw new UsageError(
    "--node names a node of a deployed stack, and nothing is deployed from this directory.",
    "Leave it out: there is one node here.",
  );
}

/** The token of the owner is for no other user's program. */
function foreign(url: string): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_RUNNING", `No node is running, and another user's process listens at ${url}.`, {
    hint: "Start the node with another runtime.listen, or end that process.",
  });
}

function ofAnother({ dir }: Deployment, other: OtherNode): RuntimeError {
  return new RuntimeError(
    "RUNTIME_NOT_RUNNING",
    `No node of ${dir} is running; its address belongs to the node of ${other.dir} (process ${other.pid}).`,
    { hint: "Give one of them another runtime.listen, and start this one with `cairn start --detach`." },
  );
}

function notRunning(): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_RUNNING", "No node is running.");
}
