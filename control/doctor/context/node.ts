/**
 * Finds the node: one of the stack that this directory has deployed, else the one that runs from this home directory, else
 * the one that answers at the configured address.
 */

import type { Client, Health } from "../../../runtime/client/index.ts";
import { isLoopback } from "../../../runtime/config/listen.ts";
import { type Environment, isSecretReference, type SecretReader } from "../../../runtime/config/references.ts";
import { API_TOKEN_VARIABLE } from "../../../runtime/config/secrets-file.ts";
import { CairnError, ConfigError, type ErrorCode } from "../../../runtime/contracts/errors.ts";
import { announcedEndpoint, clientOf, configuredEndpoint, type Endpoint } from "../../service/node-client.ts";
import { otherNodeAt } from "../../service/other-node.ts";
import { inspectNode } from "../../service/stale-node-file.ts";
import { Unavailable } from "../unavailable.ts";
import type { ConfigurationSnapshot } from "./configuration.ts";
import type { DeploymentPaths } from "./paths.ts";
import { reasonOf } from "./regular-file.ts";

export interface NodeSnapshot {
  /**
   * `running`: from this home; `elsewhere`: it answers at the configured address (in a container, for example); `busy`:
   * some process holds the home and cannot be talked to.
   */
  readonly state: "running" | "elsewhere" | "stopped" | "busy";
  /** The target whose stack the node belongs to; null for one of this machine. */
  readonly target: string | null;
  readonly pid: number | null;
  readonly url: string | null;
  /** Null when it does not answer, or not to us. */
  readonly health: Health | null;
  /** Why there is no health, as a sentence without its full stop. */
  readonly reason: string;
  readonly code: ErrorCode | null;
  /** What the error itself advises. */
  readonly fix: string | null;
  readonly client: Client | null;
}

interface ProbeLimits {
  readonly probeMs: number;
  readonly signal: AbortSignal;
}

/** The same, where something stays open for later looks: until `ended`. */
interface ProbeConnection extends ProbeLimits {
  readonly ended: AbortSignal;
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
  const target = targetOf(configuration);
  const stack = target === null ? null : await readStack(paths, target, env, snapshot);
  if (stack !== null) return stack;
  const ask = (endpoint: Endpoint): Promise<Answer> => askHealth(endpoint, env, snapshot);
  const here = paths.home === null ? { state: "stopped" as const } : await inspectNode(paths.home);
  if (here.state === "running") {
    const { pid, url } = here.node;
    return { state: "running", target: null, pid, url, ...(await ask(announcedEndpoint(here.node))) };
  }
  const nobody = {
    ...NOTHING,
    state: here.state,
    target: here.state === "stopped" ? target : null,
    reason: here.state === "busy" ? "Another process holds the home directory" : notRunning(target),
  };
  const endpoint = await localEndpoint(configuration);
  if (endpoint === null || !(await isNode(endpoint, snapshot))) return nobody;
  const other = paths.home === null ? null : await otherNodeAt(endpoint.url, { home: paths.home });
  if (other !== null)
    return { ...nobody, reason: `No node is running; the node of ${other.dir} listens at ${endpoint.url}` };
  return { ...NOTHING, state: "elsewhere", url: endpoint.url, ...(await ask(endpoint)) };
}

const NOTHING = { pid: null, target: null, url: null, health: null, code: null, fix: null, client: null };

function notRunning(target: string | null): string {
  return target === null ? "No node is running" : `Nothing is deployed on ${target}`;
}

/** The target that is to have the nodes; null where they run on this machine, or where that is unknown. */
function targetOf(configuration: ConfigurationSnapshot): string | null {
  if (configuration.state !== "valid") return null;
  const { target } = configuration.config.deployment;
  return target === "manual" ? null : target;
}

/** The first node of the stack, by the same way as all commands go; null where nothing is deployed. */
async function readStack(
  { dir, home }: DeploymentPaths,
  target: string,
  env: Environment,
  snapshot: ProbeConnection,
): Promise<NodeSnapshot | null> {
  if (home === null) return null;
  const common = { ...NOTHING, state: "elsewhere", target } as const;
  try {
    const [{ connectDeployed }, readSecret] = await Promise.all([
      import("../../service/deployed-node.ts"),
      secretReader(env, snapshot.signal),
    ]);
    const token = await tokenOf(env, readSecret);
    const node = await connectDeployed({ dir, home }, snapshot.signal, {
      token,
      readSecret,
      timeoutMs: snapshot.probeMs,
    });
    if (node === null) return null;
    if (snapshot.ended.aborted) await node.close();
    else snapshot.ended.addEventListener("abort", () => void node.close(), { once: true });
    return { ...common, url: node.url, ...(await healthOf(node.client, snapshot.signal)) };
  } catch (error) {
    return { ...common, ...unanswered(error, snapshot.signal) };
  }
}

/** What listens on another machine's address is not this deployment's business. */
async function localEndpoint(configuration: ConfigurationSnapshot): Promise<Endpoint | null> {
  if (configuration.state !== "valid") return null;
  const endpoint = await configuredEndpoint(configuration.config);
  return endpoint !== null && isLoopback(new URL(endpoint.url).hostname) ? endpoint : null;
}

/** Unavailable without a node that answers. */
export async function readStats(node: NodeSnapshot, { signal }: ProbeLimits): Promise<MemoryStats> {
  return answering(node).memoryTool<MemoryStats>("memory_stats", {}, { signal });
}

export async function readLastMessage(node: NodeSnapshot, { signal }: ProbeLimits): Promise<Date | null> {
  const { messages } = await answering(node).memoryTool<{
    readonly messages: readonly { readonly created_at: string }[];
  }>("memory_browse", { limit: 1, order: "desc" }, { signal });
  const [newest] = messages;
  return newest === undefined ? null : new Date(newest.created_at);
}

function answering({ client, health, reason }: NodeSnapshot): Client {
  if (client === null || health === null) throw new Unavailable(`${reason} (see deployment.node).`);
  return client;
}

type Answer = Pick<NodeSnapshot, "health" | "reason" | "code" | "fix" | "client">;

async function askHealth(endpoint: Endpoint, env: Environment, { probeMs, signal }: ProbeLimits): Promise<Answer> {
  try {
    const token = await tokenOf(env, await secretReader(env, signal));
    return await healthOf(clientOf(endpoint, { token, timeoutMs: probeMs }), signal);
  } catch (error) {
    return unanswered(error, signal);
  }
}

async function healthOf(client: Client, signal: AbortSignal): Promise<Answer> {
  try {
    return { client, health: await client.health({ signal }), reason: "", code: null, fix: null };
  } catch (error) {
    return unanswered(error, signal);
  }
}

function unanswered(error: unknown, signal: AbortSignal): Answer {
  const reason = signal.aborted ? "The node does not answer in time" : reasonOf(error).replace(/[.]$/, "");
  const failure = error instanceof CairnError && !signal.aborted ? error : null;
  return { health: null, client: null, reason, code: failure?.code ?? null, fix: failure?.details.hint ?? null };
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
async function isNode(endpoint: Endpoint, { probeMs, signal }: ProbeLimits): Promise<boolean> {
  try {
    const { node_id: id } = await clientOf(endpoint, { timeoutMs: probeMs }).ping({ signal });
    return typeof id === "string";
  } catch {
    return false;
  }
}
