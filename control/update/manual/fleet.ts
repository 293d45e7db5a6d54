/** Nodes that were set up by hand, as `deployment.nodes` lists them, and what is asked of them before any is changed. */

import { userInfo } from "node:os";
import { keyOf } from "../../../infra/plan/proxmox.ts";
import type { MeshNode } from "../../../runtime/client/index.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import type { OperationInput } from "../../deploy/operations/services.ts";
import type { SshHost } from "../../deploy/ssh/ssh.ts";
import { UsageError } from "../../output/failure.ts";
import { createFleetDatabase, type FleetDatabase } from "../../rollout/fleet-database.ts";
import { type Deployment, inspectWithoutSecrets } from "../../service/deployment.ts";
import { openHost } from "./host.ts";
import { type ManualNode, manualNode } from "./node.ts";
import type { Snapshot } from "./snapshot.ts";

export interface ManualFleet {
  /** In the order of the file. */
  readonly nodes: readonly ManualNode[];
  readonly database: FleetDatabase;
}

export interface FleetInput {
  readonly run: OperationInput;
  readonly deployment: Deployment;
  readonly report: (text: string) => void;
}

const UNIT = "cairn";
const SSH_PORT = 22;
/** Milliseconds that a node gets to answer. */
const ANSWER_MS = 10_000;

/** Connections to hosts last as long as the work. Errors of the configuration; UsageError where it lists no nodes. */
export async function withManualFleet<T>(
  { run, deployment, report }: FleetInput,
  work: (fleet: ManualFleet) => Promise<T>,
): Promise<T> {
  const { loaded, error } = await inspectWithoutSecrets(deployment, run.signal);
  if (loaded === null) throw error ?? new Error(`${deployment.file} could not be read`);
  const { name: stack, nodes: listed } = loaded.config.deployment;
  if (listed.length === 0) {
    throw new UsageError(
      "deployment.nodes lists no nodes: nothing says who the fleet is.",
      "List each with its host, host_key, user and unit; one without a host is on this machine.",
    );
  }
  const { sleep } = run.services;
  const nodes: ManualNode[] = [];
  try {
    for (const [index, node] of listed.entries()) {
      const host = await openHost(sshOf(node, `deployment.nodes[${index}]`));
      const unitName = node.unit ?? UNIT;
      const monotonic = () => performance.now();
      nodes.push(manualNode({ stack, name: node.name, unitName, host, sleep, monotonic, report }));
    }
    const database = createFleetDatabase(nodes, { now: () => performance.now(), sleep });
    return await work({ nodes, database });
  } finally {
    await Promise.all(nodes.map(({ host }) => host.close()));
  }
}

interface Listed {
  readonly host?: string | undefined;
  readonly host_key?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly identity_file?: string | undefined;
}

/** Null: this machine. */
function sshOf({ host, host_key, port, user, identity_file }: Listed, settings: string): SshHost | null {
  if (host === undefined || host_key === undefined) return null;
  return {
    host,
    port: port ?? SSH_PORT,
    user: user ?? userInfo().username,
    hostKey: keyOf(host_key),
    identityFile: identity_file ?? null,
    settings,
  };
}

export interface FoundNode {
  readonly node: ManualNode;
  readonly snapshot: Snapshot;
}

/**
 * What is on each machine. INFRA_HOST_KEY_MISMATCH; INFRA_UP_REFUSED for a unit that is none of ours, and for nodes that run one
 * program. The first that fails rejects, but where `excuses` says that it may be left out.
 */
export async function snapshotAll(
  nodes: readonly ManualNode[],
  signal: AbortSignal,
  excuses: (node: string, error: unknown) => boolean = () => false,
): Promise<readonly FoundNode[]> {
  const found = await Promise.allSettled(nodes.map((node) => node.snapshot(signal)));
  signal.throwIfAborted();
  const seen: FoundNode[] = [];
  for (const [index, node] of nodes.entries()) {
    const one = found[index];
    if (one?.status === "fulfilled") seen.push({ node, snapshot: one.value });
    else if (!excuses(node.name, one?.reason)) throw one?.reason;
  }
  await refuseOneProgram(seen, signal);
  return seen;
}

/** One link says what a program's next start runs: changing one node would change the other. */
async function refuseOneProgram(found: readonly FoundNode[], signal: AbortSignal): Promise<void> {
  const owners = new Map<string, string>();
  for (const { node, snapshot } of found) {
    const place = `${snapshot.machine} ${(await node.unit(signal)).root}`;
    const other = owners.get(place);
    if (other !== undefined) {
      throw new InfraError("INFRA_UP_REFUSED", `${other} and ${node.name} run the program of one directory.`, {
        hint: "Give each node of a machine an installation of its own, or update that machine with `cairn update`.",
      });
    }
    owners.set(place, node.name);
  }
}

/**
 * The members of the mesh. INFRA_UP_REFUSED where a node does not share the database of the others, or runs outside of its unit;
 * INFRA_HOST_UNREACHABLE where none answers.
 */
export async function requireShared(found: readonly FoundNode[], signal: AbortSignal): Promise<readonly MeshNode[]> {
  let members: readonly MeshNode[] | null = null;
  let last: unknown = null;
  const unanswered: string[] = [];
  for (const { node, snapshot } of found) {
    try {
      const own = await node.call(signal, (client) => client.mesh({ signal, timeoutMs: ANSWER_MS }));
      if (snapshot.active !== "active") throw outside(node);
      const self = own.find((member) => member.self)?.id;
      members ??= own;
      if (!members.some(({ id }) => id === self)) throw apart(node.name);
    } catch (error) {
      signal.throwIfAborted();
      if (codeOf(error) === "INFRA_UP_REFUSED") throw error;
      last = error;
      unanswered.push(node.name);
    }
  }
  if (members === null) {
    const why = last instanceof Error ? last.message : String(last);
    throw new InfraError("INFRA_HOST_UNREACHABLE", `No node of the fleet answers: ${why}`, {
      cause: last,
      hint: "Start one of them: the lease and the journal are in the database that they share.",
    });
  }
  const names = members.map(({ name }) => name);
  for (const name of unanswered) if (!names.includes(name)) throw apart(name);
  return members;
}

function apart(name: string): InfraError {
  return new InfraError("INFRA_UP_REFUSED", `${name} does not share the database of the others.`, {
    hint: "Name one database in memory.postgres of all, and call each node in mesh.name as in deployment.nodes.",
  });
}

function outside({ name, host, unitName }: ManualNode): InfraError {
  return new InfraError("INFRA_UP_REFUSED", `${name} runs, and its unit ${unitName} does not (${host.label}).`, {
    hint: `Stop it there with \`cairn stop\`, then \`systemctl start ${unitName}\`.`,
  });
}
