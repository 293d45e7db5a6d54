/**
 * A rollout's commands on a cluster: the newest token for a pod stands at its workload. It replaces only what was read (its
 * resourceVersion), and takes back a partition that an older command has lowered: no pod changes by that any more.
 */

import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { FencingToken } from "../../../../rollout/contracts.ts";
import { NEWER_COMMAND_HINT } from "../../../fence.ts";
import { fenceAnnotation, isOlder, tokenText } from "./fence-token.ts";
import type { Kubectl } from "./kubectl.ts";
import { findObject, statefulSetSchema } from "./objects.ts";
import { isConflict, setPartition } from "./partition.ts";
import { requirePod } from "./pods.ts";

/** Others change the object as well, such as the controller: then it is read again. */
const ATTEMPTS = 5;

/** INFRA_LOCKED for a token that is older than the one that stands there. Nothing where there is no workload. */
export async function fence(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  name: string,
  { token }: { readonly token: FencingToken },
  signal: AbortSignal,
): Promise<void> {
  const { workload, ordinal, replicas } = requirePod(plan, name);
  const annotation = fenceAnnotation(ordinal);
  for (let attempt = 1; ; attempt++) {
    const found = await findObject(kubectl, "statefulset", workload, statefulSetSchema, { signal });
    if (found === null) return;
    if (isOlder(token, found.metadata.annotations?.[annotation] ?? "")) throw fenced(name);
    const version = found.metadata.resourceVersion;
    try {
      return await setPartition(kubectl, workload, replicas, {
        signal,
        version,
        annotations: { [annotation]: tokenText(token) },
      });
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error;
    }
  }
}

export function fenced(name: string): InfraError {
  return new InfraError("INFRA_LOCKED", `Somebody else changes ${name} now: its workload has a newer command.`, {
    hint: NEWER_COMMAND_HINT,
  });
}
