/** What the cluster has of a stack, by kind and name alone: no content of a secret is read. */

import { INSTANCE_LABEL, plannedClaims } from "../../../../../infra/components/kubernetes/names.ts";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import type { Kubectl } from "./kubectl.ts";
import { listObjects, namedSchema } from "./objects.ts";

/** Pulumi type -> what kubectl calls it. */
export const KINDS: Readonly<Record<string, string>> = {
  "kubernetes:apps/v1:StatefulSet": "statefulsets.apps",
  "kubernetes:core/v1:ConfigMap": "configmaps",
  "kubernetes:core/v1:PersistentVolumeClaim": "persistentvolumeclaims",
  "kubernetes:core/v1:Secret": "secrets",
  "kubernetes:core/v1:Service": "services",
  "kubernetes:core/v1:ServiceAccount": "serviceaccounts",
  "kubernetes:networking.k8s.io/v1:NetworkPolicy": "networkpolicies.networking.k8s.io",
  "kubernetes:policy/v1:PodDisruptionBudget": "poddisruptionbudgets.policy",
};

export const CLAIM = "kubernetes:core/v1:PersistentVolumeClaim";
export const WORKLOAD = "kubernetes:apps/v1:StatefulSet";

/** `Service`, of its Pulumi type. */
export function kindOf(type: string): string {
  return type.split(":").at(-1) ?? type;
}

/** `Service/lab-a`, of every object with the stack's label, and of its claims by their names. */
export async function findNames(
  kubectl: Kubectl,
  plan: KubernetesPlan,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const kinds = Object.values(KINDS).join(",");
  const [labelled, claims] = await Promise.all([
    kubectl.run(
      ["get", kinds, `--selector=${INSTANCE_LABEL}=${plan.stack}`, "--ignore-not-found", "--no-headers", COLUMNS],
      { signal },
    ),
    // Those that were taken over may have no label.
    listObjects(kubectl, ["persistentvolumeclaims"], namedSchema.pick({ metadata: true }), { signal }),
  ]);
  const planned = new Set(plannedClaims(plan).map(({ name }) => name));
  const names = labelled.split("\n").flatMap((line) => {
    const [kind, name] = line.trim().split(/\s+/);
    return kind && name ? [`${kind}/${name}`] : [];
  });
  const claimed = claims.flatMap(({ metadata }) =>
    planned.has(metadata.name) ? [`${kindOf(CLAIM)}/${metadata.name}`] : [],
  );
  return new Set([...names, ...claimed]);
}

const COLUMNS = "--output=custom-columns=KIND:.kind,NAME:.metadata.name";
