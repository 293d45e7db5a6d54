/** Whether the nodes of a plan run on their Docker hosts, and how they are. */

import type { DockerNodePlan, DockerPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { ObservedNode } from "../../driver.ts";
import { type FoundContainer, findContainers } from "./host/inventory.ts";
import { nodeContainer } from "./host/names.ts";

export async function observe(plan: DockerPlan, signal: AbortSignal): Promise<ObservedNode[]> {
  const places = [...new Set(plan.nodes.map((node) => node.host))];
  const found = new Map(
    await Promise.all(places.map(async (place) => [place, await containersAt(plan, place, signal)] as const)),
  );
  return plan.nodes.map((node) => observed(plan, node, found.get(node.host) ?? null));
}

/** Null where the host does not answer: its nodes are unknown, which is not the same as gone. */
async function containersAt(
  plan: DockerPlan,
  place: string,
  signal: AbortSignal,
): Promise<readonly FoundContainer[] | null> {
  const names = plan.nodes.filter(({ host }) => host === place).map(({ name }) => nodeContainer(plan, name));
  try {
    return await findContainers(names, place, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InfraError && error.code === "INFRA_HOST_UNREACHABLE") return null;
    throw error;
  }
}

function observed(plan: DockerPlan, node: DockerNodePlan, containers: readonly FoundContainer[] | null): ObservedNode {
  const workload = nodeContainer(plan, node.name);
  const common = { name: node.name, workload, place: node.host };
  if (containers === null) return { ...common, state: "unknown", health: "unknown", image: null };
  const container = containers.find(({ name, stack }) => name === workload && stack === plan.stack);
  if (!container) return { ...common, state: "missing", health: "unknown", image: null };
  return { ...common, state: stateOf(container), health: healthOf(container), image: container.image };
}

function stateOf({ status }: FoundContainer): ObservedNode["state"] {
  return status === "running" ? "running" : "stopped";
}

/** Of a container that does not run Docker repeats the last answer: it says nothing about now. */
function healthOf({ status, health }: FoundContainer): ObservedNode["health"] {
  if (status !== "running") return "unknown";
  return health === "healthy" || health === "starting" || health === "unhealthy" ? health : "unknown";
}
