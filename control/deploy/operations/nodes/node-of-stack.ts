/** A node of a stack by its name, also one that cairn.yaml has already lost: what the driver and the guards know it by. */

import { stackNames } from "../../../../infra/plan/names.ts";
import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { UsageError } from "../../../output/failure.ts";
import type { ExportedState } from "../../engine/checkpoint.ts";
import { parseUrn } from "../../engine/urn.ts";
import { readNodePlan } from "../../state/node-plans.ts";
import { nodeOf } from "../guards.ts";
import { readRecord } from "../record.ts";
import type { ReadProject } from "../services.ts";
import type { Session } from "../session.ts";

export interface StackNode {
  readonly name: string;
  /** The project with the node, whether or not cairn.yaml has it still. */
  readonly project: ReadProject;
  readonly configured: boolean;
}

/** UsageError for a name that neither cairn.yaml nor what is deployed knows. */
export async function stackNode({ project, files, run }: Session, name: string): Promise<StackNode> {
  const { plan } = project;
  if (plan.nodes.some((node) => node.name === name)) return { name, project, configured: true };
  const record = await readRecord(run.dir);
  const names = [...new Set([...plan.nodes, ...(record?.nodes ?? [])].map((node) => node.name))];
  if (!names.includes(name)) throw new UsageError(`There is no node ${name}.`, `Nodes: ${names.join(", ")}.`);
  const [node] = (await readNodePlan(files, name))?.plan.nodes ?? [];
  if (node === undefined) {
    throw new InfraError("INFRA_FAILED", `Nothing is recorded of the node ${name} but its name.`, {
      hint: "Put it back into deployment.nodes of cairn.yaml, and run the same command again: it takes it out.",
    });
  }
  // The copy was made by a plan of the same target; the spread loses which of the three it is.
  return {
    name,
    project: { ...project, plan: { ...plan, nodes: [...plan.nodes, node] } as DeploymentPlan },
    configured: false,
  };
}

/** URNs of everything that the state has of the node, its components included. */
export function recordedOf(state: ExportedState | null, plan: DeploymentPlan, node: string): string[] {
  return (state?.deployment.resources ?? [])
    .filter(({ type }) => !type.startsWith("pulumi:"))
    .filter(({ urn }) => nodeOf({ name: claimed(parseUrn(urn).name, plan.stack), urn }, plan) === node)
    .map(({ urn }) => urn);
}

/** Names of the volumes, directories or claims of a node. */
export function isDataOf(name: string, { stack }: DeploymentPlan, node: string): boolean {
  const names = stackNames(stack);
  const own = [names.home(node), names.workspace(node)];
  return own.includes(name) || /^(?:home|workspace)-(.+)-\d+$/.exec(name)?.[1] === names.node(node);
}

/** What data of the node `from` are called when the node is called `to`. */
export function renamedData(name: string, { stack }: DeploymentPlan, from: string, to: string): string {
  const names = stackNames(stack);
  const claim = /^((?:home|workspace)-).+(-\d+)$/.exec(name);
  if (claim !== null && name === `${claim[1]}${names.node(from)}${claim[2]}`) {
    return `${claim[1]}${names.node(to)}${claim[2]}`;
  }
  return name === names.home(from) ? names.home(to) : names.workspace(to);
}

/** On Kubernetes a claim's name begins with what it is for. */
function claimed(name: string, stack: string): string {
  const match = /^(?:home|workspace)-(.+)$/.exec(name);
  return match?.[1]?.startsWith(`${stack}-`) ? match[1] : name;
}
