/** A rollout's commands on a cluster: the newest token stands at the workload, and replaces only what was read (its resourceVersion). */

import { workloadName } from "../../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { FencingToken } from "../../../../rollout/contracts.ts";
import type { Kubectl } from "./kubectl.ts";
import { findObject, statefulSetSchema } from "./objects.ts";

/** Fleet, lease and command of the newest command. */
const FENCE_ANNOTATION = "cairn.dev/rollout";
/** Others change the object as well, such as the controller: then it is read again. */
const ATTEMPTS = 5;

/** INFRA_LOCKED for a token that is older than the one that stands there. Nothing where there is no workload. */
export async function fence(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  node: string,
  { token }: { readonly token: FencingToken },
  signal: AbortSignal,
): Promise<void> {
  const name = workloadName(plan.stack, node);
  const said = `${token.fleet} ${token.lease} ${token.command}`;
  for (let attempt = 1; ; attempt++) {
    const found = await findObject(kubectl, "statefulset", name, statefulSetSchema, { signal });
    if (found === null) return;
    if (isOlder(token, found.metadata.annotations?.[FENCE_ANNOTATION] ?? "")) {
      throw new InfraError("INFRA_LOCKED", `Somebody else changes ${node} now: its workload has a newer command.`, {
        hint: "See `cairn update --mesh --history`.",
      });
    }
    const version = `--resource-version=${found.metadata.resourceVersion ?? ""}`;
    const words = ["annotate", "statefulset", name, `${FENCE_ANNOTATION}=${said}`, "--overwrite", version];
    try {
      await kubectl.run([...words, "--field-manager=cairn-rollout"], { signal });
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error;
    }
  }
}

function isOlder({ fleet, lease, command }: FencingToken, seen: string): boolean {
  const [seenFleet, seenLease, seenCommand] = seen.split(" ");
  if (seenFleet !== fleet) return false;
  return lease < Number(seenLease) || (lease === Number(seenLease) && command < Number(seenCommand));
}

function isConflict(error: unknown): boolean {
  return error instanceof Error && /the object has been modified|Conflict/.test(error.message);
}
