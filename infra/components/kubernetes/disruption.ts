/** What an eviction, such as of a drain of a machine, may take of a stack at a time. */

import { PodDisruptionBudget } from "@pulumi/kubernetes/policy/v1/index.js";
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { KubernetesPlan } from "../../plan/types.ts";
import { objectLabels, selectorLabels } from "./names.ts";

/**
 * One for the nodes of all groups together: a budget for each would let all groups of one pod go at once, and a pod that two budgets
 * select is never evicted. A stack of one pod can be drained all the same.
 */
export function makeDisruptionBudget(plan: KubernetesPlan, options: CustomResourceOptions): PodDisruptionBudget {
  const name = `${plan.stack}-nodes`;
  return new PodDisruptionBudget(
    name,
    {
      metadata: { name, namespace: plan.namespace, labels: objectLabels(plan.stack) },
      spec: { maxUnavailable: 1, selector: { matchLabels: selectorLabels(plan.stack, "node") } },
    },
    options,
  );
}
