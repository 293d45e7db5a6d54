/** Volumes on the Docker hosts of a plan: which of them exist, what upgrades have left, and their removal for good. */

import { ownLabels } from "../../../../../infra/components/docker/labels.ts";
import { databaseData } from "../../../../../infra/plan/names.ts";
import type { DockerPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { ExistingData, FormerData } from "../../../driver.ts";
import { dockerArguments } from "../../../images/docker-cli.ts";
import { noneWhereLost } from "../../lost-place.ts";
import { findVolumes, labelledVolumes, removeVolume, volumeUsers } from "./inventory.ts";
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

/** Volumes of databases that the stack's labels name and its plan does not: an upgrade of PostgreSQL keeps the former one. */
export async function formerData(plan: DockerPlan, signal: AbortSignal): Promise<FormerData[]> {
  const { stack, host } = plan;
  const own = databaseData(plan);
  const names = await noneWhereLost(labelledVolumes(ownLabels(plan, "postgres"), host, signal), signal);
  return names
    .filter((name) => name !== own)
    .map((name) => {
      const removal = ["docker", ...dockerArguments(["volume", "rm", name], host)].join(" ");
      return { name, place: host, stack, removal };
    });
}

/** INFRA_DATA_PROTECTED for what is neither of this plan nor former data of its stack. */
export async function deleteData(plan: DockerPlan, names: readonly ExistingData[], signal: AbortSignal): Promise<void> {
  const planned = [...dataNames(plan), ...(await formerData(plan, signal))];
  const strange = names.find(({ name, place }) => !planned.some((own) => own.name === name && own.place === place));
  if (strange) {
    throw new InfraError("INFRA_DATA_PROTECTED", `${strange.name} at ${strange.place} is no data of this deployment.`);
  }
  for (const { name, place } of names) await removeVolume(name, place, signal);
}
