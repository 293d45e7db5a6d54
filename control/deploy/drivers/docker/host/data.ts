/** Volumes on the Docker hosts of a plan: which of them exist, and their removal for good. */

import type { DockerPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { ExistingData } from "../../../driver.ts";
import { findVolumes, removeVolume, volumeUsers } from "./inventory.ts";
import { atPlace, dataNames, hostsOf } from "./names.ts";

/** Volumes under the plan's names, also those of another stack. */
export async function existingData(plan: DockerPlan, signal: AbortSignal): Promise<ExistingData[]> {
  const found = hostsOf(plan).map(async (place) => {
    const names = atPlace(dataNames(plan), place).map(({ name }) => name);
    const volumes = await findVolumes(names, place, signal);
    const users = volumes.length === 0 ? null : await volumeUsers(place, signal);
    return volumes.map(({ name, stack }) => {
      const usedBy = users?.get(name);
      return { name, place, stack, ...(usedBy === undefined ? {} : { usedBy }) };
    });
  });
  return (await Promise.all(found)).flat();
}

/** INFRA_DATA_PROTECTED for what is not of this plan. */
export async function deleteData(plan: DockerPlan, names: readonly ExistingData[], signal: AbortSignal): Promise<void> {
  const planned = dataNames(plan);
  const strange = names.find(({ name, place }) => !planned.some((own) => own.name === name && own.place === place));
  if (strange) {
    throw new InfraError("INFRA_DATA_PROTECTED", `${strange.name} at ${strange.place} is no data of this deployment.`);
  }
  for (const { name, place } of names) await removeVolume(name, place, signal);
}
