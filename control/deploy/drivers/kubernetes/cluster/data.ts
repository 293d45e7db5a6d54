/** Claims in the cluster: which of the plan's exist, what upgrades have left in the database's, and their removal for good. */

import {
  DATABASE_FOLDER,
  INSTANCE_LABEL,
  MANAGED_LABEL,
  MANAGER,
  POSTGRES_CONTAINER,
  POSTGRES_NODE,
  plannedClaims,
  podName,
} from "../../../../../infra/components/kubernetes/names.ts";
import { databaseData, directoryData, stackNames } from "../../../../../infra/plan/names.ts";
import { type KubernetesPlan, POSTGRES } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { ExistingData, FormerData } from "../../../driver.ts";
import { databaseServers } from "./database-servers.ts";
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

/**
 * Folders with data of PostgreSQL on the database's claim that the plan does not name: an upgrade keeps the former one. They go with the
 * claim. None where the pod cannot be entered.
 */
export async function formerData(kubectl: Kubectl, plan: KubernetesPlan, signal: AbortSignal): Promise<FormerData[]> {
  const { stack, namespace } = plan;
  const own = databaseData(plan);
  const where = [`pod/${podName(stack, POSTGRES_NODE, 0)}`, `--container=${POSTGRES_CONTAINER}`];
  const words = ["exec", ...where, "--", "/bin/sh", "-c", DATABASES];
  const text = await kubectl.run(words, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof InfraError) return "";
    throw error;
  });
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((folder) => (folder === DATABASE_FOLDER ? stackNames(stack).database : directoryData(stack, folder)))
    .filter((name) => name !== own)
    .map((name) => ({ name, place: namespace, stack, removal: databaseServers(kubectl, plan).removal(name) }));
}

const DATABASES = `cd ${POSTGRES.data} && for v in */PG_VERSION; do [ ! -f "$v" ] || echo "\${v%/*}"; done`;

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
