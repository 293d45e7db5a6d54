/**
 * Images in a cluster. It pulls for itself, and which of its machines does is its own affair; nothing is delivered. A new image
 * of a node is applied and held back by the partition (docs/decisions/017-kubernetes-workloads.md), until a run for the node
 * releases it (reconcile.ts).
 */

import { z } from "zod";
import type { KubernetesPlan } from "../../../../infra/plan/types.ts";
import { type Kubectl, unknownIfForbidden } from "./cluster/kubectl.ts";
import { listObjects } from "./cluster/objects.ts";

const machineSchema = z.object({
  spec: z.object({
    unschedulable: z.boolean().nullish(),
    taints: z.array(z.object({ effect: z.string() })).nullish(),
  }),
  status: z.object({ nodeInfo: z.object({ architecture: z.string() }).nullish() }).nullish(),
});

/** Of the machines that the node's labels choose, and that take pods without a toleration. Empty where nobody may list them. */
export async function architectures(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  node: string,
  signal: AbortSignal,
): Promise<string[]> {
  const chosen = Object.entries(plan.nodes.find(({ name }) => name === node)?.nodeSelector ?? {});
  const selector = chosen.map(([label, value]) => `${label}=${value}`).join(",");
  const what = ["nodes", ...(selector === "" ? [] : [`--selector=${selector}`])];
  const machines = (await listObjects(kubectl, what, machineSchema, { signal }).catch(unknownIfForbidden)) ?? [];
  const open = machines.filter(
    ({ spec }) => spec.unschedulable !== true && !spec.taints?.some(({ effect }) => effect !== "PreferNoSchedule"),
  );
  const names = open.map(({ status }) => status?.nodeInfo?.architecture ?? "");
  return [...new Set(names)].filter((name) => name !== "").sort();
}

export const imagePlaces = (): string[] => [];
export const hasImage = async (): Promise<boolean> => true;
export const deliverImage = async (): Promise<void> => {};
