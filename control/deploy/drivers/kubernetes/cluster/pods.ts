/** The pods of a stack by the names that commands know: a node's own where it is one pod, else the pod's. Pure. */

import { ordinals, podName, workloadName } from "../../../../../infra/components/kubernetes/names.ts";
import type { KubernetesNodePlan, KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";

/** Of a node that is several. */
export function podsOf({ stack, nodes }: KubernetesPlan, node: string): readonly string[] {
  const replicas = nodes.find(({ name }) => name === node)?.replicas ?? 1;
  return replicas === 1 ? [] : ordinals(replicas).map((ordinal) => podName(stack, node, ordinal));
}

/** The node with this name, or with a pod of this name: then of that pod alone. */
export function memberOf(
  plan: KubernetesPlan,
  name: string,
): { readonly node: KubernetesNodePlan; readonly pod: string | null } | undefined {
  const node = plan.nodes.find((one) => one.name === name || podsOf(plan, one.name).includes(name));
  return node && { node, pod: node.name === name ? null : name };
}

export interface GroupPod {
  readonly node: KubernetesNodePlan;
  /** Of its StatefulSet. */
  readonly workload: string;
  readonly replicas: number;
  readonly ordinal: number;
  /** As the cluster names it. */
  readonly pod: string;
}

/** INFRA_PLAN_INVALID for what is the name of no pod. */
export function requirePod(plan: KubernetesPlan, name: string): GroupPod {
  const member = memberOf(plan, name);
  if (member === undefined || (member.pod === null && member.node.replicas > 1)) {
    throw new InfraError("INFRA_PLAN_INVALID", `The stack has no pod ${name}.`);
  }
  const { node } = member;
  const ordinal = Math.max(podsOf(plan, node.name).indexOf(name), 0);
  const workload = workloadName(plan.stack, node.name);
  return { node, workload, replicas: node.replicas, ordinal, pod: podName(plan.stack, node.name, ordinal) };
}
