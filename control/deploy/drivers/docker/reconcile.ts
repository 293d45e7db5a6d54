/**
 * What an interrupted run left on a Docker host. After a run there is nothing to reconcile: the provider waits for each
 * container, and reads every setting that it makes.
 */

import type { DockerPlan } from "../../../../infra/plan/types.ts";
import { findContainers, findNetworks, findVolumes, removeContainer } from "./host/inventory.ts";
import { hostsOf } from "./host/names.ts";

const FINDERS = {
  "docker:index/volume:Volume": findVolumes,
  "docker:index/network:Network": findNetworks,
} as const;
const CONTAINER_TYPE = "docker:index/container:Container";

/** Only what this stack has made: something else of that name is a conflict, not the rest of an interrupted run. */
export async function findInterrupted(
  plan: DockerPlan,
  type: string,
  name: string,
  signal: AbortSignal,
): Promise<string | null> {
  const find = Object.entries(FINDERS).find(([one]) => one === type)?.[1];
  for (const place of hostsOf(plan)) {
    if (type === CONTAINER_TYPE) await clearContainer(plan, name, place, signal);
    const [found] = find ? await find([name], place, signal) : [];
    if (found?.name === name && found.stack === plan.stack) return found.id;
  }
  return null;
}

/**
 * Docker makes a container in several steps, and which were done cannot be seen: its files or its network may be missing.
 * Nothing in it lasts, so that it goes and is made anew.
 */
async function clearContainer(plan: DockerPlan, name: string, place: string, signal: AbortSignal): Promise<void> {
  const [found] = await findContainers([name], place, signal);
  if (found?.name === name && found.stack === plan.stack) await removeContainer(found.id, place, signal);
}
