/**
 * Images in a cluster. It pulls for itself, and which of its machines does is its own affair; nothing is delivered. A new image
 * of a node is applied and held back by the partition (docs/decisions/017-kubernetes-workloads.md), until an update of this
 * program rolls it: the controller does, one pod at a time, once the partition is gone.
 */

import { workloadName } from "../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../infra/plan/types.ts";
import { shellWord } from "../../../../runtime/contracts/shell-quote.ts";

export const imagePlaces = (): string[] => [];
export const hasImage = async (): Promise<boolean> => true;
export const deliverImage = async (): Promise<void> => {};

type ClusterTarget = Pick<KubernetesPlan, "stack" | "namespace" | "context" | "kubeconfig">;

/**
 * The command line that lets the group of `node` take it and waits until all pods have. The next `cairn infra up` sets the partition
 * back; run before that, it would end the rollout between two pods.
 */
export function releaseCommand({ stack, namespace, context, kubeconfig }: ClusterTarget, node: string): string {
  const kubectl = [
    "kubectl",
    ...(kubeconfig === null ? [] : [`--kubeconfig=${shellWord(kubeconfig)}`]),
    ...(context === null ? [] : [`--context=${shellWord(context)}`]),
    `--namespace=${namespace}`,
  ];
  const patch = JSON.stringify({ spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } });
  const name = workloadName(stack, node);
  const commands = [
    ["patch", "statefulset", name, "--type=merge", `--patch='${patch}'`],
    ["rollout", "status", `statefulset/${name}`],
  ];
  return commands.map((command) => [...kubectl, ...command].join(" ")).join(" && ");
}
