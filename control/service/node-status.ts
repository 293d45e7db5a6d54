/** What can be known of a node from outside: whether it runs, whether it answers, and what it says. */

import type { Health } from "../../runtime/client/index.ts";
import { CairnError, type ErrorBody } from "../../runtime/contracts/errors.ts";
import { connectDeployed, type DeployedNode } from "./deployed-node.ts";
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
  readonly version: string | null;
  readonly started_at: string | null;
  /** Null when it does not answer; `error` tells why. */
  readonly health: Health | null;
  readonly error: ErrorBody | null;
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

export async function readNodeStatus(deployment: Deployment, signal: AbortSignal): Promise<NodeStatus> {
  const { home, dir } = deployment;
  const deployed = await connectDeployed(deployment, signal);
  if (deployed !== null) return deployedStatus(deployed, deployment, signal);
  const state = await inspectNode(home);
  const nothing = {
    home,
    dir,
    pid: null,
    url: null,
    version: null,
    started_at: null,
    health: null,
    error: null,
    deployed: null,
  };
  if (state.state !== "running") return { running: false, state: state.state, ...nothing };
  const { pid, url, version, started_at } = state.node;
  const common = {
    running: true,
    state: state.state,
    ...nothing,
    dir: state.node.dir || dir,
    pid,
    url,
    version,
    started_at,
  };
  try {
    const token = await readToken(deployment);
    const client = clientOf(announcedEndpoint(state.node), { token });
    return { ...common, health: await client.health({ signal, timeoutMs: ANSWER_MS }) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CairnError)) throw error;
    return { ...common, error: error.toBody() };
  }
}

async function deployedStatus(node: DeployedNode, { home, dir }: Deployment, signal: AbortSignal): Promise<NodeStatus> {
  const { stack, target, place, nodes, url, deployedAt } = node;
  const common = {
    running: true,
    state: "running",
    home,
    dir,
    pid: null,
    url,
    version: null,
    started_at: deployedAt,
    health: null,
    error: null,
    deployed: { stack, target, node: node.node, place, nodes },
  } as const;
  try {
    const health = await node.client.health({ signal, timeoutMs: ANSWER_MS });
    return { ...common, version: health.version, health };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CairnError)) throw error;
    return { ...common, running: false, error: error.toBody() };
  } finally {
    await node.close();
  }
}
