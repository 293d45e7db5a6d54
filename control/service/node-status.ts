/** What can be known of a node from outside: whether it runs, whether it answers, and its health. */

import type { Client, Health, MeshNode } from "../../runtime/client/index.ts";
import { CairnError, type ErrorBody } from "../../runtime/contracts/errors.ts";
import { refuseChoice } from "./connect.ts";
import { connectToStack, type DeployedNode, type NodeChoice, undeployed } from "./deployed-node.ts";
import { type DeployedStack, nodeOf, openStack } from "./deployed-stack.ts";
import { type Deployment, readToken } from "./deployment.ts";
import { announcedEndpoint, clientOf } from "./node-client.ts";
import { inspectNode } from "./stale-node-file.ts";

export interface NodeStatus {
  readonly running: boolean;
  /** In words of one: running, stopped, busy (see inspectNode). */
  readonly state: "running" | "stopped" | "busy";
  readonly home: string;
  readonly dir: string;
  readonly pid: number | null;
  readonly url: string | null;
  /** SHA-256 fingerprint of the certificate that is recorded for it; null without TLS. */
  readonly certificate_sha256: string | null;
  readonly version: string | null;
  readonly started_at: string | null;
  /** Null when it does not answer; `error` is the reason, also where a stack is not deployed yet. */
  readonly health: Health | null;
  readonly error: ErrorBody | null;
  /** The nodes of its fleet, itself among them; null where it does not answer. */
  readonly fleet: readonly MeshNode[] | null;
  /** The stack that this directory has deployed, which the rest is about; null for a node of this machine. */
  readonly deployed: {
    readonly stack: string;
    readonly target: string;
    readonly node: string;
    readonly place: string;
    readonly nodes: readonly string[];
  } | null;
}

const ANSWER_MS = 5_000;

/** Errors of `openStack`; UsageError for a node that there is not. */
export async function readNodeStatus(
  deployment: Deployment,
  signal: AbortSignal,
  choice: NodeChoice = {},
): Promise<NodeStatus> {
  const { home, dir } = deployment;
  const stack = await openStack(deployment, signal);
  if (stack !== null) return deployedStatus(stack, deployment, signal, choice);
  await refuseChoice(deployment, choice);
  const state = await inspectNode(home);
  const nothing = {
    home,
    dir,
    pid: null,
    url: null,
    certificate_sha256: null,
    version: null,
    started_at: null,
    health: null,
    error: null,
    fleet: null,
    deployed: null,
  };
  if (state.state !== "running") {
    const missing = state.state === "stopped" ? await undeployed(deployment) : null;
    return { running: false, state: state.state, ...nothing, error: missing?.toBody() ?? null };
  }
  const { pid, url, certificate_sha256, version, started_at } = state.node;
  const common = {
    running: true,
    state: state.state,
    ...nothing,
    dir: state.node.dir || dir,
    pid,
    url,
    certificate_sha256,
    version,
    started_at,
  };
  try {
    const token = await readToken(deployment);
    const client = clientOf(announcedEndpoint(state.node), { token });
    return {
      ...common,
      health: await client.health({ signal, timeoutMs: ANSWER_MS }),
      fleet: await fleetOf(client, signal),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CairnError)) throw error;
    return { ...common, error: error.toBody() };
  }
}

async function deployedStatus(
  stack: DeployedStack,
  { home, dir }: Deployment,
  signal: AbortSignal,
  choice: NodeChoice,
): Promise<NodeStatus> {
  const { record, nodes } = stack;
  const recorded = (name: string) => record.nodes.find((one) => one.name === nodeOf(stack.members, name));
  const of = (name: string) => {
    const place = recorded(name)?.place ?? "unknown";
    return { stack: record.stack, target: record.target, node: name, place, nodes };
  };
  const certificateOf = (name: string) => recorded(name)?.certificate_sha256 ?? null;
  const first = choice.node ?? nodes[0] ?? "";
  const common = {
    running: true,
    state: "running",
    home,
    dir,
    pid: null,
    url: null,
    certificate_sha256: certificateOf(first),
    version: null,
    started_at: record.deployed_at,
    health: null,
    error: null,
    fleet: null,
    deployed: of(first),
  } as const;
  let node: DeployedNode | null = null;
  try {
    node = await connectToStack(stack, signal, choice);
    const health = await node.client.health({ signal, timeoutMs: ANSWER_MS });
    const about = { url: node.url, certificate_sha256: certificateOf(node.node), deployed: of(node.node) };
    return { ...common, ...about, version: health.version, health, fleet: await fleetOf(node.client, signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CairnError)) throw error;
    return { ...common, running: false, url: node?.url ?? null, error: error.toBody() };
  } finally {
    await node?.close();
  }
}

/** Its health is the answer that counts: where the registry cannot be read, that says why. */
async function fleetOf(client: Client, signal: AbortSignal): Promise<readonly MeshNode[] | null> {
  try {
    return await client.mesh({ signal, timeoutMs: ANSWER_MS });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CairnError) return null;
    throw error;
  }
}
