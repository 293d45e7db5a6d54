/** Claims in the cluster: which of the plan's exist, and their removal for good. */

import {
  INSTANCE_LABEL,
  MANAGED_LABEL,
  MANAGER,
  plannedClaims,
} from "../../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { ExistingData } from "../../../driver.ts";
import type { Kubectl } from "./kubectl.ts";
import { claimSchema, listObjects } from "./objects.ts";

/** For a claim whose pod is still ending, in milliseconds. */
const DELETE_MS = 150_000;

/** Claims under the plan's names, also those of another stack. */
export async function existingData(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  signal: AbortSignal,
): Promise<ExistingData[]> {
  const planned = new Set(plannedClaims(plan).map(({ name }) => name));
  const claims = await listObjects(kubectl, ["persistentvolumeclaims"], claimSchema, { signal });
  return claims
    .filter(({ metadata }) => planned.has(metadata.name))
    .map(({ metadata }) => ({
      name: metadata.name,
      place: plan.namespace,
      stack: metadata.labels?.[MANAGED_LABEL] === MANAGER ? (metadata.labels?.[INSTANCE_LABEL] ?? null) : null,
    }));
}

/** Returns when they are gone. INFRA_FAILED names those that a pod still uses. */
export async function deleteData(kubectl: Kubectl, data: readonly ExistingData[], signal: AbortSignal): Promise<void> {
  if (data.length === 0) return;
  const names = data.map(({ name }) => name);
  await kubectl.run(["delete", "persistentvolumeclaims", ...names, "--ignore-not-found", "--wait=false"], { signal });
  const gone = ["wait", "--for=delete", `--timeout=${DELETE_MS / 1_000}s`];
  const objects = names.map((name) => `persistentvolumeclaim/${name}`);
  await kubectl.run([...gone, ...objects], { signal, timeoutMs: DELETE_MS + 10_000 }).catch(async (error: unknown) => {
    signal.throwIfAborted();
    const remaining = await listObjects(kubectl, ["persistentvolumeclaims"], claimSchema, { signal });
    const kept = remaining.map(({ metadata }) => metadata.name).filter((name) => names.includes(name));
    if (kept.length === 0) return;
    throw new InfraError("INFRA_FAILED", `These claims are still used by a pod: ${kept.join(", ")}.`, {
      hint: "They go as soon as the pod has ended; see `kubectl get pods`.",
      cause: error,
    });
  });
}
