/** What a stack runs on its Docker hosts, found by its label, and its removal. */

import type { DockerPlan } from "../../../../../infra/plan/types.ts";
import type { NamedResource } from "../../../driver.ts";
import type { RecordedResource } from "../../../engine/checkpoint.ts";
import type { Report } from "../../../inspection.ts";
import { labelled, removeContainer, removeNetwork } from "./inventory.ts";
import { hostsOf } from "./names.ts";

const VOLUME = "docker:index/volume:Volume";

/**
 * Containers and networks of the stack under names that the state has not: a container of such a name can be made no second time.
 * `asked`: of these alone; resolves with the volumes among them.
 */
export async function removeUnrecorded(
  plan: DockerPlan,
  {
    recorded,
    asked,
  }: { readonly recorded: readonly RecordedResource[]; readonly asked?: readonly NamedResource[] | undefined },
  report: Report,
  signal: AbortSignal,
): Promise<readonly NamedResource[]> {
  const names = new Set(recorded.map(({ name }) => name));
  const unrecorded = ({ name }: { readonly name: string }): boolean =>
    !names.has(name) && (asked === undefined || asked.some((one) => one.name === name));
  for (const place of hostsOf(plan)) {
    const containers = await labelled("container", plan.stack, place, signal);
    for (const { id, name } of containers.filter(unrecorded)) {
      report(`Removing the container ${name}, which is not recorded`);
      await removeContainer(id, place, signal);
    }
    const networks = await labelled("network", plan.stack, place, signal);
    for (const { id } of networks.filter(unrecorded)) await removeNetwork(id, place, signal);
  }
  return (asked ?? []).filter(({ type, name }) => type === VOLUME && !names.has(name));
}

/** Containers with their anonymous volumes, which hold files with secrets, then networks. */
export async function removeWorkloads(plan: DockerPlan, report: Report, signal: AbortSignal): Promise<string[]> {
  const removed: string[] = [];
  for (const place of hostsOf(plan)) {
    for (const { id, name } of await labelled("container", plan.stack, place, signal)) {
      report(`Removing the container ${name}`);
      await removeContainer(id, place, signal);
      removed.push(name);
    }
    for (const { id, name } of await labelled("network", plan.stack, place, signal)) {
      await removeNetwork(id, place, signal);
      removed.push(name);
    }
  }
  return removed;
}
