/** The way to a node of the stack that a deployment directory has deployed: through the target's driver. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../../runtime/client/index.ts";
import type { SecretReader } from "../../runtime/config/references.ts";
import { InfraError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { type Deployment, inspectWithoutSecrets, readToken } from "./deployment.ts";
import { clientOf } from "./node-client.ts";

export interface DeployedNode {
  readonly client: Client;
  readonly url: string;
  readonly stack: string;
  readonly target: string;
  readonly node: string;
  readonly place: string;
  readonly deployedAt: string;
  /** Nodes of the stack, this one among them. */
  readonly nodes: readonly string[];
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** Default: the first node. */
  readonly agent?: string | undefined;
  /** Default: the owner's, as the deployment has it. */
  readonly token?: string | undefined;
  /** Reads `op://` references; default: the `op` command. */
  readonly readSecret?: SecretReader;
  /** As in ClientOptions. */
  readonly timeoutMs?: number;
}

/**
 * Null where `infra up` has deployed nothing from this directory. The node is the one with `agent`, else the first. Errors of
 * `readProject` and of the driver; what is only here to look is loaded when there is something to look at.
 */
export async function connectDeployed(
  deployment: Pick<Deployment, "dir" | "home">,
  signal: AbortSignal,
  { agent, readSecret, timeoutMs, ...given }: ConnectOptions = {},
): Promise<DeployedNode | null> {
  const { dir, home } = deployment;
  if (!existsSync(join(dir, "infra", "stack.json"))) return null;
  const { readRecord } = await import("../deploy/operations/record.ts");
  const record = await readRecord(dir);
  // After `destroy` it tells of data alone.
  if (record === null || record.nodes.length === 0) return null;
  const [{ readProject }, { createDriver }] = await Promise.all([
    import("../../infra/project.ts"),
    import("../deploy/drivers/index.ts"),
  ]);
  const { plan, secrets } = await readProject({ dir, home, signal, ...(readSecret ? { readSecret } : {}) });
  const deployed = plan.nodes.filter(({ name }) => record.nodes.some((one) => one.name === name));
  const chosen = deployed.find(({ agents }) => agent !== undefined && agents.includes(agent)) ?? deployed[0];
  if (chosen === undefined) {
    throw new InfraError("INFRA_FAILED", `No node of the configuration is deployed as the stack ${record.stack}.`, {
      hint: "Deploy it with `cairn infra up`.",
    });
  }
  const driver = await createDriver(plan, secrets);
  // Before the connection, which nobody would close if the token could not be read.
  const token = given.token ?? (await readToken({ dir }));
  const connection = await driver.connect(chosen.name, signal);
  const recorded = record.nodes.find(({ name }) => name === chosen.name);
  return {
    client: clientOf({ url: connection.url, certificate: recorded?.certificate_sha256 ?? null }, { token, timeoutMs }),
    url: connection.url,
    stack: record.stack,
    target: record.target,
    node: chosen.name,
    place: recorded?.place ?? "unknown",
    deployedAt: record.deployed_at,
    nodes: deployed.map(({ name }) => name),
    close: () => connection.close(),
  };
}

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
  if (!existsSync(join(dir, "infra", "stack.json"))) return null;
  const { readRecord } = await import("../deploy/operations/record.ts");
  const record = await readRecord(dir);
  if (record === null || record.nodes.length === 0) return null;
  const nodes = record.nodes.map(({ name, workload, place }) => `${name} as ${workload} on ${place}`);
  return `${record.target} (${nodes.join(", ")})`;
}

/** RUNTIME_NOT_RUNNING where the configuration names a target and its stack was removed: there is no node to ask for its data. */
export async function refuseRemovedStack(deployment: Deployment): Promise<void> {
  const { dir } = deployment;
  if (!existsSync(join(dir, "infra", "stack.json"))) return;
  const { readRecord } = await import("../deploy/operations/record.ts");
  const record = await readRecord(dir);
  if (record === null || record.nodes.length > 0) return;
  const inspection = await inspectWithoutSecrets(deployment);
  if (inspection.loaded?.config.deployment.target === "manual") return;
  throw new RuntimeError("RUNTIME_NOT_RUNNING", `The stack ${record.stack} was removed; its data are kept.`, {
    hint: "Deploy it again with `cairn infra up`.",
  });
}
