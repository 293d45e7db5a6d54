/** The CTs of a stack, and their removal. */

import { allCts } from "../../../../../infra/components/proxmox/ct.ts";
import { deleteCt } from "../../../../../infra/components/proxmox/ct-scripts.ts";
import { stackNames } from "../../../../../infra/plan/names.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import type { Report } from "../../../inspection.ts";
import { withHost } from "./host.ts";

/** Of one CT, in milliseconds: its container gets the time to end that its node needs. */
const DELETE_MS = 900_000;

/** CTs of the plan that carry this stack's mark; data directories are mounts of the host and stay. */
export async function removeWorkloads(plan: ProxmoxPlan, report: Report, signal: AbortSignal): Promise<string[]> {
  return withHost(plan, signal, async (host) => {
    const removed: string[] = [];
    for (const ct of allCts(plan)) {
      report(`Removing container ${ct.vmid}`);
      await host.run({ member: ct.member, argv: deleteCt(ct), timeoutMs: DELETE_MS });
      removed.push(stackNames(plan.stack).node(ct.role));
    }
    return removed;
  });
}
