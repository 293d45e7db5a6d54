/**
 * After the graph was applied: CTs that were changed by hand are brought back to their plan. The graph cannot do that, since
 * the provider runs a command again only when the command itself has changed.
 */

import { allCts } from "../../../../infra/components/proxmox/ct.ts";
import { ensureCt } from "../../../../infra/components/proxmox/ct-scripts.ts";
import { stackNames } from "../../../../infra/plan/names.ts";
import type { ProxmoxPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { Report } from "../../driver.ts";
import { withHost } from "./host/host.ts";
import { drift } from "./observe.ts";

/** Of one CT, a restart for settings that need one included. */
const ENSURE_TIMEOUT_MS = 900_000;

/** One CT after the other. Throws INFRA_FAILED for what differs still: another storage or kind of CT, a container that is gone. */
export async function reconcile(plan: ProxmoxPlan, report: Report, signal: AbortSignal): Promise<void> {
  const before = await drift(plan, signal);
  if (before.length === 0) return;
  const names = stackNames(plan.stack);
  await withHost(plan, signal, async (host) => {
    for (const ct of allCts(plan)) {
      const own = before.filter(({ resource }) => resource === `${names.node(ct.role)}-ct`);
      // One that is gone is not made here: there would be nothing in it.
      if (own.length === 0 || own.some(({ setting }) => setting === "existence")) continue;
      report(`Bringing container ${ct.vmid} back to its plan: ${own.map(({ setting }) => setting).join(", ")}`);
      await host.run({ member: ct.member, argv: ensureCt(ct), timeoutMs: ENSURE_TIMEOUT_MS });
    }
  });
  const drifted = await drift(plan, signal);
  if (drifted.length === 0) return;
  const words = drifted.map(
    ({ resource, setting, expected, observed }) => `${resource}: ${setting} is ${observed}, not ${expected}`,
  );
  throw new InfraError("INFRA_FAILED", `Something on Proxmox differs from the plan: ${words.join("; ")}.`, {
    hint: "What runs in a container comes back with `cairn infra destroy` and `cairn infra up`: data stay.",
  });
}

/** A command has no id on the host, and each can be repeated: what was interrupted is simply done again. */
export async function findInterrupted(): Promise<string | null> {
  return null;
}
