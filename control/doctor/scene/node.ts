/** Looks for the node: the one that runs from this home directory, else the one that answers at the configured address. */

import { type Client, createClient, type Health } from "../../../runtime/client/index.ts";
import { isLoopback, parseListen } from "../../../runtime/config/listen.ts";
import { type Environment, isSecretReference } from "../../../runtime/config/references.ts";
import { API_TOKEN_VARIABLE } from "../../../runtime/config/secrets-file.ts";
import { CairnError, type ErrorCode } from "../../../runtime/contracts/errors.ts";
import { inspectNode } from "../../service/node-state.ts";
import { Unavailable } from "../unavailable.ts";
import type { ConfigurationLook } from "./configuration.ts";
import type { Place } from "./place.ts";
import { reasonOf } from "./regular-file.ts";

export interface NodeLook {
  /**
   * `running`: from this home; `elsewhere`: it answers at the configured address (in a container, for example); `busy`:
   * some process holds the home and cannot be talked to.
   */
  readonly state: "running" | "elsewhere" | "stopped" | "busy";
  readonly pid: number | null;
  readonly url: string | null;
  /** Null when it does not answer, or not to us. */
  readonly health: Health | null;
  /** Why there is no health, as a sentence without its full stop. */
  readonly reason: string;
  readonly code: ErrorCode | null;
  readonly client: Client | null;
}

interface Look {
  readonly lookMs: number;
  readonly signal: AbortSignal;
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
export async function lookAtNode(
  place: Place,
  configuration: ConfigurationLook,
  env: Environment,
  look: Look,
): Promise<NodeLook> {
  const ask = (baseUrl: string): Promise<Answer> => askHealth(baseUrl, env, look);
  const here = place.home === null ? { state: "stopped" as const } : await inspectNode(place.home);
  if (here.state === "running") {
    const { pid, url } = here.node;
    return { state: "running", pid, url, ...(await ask(url)) };
  }
  const nobody = {
    state: here.state,
    pid: null,
    url: null,
    health: null,
    code: null,
    client: null,
    reason: here.state === "busy" ? "Another process holds the home directory" : "No node is running",
  };
  const url = configuredUrl(configuration);
  if (url === null || !(await isNode(url, look))) return nobody;
  return { state: "elsewhere", pid: null, url, ...(await ask(url)) };
}

/** Unavailable without a node that answers. */
export async function readStats(node: NodeLook, { signal }: Look): Promise<MemoryStats> {
  return clientOf(node).memoryTool<MemoryStats>("memory_stats", {}, { signal });
}

export async function readLastMessage(node: NodeLook, { signal }: Look): Promise<Date | null> {
  const { messages } = await clientOf(node).memoryTool<{
    readonly messages: readonly { readonly created_at: string }[];
  }>("memory_browse", { limit: 1, order: "desc" }, { signal });
  const [newest] = messages;
  return newest === undefined ? null : new Date(newest.created_at);
}

function clientOf({ client, health, reason }: NodeLook): Client {
  if (client === null || health === null) throw new Unavailable(`${reason} (see deployment.node).`);
  return client;
}

type Answer = Pick<NodeLook, "health" | "reason" | "code" | "client">;

async function askHealth(baseUrl: string, env: Environment, { lookMs, signal }: Look): Promise<Answer> {
  const nothing = { health: null, client: null };
  let token = env[API_TOKEN_VARIABLE] ?? "";
  try {
    if (isSecretReference(token)) {
      // With an account of its own the password manager answers; otherwise it may ask back, and wait for a finger.
      if (!env["OP_SERVICE_ACCOUNT_TOKEN"]) {
        return { ...nothing, reason: "Its token is in the password manager", code: "CONFIG_SECRET_UNRESOLVED" };
      }
      const { createOnePasswordReader } = await import("../../../runtime/config/one-password.ts");
      token = await createOnePasswordReader({ env, signal })(token);
    }
    const client = createClient({ baseUrl, timeoutMs: lookMs, ...(token === "" ? {} : { token }) });
    return { client, health: await client.health({ signal }), reason: "", code: null };
  } catch (error) {
    const reason = signal.aborted ? "The node does not answer in time" : reasonOf(error).replace(/[.]$/, "");
    return { ...nothing, reason, code: error instanceof CairnError ? error.code : null };
  }
}

/** The token goes only to what says, unasked for it, that it is a node. */
async function isNode(baseUrl: string, { lookMs, signal }: Look): Promise<boolean> {
  try {
    const { node_id: id } = await createClient({ baseUrl, timeoutMs: lookMs }).ping({ signal });
    return typeof id === "string";
  } catch {
    return false;
  }
}

/** Null where it cannot be known, or is another machine's business. */
function configuredUrl(configuration: ConfigurationLook): string | null {
  if (configuration.state !== "valid") return null;
  const { listen, tls } = configuration.config.runtime;
  const address = parseListen(listen);
  if (address === null || address.port === 0) return null;
  const host = address.host === "0.0.0.0" ? "127.0.0.1" : address.host === "::" ? "::1" : address.host;
  if (!isLoopback(host)) return null;
  return `${tls === "off" ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}
