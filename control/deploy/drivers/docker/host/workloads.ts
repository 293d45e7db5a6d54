/** What a stack runs on its Docker hosts, found by its label, and its removal. */

import type { DockerPlan } from "../../../../../infra/plan/types.ts";
import type { Report } from "../../../inspection.ts";
import { labelled, removeContainer, removeNetwork } from "./inventory.ts";
import { hostsOf } from "./names.ts";

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
