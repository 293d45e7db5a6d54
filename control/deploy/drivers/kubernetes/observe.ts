/** Whether the nodes of a plan run in the cluster, and how they are, from their workloads and pods. */

import {
  INSTANCE_LABEL,
  NODE_CONTAINER,
  NODE_LABEL,
  workloadName,
} from "../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../infra/plan/types.ts";
import type { ObservedNode } from "../../driver.ts";
import type { Kubectl } from "./cluster/kubectl.ts";
import { listObjects, podSchema, statefulSetSchema } from "./cluster/objects.ts";
import { podHealth } from "./cluster/pod-health.ts";

export async function observe(kubectl: Kubectl, plan: KubernetesPlan, signal: AbortSignal): Promise<ObservedNode[]> {
  const selector = `--selector=${INSTANCE_LABEL}=${plan.stack}`;
  const [workloads, pods] = await Promise.all([
    listObjects(kubectl, ["statefulsets", selector], statefulSetSchema, { signal }),
    listObjects(kubectl, ["pods", selector], podSchema, { signal }),
  ]);
  return plan.nodes.map((node) => {
    const name = workloadName(plan.stack, node.name);
    const workload = workloads.find(({ metadata }) => metadata.name === name);
    const own = pods.filter(({ metadata }) => metadata.labels?.[NODE_LABEL] === node.name);
    const health = own.map(podHealth);
    const container = [...own.map(({ spec }) => spec), ...(workload ? [workload.spec.template.spec] : [])]
      .flatMap(({ containers }) => containers)
      .find(({ name: of }) => of === NODE_CONTAINER);
    const reason = health.find(({ trouble }) => trouble !== null)?.trouble ?? null;
    return {
      name: node.name,
      workload: name,
      place: plan.namespace,
      state: stateOf(workload?.spec.replicas ?? null, health),
      health: healthOf(workload?.spec.replicas ?? null, health),
      image: container?.image ?? null,
      ...(reason === null ? {} : { reason }),
    };
  });
}

type Health = ReturnType<typeof podHealth>;

function stateOf(replicas: number | null, pods: readonly Health[]): ObservedNode["state"] {
  if (replicas === null) return "missing";
  return pods.some(({ running }) => running) ? "running" : "stopped";
}

function healthOf(replicas: number | null, pods: readonly Health[]): ObservedNode["health"] {
  if (replicas === null || replicas === 0) return "unknown";
  if (pods.filter(({ ready }) => ready).length >= replicas) return "healthy";
  return pods.some(({ trouble }) => trouble !== null) ? "unhealthy" : "starting";
}
