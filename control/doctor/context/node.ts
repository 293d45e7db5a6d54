/**
 * Finds the node: one of the stack that this directory has deployed, else the one that runs from this home directory, else
 * the one that answers at the configured address.
 */

import type { Client, SessionRecord } from "../../../runtime/client/index.ts";
import { isLoopback } from "../../../runtime/config/listen.ts";
import { type Environment, isSecretReference, type SecretReader } from "../../../runtime/config/references.ts";
import { API_TOKEN_VARIABLE } from "../../../runtime/config/secrets-file.ts";
import { CairnError, ConfigError } from "../../../runtime/contracts/errors.ts";
import { type Fleet, readFleet } from "../../mesh/fleet.ts";
import { deployedRecord } from "../../service/deployed-stack.ts";
import { announcedEndpoint, clientOf, configuredEndpoint, type Endpoint } from "../../service/node-client.ts";
import type { NodeFile } from "../../service/node-file.ts";
import { otherNodeAt } from "../../service/other-node.ts";
import { inspectNode, type NodeState } from "../../service/stale-node-file.ts";
import { TimedOut, Unavailable } from "../unavailable.ts";
import type { ConfigurationSnapshot } from "./configuration.ts";
import type { DeploymentPaths } from "./paths.ts";
import {
  type Answer,
  bestOf,
  healthOf,
  type ProbeConnection,
  type ProbeLimits,
  readStackNodes,
  type StackNode,
  unanswered,
} from "./stack.ts";

/** Sessions that are looked at: as many as a node gives at once. */
const SESSIONS = 1_000;

export interface NodeSnapshot extends Answer {
  /**
   * `running`: from this home; `elsewhere`: it answers at the configured address (in a container, for example); `busy`:
   * some process holds the home and cannot be talked to.
   */
  readonly state: "running" | "elsewhere" | "stopped" | "busy";
  /** The target whose stack the node belongs to; null for one of this machine. */
  readonly target: string | null;
  readonly pid: number | null;
  readonly url: string | null;
  /** The node of this home that ended without stopping, and left its file behind; null where none did. */
  readonly died: { readonly pid: number; readonly startedAt: string } | null;
  /** Who listens at the configured address instead of this node; null where none does. */
  readonly taken: string | null;
  /** All nodes of the stack, this one among them; empty for a node of this machine. */
  readonly stack: readonly StackNode[];
}

/** What of the tool `memory_stats` the checks need. */
export interface MemoryStats {
  readonly messages: { readonly total: number; readonly embedded: number };
  readonly embedding_queue_depth: number;
  readonly unsummarized: { readonly total: number; readonly conversations_over_threshold: number };
  readonly summaries: { readonly leaf: number; readonly branch: number; readonly root: number };
  readonly compaction: { readonly last_run_at: string | null; readonly last_error: string | null };
  readonly queues: readonly QueueCounts[];
}

export interface QueueCounts {
  readonly queue: string;
  readonly waiting: number;
  readonly failed: number;
  readonly last_error?: string | null;
}

/** Never rejects for a node that is not there, or not well. */
export async function readNode(
  paths: DeploymentPaths,
  configuration: ConfigurationSnapshot,
  env: Environment,
  snapshot: ProbeConnection,
): Promise<NodeSnapshot> {
  const target = await readTarget(paths, configuration);
  const stack = target === null ? null : await readStack(paths, target, configuration, env, snapshot);
  if (stack !== null) return stack;
  const ask = (endpoint: Endpoint): Promise<Answer> => askHealth(endpoint, env, snapshot);
  const here: NodeState = paths.home === null ? { state: "stopped", stale: null } : await inspectNode(paths.home);
  if (here.state === "running") {
    const { pid, url } = here.node;
    return { ...NOTHING, state: "running", pid, url, ...(await ask(announcedEndpoint(here.node))) };
  }
  const nobody = {
    ...NOTHING,
    state: here.state,
    target: here.state === "stopped" ? target : null,
    reason: here.state === "busy" ? "Another process holds the home directory" : notRunning(target),
    died: here.state === "stopped" && here.stale ? diedOf(here.stale) : null,
  };
  // What listens at the configured address of this machine is no node of a stack.
  const endpoint = target === null ? await localEndpoint(configuration, paths.home) : null;
  if (endpoint === null) return nobody;
  const listener = await listenerAt(endpoint, snapshot);
  if (listener === "none") return nobody;
  if (listener === "other")
    return { ...nobody, url: endpoint.url, taken: "another program, or a node that does not answer," };
  const other = paths.home === null ? null : await otherNodeAt(endpoint.url, { home: paths.home });
  if (other !== null) return { ...nobody, url: endpoint.url, taken: `the node of ${other.dir}` };
  return { ...NOTHING, state: "elsewhere", url: endpoint.url, ...(await ask(endpoint)) };
}

const NOTHING = {
  pid: null,
  target: null,
  url: null,
  died: null,
  taken: null,
  stack: [],
  health: null,
  reason: "",
  code: null,
  fix: null,
  client: null,
} as const;

/** A short-lived process behind a command is no node. */
function diedOf({ pid, started_at: startedAt, maintenance }: NodeFile): NodeSnapshot["died"] {
  return maintenance ? null : { pid, startedAt };
}

function notRunning(target: string | null): string {
  return target === null ? "No node is running" : `Nothing is deployed on ${target}`;
}

/** The target that has the nodes, or is to have them; null where they run on this machine, or where that is unknown. */
export async function readTarget(paths: DeploymentPaths, configuration: ConfigurationSnapshot): Promise<string | null> {
  return (await deployedRecord(paths))?.target ?? targetOf(configuration);
}

/** By the configuration; null where they run on this machine, or where that is unknown. */
function targetOf(configuration: ConfigurationSnapshot): string | null {
  if (configuration.state !== "valid") return null;
  const { target } = configuration.config.deployment;
  return target === "manual" ? null : target;
}

/** The node of the stack that the checks ask, by the same way as all commands go. */
async function readStack(
  { dir, home }: DeploymentPaths,
  target: string,
  configuration: ConfigurationSnapshot,
  env: Environment,
  snapshot: ProbeConnection,
): Promise<NodeSnapshot | null> {
  if (home === null || (await deployedRecord({ dir })) === null) return null;
  const common = { ...NOTHING, state: "elsewhere", target } as const;
  if (configuration.state !== "valid") {
    return { ...common, reason: "The way to the stack is in the configuration, which cannot be used" };
  }
  try {
    const readSecret = await secretReader(env, snapshot.signal);
    const token = await tokenOf(env, readSecret);
    const stack = (await readStackNodes({ dir, home }, { token, readSecret }, snapshot)) ?? [];
    const best = bestOf(stack);
    if (best === undefined) return null;
    const { name: _, ...answer } = best;
    return { ...common, ...answer, stack };
  } catch (error) {
    return { ...common, ...unanswered(error, snapshot.signal) };
  }
}

/** What listens on another machine's address is not this deployment's business. */
async function localEndpoint(configuration: ConfigurationSnapshot, home: string | null): Promise<Endpoint | null> {
  if (configuration.state !== "valid") return null;
  const endpoint = await configuredEndpoint(configuration.config, home);
  return endpoint !== null && isLoopback(new URL(endpoint.url).hostname) ? endpoint : null;
}

/** Unavailable without a node that answers. */
export async function readStats(node: NodeSnapshot, { signal }: ProbeLimits): Promise<MemoryStats> {
  return callNode(node, signal, (client) => client.memoryTool<MemoryStats>("memory_stats", {}, { signal }));
}

/** The newest ones of agents. */
export async function readSessions(node: NodeSnapshot, { signal }: ProbeLimits): Promise<readonly SessionRecord[]> {
  return callNode(node, signal, (client) => client.sessions({ of: "session", limit: SESSIONS }, { signal }));
}

/** The node gives each of the others most of the time that is left: what hangs there must not be taken for this one's. */
export async function readNodesFleet(node: NodeSnapshot, { probeMs, signal }: ProbeLimits): Promise<Fleet> {
  const eachMs = Math.max(1, Math.min(PING_MS, Math.floor(probeMs * PING_SHARE)));
  return callNode(node, signal, async (client) => {
    try {
      return await readFleet(client, signal, eachMs);
    } catch (error) {
      if (!(error instanceof CairnError) || error.code !== "RUNTIME_NOT_FOUND") throw error;
      throw new Unavailable("The node is of a version that does not ask the others.", ["updates.running"]);
    }
  });
}

export async function readLastMessage(node: NodeSnapshot, { signal }: ProbeLimits): Promise<Date | null> {
  const { messages } = await callNode(node, signal, (client) =>
    client.memoryTool<{
      readonly messages: readonly { readonly created_at: string }[];
    }>("memory_browse", { limit: 1, order: "desc" }, { signal }),
  );
  const [newest] = messages;
  return newest === undefined ? null : new Date(newest.created_at);
}

/** Also Unavailable where the node has no database: one check tells of that, and not all that need it. */
function answering({ client, health, reason }: NodeSnapshot): Client {
  if (client === null || health === null) throw new Unavailable(reason, ["deployment.node"]);
  if (health.memory["reachable"] === false) throw withoutDatabase();
  return client;
}

export function withoutDatabase(): Unavailable {
  return new Unavailable("The node cannot reach its database.", ["database.reachable"]);
}

/**
 * Calls the node. It was there a moment ago: where its answer is missing now, the reason is one that another check looks at.
 * Unavailable then, and where no node answers; TimedOut once the signal aborts.
 */
export async function callNode<T>(
  node: NodeSnapshot,
  signal: AbortSignal,
  call: (client: Client) => Promise<T>,
): Promise<T> {
  const client = answering(node);
  try {
    return await call(client);
  } catch (error) {
    if (signal.aborted) throw new TimedOut("deployment.node");
    const check = error instanceof CairnError ? SEE[error.code] : undefined;
    if (check === undefined || !(error instanceof CairnError)) throw error;
    throw new Unavailable(error.message, [check]);
  }
}

const PING_MS = 5_000;
const PING_SHARE = 0.6;

const SEE: Readonly<Record<string, string>> = {
  MEMORY_UNAVAILABLE: "database.reachable",
  MEMORY_TIMEOUT: "database.reachable",
  MEMORY_LOCK_TIMEOUT: "database.reachable",
  RUNTIME_NOT_RUNNING: "deployment.node",
  RUNTIME_NOT_READY: "deployment.node",
  CHANNEL_CONNECTION_LOST: "deployment.node",
};

async function askHealth(endpoint: Endpoint, env: Environment, { probeMs, signal }: ProbeLimits): Promise<Answer> {
  try {
    const token = await tokenOf(env, await secretReader(env, signal));
    return await healthOf(clientOf(endpoint, { token, timeoutMs: probeMs }), signal);
  } catch (error) {
    return unanswered(error, signal);
  }
}

/** The owner's token; undefined where there is none. */
async function tokenOf(env: Environment, readSecret: SecretReader): Promise<string | undefined> {
  const token = env[API_TOKEN_VARIABLE] ?? "";
  return (isSecretReference(token) ? await readSecret(token) : token) || undefined;
}

/** With an account of its own the password manager answers; otherwise it may ask back, and wait for a finger. */
async function secretReader(env: Environment, signal: AbortSignal): Promise<SecretReader> {
  if (env["OP_SERVICE_ACCOUNT_TOKEN"]) {
    const { createOnePasswordReader } = await import("../../../runtime/config/one-password.ts");
    return createOnePasswordReader({ env, signal });
  }
  return async () => {
    throw new ConfigError("CONFIG_SECRET_UNRESOLVED", "Its token is in the password manager.");
  };
}

/** The token is sent only to a server that has identified itself as a node without it. */
async function listenerAt(endpoint: Endpoint, { probeMs, signal }: ProbeLimits): Promise<"node" | "other" | "none"> {
  try {
    const { node_id: id } = await clientOf(endpoint, { timeoutMs: probeMs }).ping({ signal });
    return typeof id === "string" ? "node" : "other";
  } catch (error) {
    if (!(error instanceof CairnError)) return "other";
    // Only a node says so, in these words.
    if (error.code === "RUNTIME_UNAUTHORIZED") return "node";
    return error.code === "RUNTIME_NOT_RUNNING" ? "none" : "other";
  }
}
