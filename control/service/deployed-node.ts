/** Which node of a deployed stack a command talks to: the one that is named, else the first that works. */

import process from "node:process";
import { CairnError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { visible } from "../output/visible.ts";
import {
  type DeployedStack,
  deployedRecord,
  nodeOf,
  openStack,
  requireNode,
  type StackConnection,
  type StackOptions,
  unreachable,
} from "./deployed-stack.ts";
import { type Deployment, inspectWithoutSecrets, writtenToken } from "./deployment.ts";

export interface DeployedNode extends StackConnection {
  readonly stack: string;
  readonly target: string;
  readonly node: string;
  readonly place: string;
  readonly deployedAt: string;
  /** Nodes of the stack, this one among them. */
  readonly nodes: readonly string[];
}

export interface NodeChoice {
  /** Nodes with this agent come first. */
  readonly agent?: string | undefined;
  /** This one and no other. */
  readonly node?: string | undefined;
}

export interface ConnectOptions extends StackOptions, NodeChoice {}

/** Milliseconds that a node gets to say whether it works, where there is another one to ask. */
const PROBE_MS = 3_000;
/** The same on Proxmox, where each connection starts `ssh`, `pct exec`, `docker exec` and Node before it says a word. */
const PROXMOX_PROBE_MS = 15_000;

/**
 * Null where `infra up` has deployed nothing from this directory. Where the node that would be asked does not work and the
 * nodes share their memory, the next that does is asked, which standard error says in one line. Errors of `openStack`, of the
 * driver, and RUNTIME_NOT_RUNNING where no node answers.
 */
export async function connectDeployed(
  deployment: Pick<Deployment, "dir" | "home">,
  signal: AbortSignal,
  options: ConnectOptions = {},
): Promise<DeployedNode | null> {
  const stack = await openStack(deployment, signal, options);
  return stack === null ? null : connectToStack(stack, signal, options);
}

/** The same, of a stack that is open already. */
export async function connectToStack(
  stack: DeployedStack,
  signal: AbortSignal,
  choice: NodeChoice = {},
): Promise<DeployedNode> {
  const [first = "", ...others] = inOrder(stack, choice);
  if (choice.node !== undefined || others.length === 0 || !stack.sharesMemory) {
    return describe(stack, first, await stack.open(first, signal));
  }
  const failed: Failed[] = [];
  let waiting: DeployedNode | null = null;
  for (const name of [first, ...others]) {
    const lost = failed.find((one) => isOnLostHost(stack, name, one));
    const found = lost === undefined ? await probe(stack, name, signal) : lost.error;
    if (found instanceof CairnError) failed.push({ name, error: found });
    else if (found.ready) {
      await waiting?.close();
      return saying(stack, found.node, first, failed, choice);
    } else if (waiting === null) waiting = found.node;
    else await found.node.close();
  }
  if (waiting !== null) return saying(stack, waiting, first, failed, choice);
  throw noneAnswers(stack, failed);
}

/** A host that does not answer is waited for once, however many nodes it has. A namespace of Kubernetes is no host. */
function isOnLostHost({ record }: DeployedStack, name: string, { name: other, error }: Failed): boolean {
  if (error.code !== "INFRA_HOST_UNREACHABLE" || record.target === "kubernetes") return false;
  const placeOf = (node: string) => record.nodes.find((one) => one.name === node)?.place;
  return placeOf(name) !== undefined && placeOf(name) === placeOf(other);
}

interface Failed {
  readonly name: string;
  readonly error: CairnError;
}

function inOrder(stack: DeployedStack, { node, agent }: NodeChoice): readonly string[] {
  if (node !== undefined) return [requireNode(stack, node)];
  const { plan, nodes } = stack;
  const hosts = (name: string): boolean =>
    agent !== undefined && plan.nodes.some((one) => one.name === name && one.agents.includes(agent));
  return [...nodes.filter(hosts), ...nodes.filter((name) => !hosts(name))];
}

/** A node that lives and is not ready, because it starts or has no database, is still better than none. */
async function probe(
  stack: DeployedStack,
  name: string,
  signal: AbortSignal,
): Promise<CairnError | { readonly node: DeployedNode; readonly ready: boolean }> {
  const timeoutMs = stack.record.target === "proxmox" ? PROXMOX_PROBE_MS : PROBE_MS;
  let connection: StackConnection | null = null;
  try {
    connection = await stack.open(name, signal);
    const { client } = connection;
    const ready = await client.ready({ signal, timeoutMs });
    if (!ready) await client.live({ signal, timeoutMs });
    return { node: describe(stack, name, connection), ready };
  } catch (error) {
    await connection?.close();
    signal.throwIfAborted();
    if (error instanceof CairnError) return error;
    throw error;
  }
}

function describe({ record, nodes, members }: DeployedStack, node: string, connection: StackConnection): DeployedNode {
  return {
    ...connection,
    stack: record.stack,
    target: record.target,
    node,
    place: record.nodes.find(({ name }) => name === nodeOf(members, node))?.place ?? "unknown",
    deployedAt: record.deployed_at,
    nodes,
  };
}

function saying(
  stack: DeployedStack,
  chosen: DeployedNode,
  first: string,
  failed: readonly Failed[],
  { agent }: NodeChoice,
): DeployedNode {
  if (chosen.node === first) return chosen;
  const why = failed.some(({ name }) => name === first) ? "does not answer" : "is not ready";
  const hosts = stack.plan.nodes.filter((one) => agent !== undefined && one.agents.includes(agent));
  const waits =
    hosts.length === 1 && hosts[0]?.name === first ? `; the agent ${agent} answers when ${first} is back` : "";
  process.stderr.write(`${visible(`Node ${first} ${why}: ${chosen.node} is asked in its place${waits}.`)}\n`);
  return chosen;
}

function noneAnswers({ record, nodes, sharesMemory }: DeployedStack, failed: readonly Failed[]): CairnError {
  const [first] = failed;
  const hasOneCause = failed.every(({ error }) => error.code === first?.error.code);
  if (first !== undefined && hasOneCause && !GONE.has(first.error.code)) return first.error;
  const reasons = failed.map(({ name, error }) => `${name} (${error.message.replace(/[.]$/, "")})`).join(", ");
  return new RuntimeError("RUNTIME_NOT_RUNNING", `No node of the stack ${record.stack} answers: ${reasons}.`, {
    hint: unreachable(nodes, sharesMemory),
  });
}

/** Of a node that is simply not there. */
const GONE: ReadonlySet<string> = new Set(["RUNTIME_NOT_RUNNING", "RUNTIME_NOT_READY", "CHANNEL_CONNECTION_LOST"]);

/** RUNTIME_CONFLICT where the nodes of this directory run on a target: one of this machine would be a second one beside them. */
export async function refuseDeployed({ dir }: Pick<Deployment, "dir">): Promise<void> {
  const nodes = await deployedNames(dir);
  if (nodes === null) return;
  throw new RuntimeError("RUNTIME_CONFLICT", `This directory is deployed on ${nodes}: nothing is started here.`, {
    hint: "Its nodes are kept running there: see `cairn infra status`, and change them with `cairn infra up`.",
  });
}

/** Where the nodes of this directory are, in words; null where none is deployed. */
export async function deployedNames(dir: string): Promise<string | null> {
  const record = await deployedRecord({ dir });
  if (record === null) return null;
  const nodes = record.nodes.map(({ name, workload, place }) => `${name} as ${workload} on ${place}`);
  return `${record.target} (${nodes.join(", ")})`;
}

/**
 * RUNTIME_NOT_RUNNING, where the configuration names a target and nothing is deployed there: no node of this machine has the data,
 * and none can have them. Null where nodes are of this machine, and where there is no configuration that can be read.
 */
export async function undeployed(deployment: Deployment): Promise<RuntimeError | null> {
  if ((await deployedRecord(deployment)) !== null) return null;
  // The first read of .env puts its mode right and says so, which the inspection would not.
  await writtenToken(deployment);
  const { loaded } = await inspectWithoutSecrets(deployment).catch(() => ({ loaded: null }));
  const settings = loaded?.config.deployment;
  if (settings === undefined || settings.target === "manual") return null;
  const { readRecord } = await import("../deploy/operations/record.ts");
  const former = await readRecord(deployment.dir);
  const removed = former === null ? null : `The stack ${former.stack} was removed; its data are kept.`;
  return new RuntimeError("RUNTIME_NOT_RUNNING", removed ?? `The stack ${settings.name} is not deployed yet.`, {
    hint: `Deploy it${removed === null ? "" : " again"} with \`cairn infra up\`.`,
  });
}

/** The error of `undeployed`. */
export async function refuseUndeployed(deployment: Deployment): Promise<void> {
  const error = await undeployed(deployment);
  if (error !== null) throw error;
}

/** What makes a changed configuration count: nodes of this machine are restarted, those of a target are brought to it. */
export async function applyCommand(deployment: Deployment): Promise<string> {
  if ((await deployedRecord(deployment)) !== null) return "`cairn infra up`";
  const { loaded } = await inspectWithoutSecrets(deployment).catch(() => ({ loaded: null }));
  return loaded && loaded.config.deployment.target !== "manual" ? "`cairn infra up`" : "`cairn restart`";
}
