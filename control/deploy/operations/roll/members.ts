/** What a rollout changes one after the other: a node, or each of the pods that it consists of. */

import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import type { TargetDriver } from "../../driver.ts";

export interface FleetMember {
  /** The node's, or the pod's. */
  readonly name: string;
  /** Node of the plan. */
  readonly node: string;
}

/** In the order in which they may change. `nodes`: of the plan. */
export function membersOf({ podRollout }: Pick<TargetDriver, "podRollout">, nodes: readonly string[]): FleetMember[] {
  return nodes.flatMap((node) => (podRollout?.order(node) ?? [node]).map((name) => ({ name, node })));
}

/** Name of the node that this is, or is a pod of. */
export function nodeOfMember(
  driver: Pick<TargetDriver, "podRollout">,
  { nodes }: DeploymentPlan,
  name: string,
): string {
  const names = nodes.map((node) => node.name);
  return membersOf(driver, names).find((member) => member.name === name)?.node ?? name;
}
