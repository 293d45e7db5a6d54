/** The nodes of the stack that this directory has deployed, each asked by the stack's own way. */

import type { Client, Health } from "../../../runtime/client/index.ts";
import type { SecretReader } from "../../../runtime/config/references.ts";
import { CairnError, type ErrorCode } from "../../../runtime/contracts/errors.ts";
import type { StackConnection } from "../../service/deployed-stack.ts";
import type { DeploymentPaths } from "./paths.ts";
import { reasonOf } from "./regular-file.ts";

/** What a node has answered, or why it has not. */
export interface Answer {
  /** Null when it does not answer, or not to us. */
  readonly health: Health | null;
  readonly client: Client | null;
  /** Why there is no health, as a sentence without its full stop. */
  readonly reason: string;
  readonly code: ErrorCode | null;
  /** What the error itself advises. */
  readonly fix: string | null;
}

export interface StackNode extends Answer {
  readonly name: string;
  readonly url: string | null;
}

export interface ProbeLimits {
  readonly probeMs: number;
  readonly signal: AbortSignal;
}

/** The same, where something stays open for later probes: until `ended`. */
export interface ProbeConnection extends ProbeLimits {
  readonly ended: AbortSignal;
}

/** Every node, in the configuration's order; null where nothing is deployed. Errors of `openStack`. */
export async function readStackNodes(
  { dir, home }: Pick<DeploymentPaths, "dir"> & { readonly home: string },
  { token, readSecret }: { readonly token: string | undefined; readonly readSecret: SecretReader },
  { probeMs, signal, ended }: ProbeConnection,
): Promise<readonly StackNode[] | null> {
  const { openStack } = await import("../../service/deployed-stack.ts");
  const stack = await openStack({ dir, home }, signal, { token, readSecret, timeoutMs: probeMs });
  if (stack === null) return null;
  return Promise.all(
    stack.nodes.map(async (name): Promise<StackNode> => {
      let connection: StackConnection;
      try {
        connection = await stack.open(name, signal);
      } catch (error) {
        return { name, url: null, ...unanswered(error, signal) };
      }
      if (ended.aborted) await connection.close();
      else ended.addEventListener("abort", () => void connection.close(), { once: true });
      return { name, url: connection.url, ...(await healthOf(connection.client, signal)) };
    }),
  );
}

/** The node that the other checks ask: one that is well, else one that answers, else the first. */
export function bestOf(nodes: readonly StackNode[]): StackNode | undefined {
  const answering = nodes.filter(({ health }) => health !== null);
  return answering.find(({ health }) => health?.status !== "unhealthy") ?? answering[0] ?? nodes[0];
}

export async function healthOf(client: Client, signal: AbortSignal): Promise<Answer> {
  try {
    return { client, health: await client.health({ signal }), reason: "", code: null, fix: null };
  } catch (error) {
    return unanswered(error, signal);
  }
}

export function unanswered(error: unknown, signal: AbortSignal): Answer {
  const reason = signal.aborted ? "The node does not answer in time" : reasonOf(error).replace(/[.]$/, "");
  const failure = error instanceof CairnError && !signal.aborted ? error : null;
  return { health: null, client: null, reason, code: failure?.code ?? null, fix: failure?.details.hint ?? null };
}
