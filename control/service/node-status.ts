/** What can be known of a node from outside: whether it runs, whether it answers, and what it says. */

import { createClient, type Health } from "../../runtime/client/index.ts";
import { CairnError, type ErrorBody } from "../../runtime/contracts/errors.ts";
import { type Deployment, readToken } from "./deployment.ts";
import { inspectNode } from "./node-state.ts";

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
}

const ANSWER_MS = 5_000;

export async function readNodeStatus(deployment: Deployment, signal: AbortSignal): Promise<NodeStatus> {
  const { home, dir } = deployment;
  const state = await inspectNode(home);
  const nothing = { home, dir, pid: null, url: null, version: null, started_at: null, health: null, error: null };
  if (state.state !== "running") return { running: false, state: state.state, ...nothing };
  const { pid, url, version, started_at } = state.node;
  const known = {
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
    const client = createClient({ baseUrl: url, ...(token === undefined ? {} : { token }) });
    return { ...known, health: await client.health({ signal, timeoutMs: ANSWER_MS }) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CairnError)) throw error;
    return { ...known, error: error.toBody() };
  }
}
