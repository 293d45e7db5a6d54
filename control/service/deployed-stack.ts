/** The stack that a deployment directory has deployed: its nodes, and a way to each through the target's driver. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DeploymentPlan } from "../../infra/plan/types.ts";
import type { Client } from "../../runtime/client/index.ts";
import type { SecretReader } from "../../runtime/config/references.ts";
import { InfraError } from "../../runtime/contracts/errors.ts";
import type { TargetDriver } from "../deploy/driver.ts";
import type { StackRecord } from "../deploy/schemas.ts";
import { UsageError } from "../output/failure.ts";
import { type Deployment, inspectWithoutSecrets, readToken } from "./deployment.ts";
import { clientOf, recordedPin } from "./node-client.ts";

export interface StackOptions {
  /** Default: the owner's, as the deployment has it. */
  readonly token?: string | undefined;
  /** Reads `op://` references; default: the `op` command. */
  readonly readSecret?: SecretReader;
  /** As in ClientOptions. */
  readonly timeoutMs?: number;
}

export interface StackConnection {
  readonly client: Client;
  readonly url: string;
  close(): Promise<void>;
}

export interface DeployedStack {
  readonly plan: DeploymentPlan;
  readonly record: StackRecord;
  readonly driver: TargetDriver;
  /** Names of the nodes that are deployed and still in the configuration, in its order; at least one. */
  readonly nodes: readonly string[];
  /** What has files of its own: the nodes, and in the place of one that is several equal pods these. */
  readonly members: readonly Member[];
  /** Whether all nodes work on one database: each knows then what the others know. */
  readonly sharesMemory: boolean;
  /** `name`: of a node or a member. Errors of the driver. */
  open(name: string, signal: AbortSignal): Promise<StackConnection>;
}

export interface Member {
  readonly name: string;
  /** Which it is, or is a pod of. */
  readonly node: string;
}

/** What `infra up` deployed from this directory last; null where that is nothing, also after `destroy`. */
export async function deployedRecord({ dir }: Pick<Deployment, "dir">): Promise<StackRecord | null> {
  if (!existsSync(join(dir, "infra", "stack.json"))) return null;
  const { readRecord } = await import("../deploy/operations/record.ts");
  const record = await readRecord(dir);
  // After `destroy` it tells of data alone.
  return record === null || record.nodes.length === 0 ? null : record;
}

/** Null as of `deployedRecord`. Errors of `readProject`; what is only here to look is loaded when there is something to look at. */
export async function openStack(
  deployment: Pick<Deployment, "dir" | "home">,
  signal: AbortSignal,
  { readSecret, timeoutMs, ...given }: StackOptions = {},
): Promise<DeployedStack | null> {
  const { dir, home } = deployment;
  const record = await deployedRecord(deployment);
  if (record === null) return null;
  const [{ readProject }, { createDriver }] = await Promise.all([
    import("../../infra/project.ts"),
    import("../deploy/drivers/index.ts"),
  ]);
  const { plan, secrets } = await readProject({ dir, home, signal, ...(readSecret ? { readSecret } : {}) });
  const nodes = plan.nodes.map(({ name }) => name).filter((name) => record.nodes.some((one) => one.name === name));
  if (nodes.length === 0) {
    throw new InfraError("INFRA_FAILED", `No node of the configuration is deployed as the stack ${record.stack}.`, {
      hint: "Deploy it with `cairn infra up`.",
    });
  }
  const driver = await createDriver(plan, secrets);
  const members = nodes.flatMap((node): Member[] => {
    const pods = driver.pods?.(node) ?? [];
    return (pods.length === 0 ? [node] : pods).map((name) => ({ name, node }));
  });
  const sharesMemory = plan.postgres !== null || (await hasServer(deployment));
  return {
    plan,
    record,
    driver,
    nodes,
    members,
    sharesMemory,
    async open(name, during) {
      // Before the connection, which would stay open if the token could not be read.
      const token = given.token ?? (await readToken({ dir }));
      const { url, close } = await driver.connect(name, during);
      const node = nodeOf(members, name);
      const certificate = recordedPin(record, node);
      const unreachableHint = unreachable(nodes, sharesMemory);
      return { url, client: clientOf({ url, certificate }, { token, timeoutMs, unreachableHint }), close };
    },
  };
}

/** UsageError, naming those that there are, for what is the name of no node and of no member. */
export function requireNode(
  { record, nodes, members }: Pick<DeployedStack, "record" | "nodes" | "members">,
  name: string,
): string {
  const names = new Set([...nodes, ...members.map((member) => member.name)]);
  if (names.has(name)) return name;
  throw new UsageError(`The stack ${record.stack} has no node ${name}.`, `It has ${[...names].join(", ")}.`);
}

/** The node of a member, or with this name. */
export function nodeOf(members: readonly Member[], name: string): string {
  return members.find((member) => member.name === name)?.node ?? name;
}

/** Advice where a node of a stack does not answer. */
export function unreachable(nodes: readonly string[], sharesMemory: boolean): string {
  const advice = "See `cairn infra status`; `cairn infra up` brings back what is missing.";
  if (nodes.length === 1 || sharesMemory) return advice;
  return `${advice} Each node has a memory of its own: \`--node NAME\` asks another one (${nodes.join(", ")}).`;
}

async function hasServer(deployment: Pick<Deployment, "dir" | "home">): Promise<boolean> {
  const { loaded } = await inspectWithoutSecrets(deployment);
  return loaded?.config.memory.backend === "postgres";
}
