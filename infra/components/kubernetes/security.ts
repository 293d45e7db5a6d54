/** What the Pod Security Standard `restricted` requires, and a little more: the root file system cannot be written. */

import type { types } from "@pulumi/kubernetes";
import { quantityText } from "./quantity.ts";

export type PodSecurity = types.input.core.v1.PodSecurityContext;
export type ContainerSecurity = types.input.core.v1.SecurityContext;

/** `gid` also owns the volumes, so that the user may write to them; changed only where it is another's, which is quick. */
export function podSecurity(uid: number, gid: number): PodSecurity {
  return {
    runAsNonRoot: true,
    runAsUser: uid,
    runAsGroup: gid,
    fsGroup: gid,
    fsGroupChangePolicy: "OnRootMismatch",
    seccompProfile: { type: "RuntimeDefault" },
  };
}

export function containerSecurity(): ContainerSecurity {
  return {
    allowPrivilegeEscalation: false,
    privileged: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    capabilities: { drop: ["ALL"] },
  };
}

/** Nothing in a pod of ours talks to the cluster, and services of the namespace are none of its environment. */
export const QUIET_POD = { automountServiceAccountToken: false, enableServiceLinks: false } as const;

/** Where the cluster has user namespaces, root of a pod has no rights on its machine. The field is left out elsewhere. */
export function userNamespace(wanted: boolean): { readonly hostUsers?: false } {
  return wanted ? { hostUsers: false } : {};
}

/** What a pod leaves on its machine's disk outside of claims: /tmp and its logs. */
const EPHEMERAL = { request: "128Mi", limit: "1Gi" } as const;

/** Memory, processors and disk, as quantities; a request is never above its limit. */
export function resources(
  requests: { readonly memoryBytes: number; readonly cpus: number },
  limits: { readonly memoryBytes: number; readonly cpus: number },
): types.input.core.v1.ResourceRequirements {
  return {
    requests: {
      ...quantities({
        memoryBytes: Math.min(requests.memoryBytes, limits.memoryBytes),
        cpus: Math.min(requests.cpus, limits.cpus),
      }),
      "ephemeral-storage": EPHEMERAL.request,
    },
    limits: { ...quantities(limits), "ephemeral-storage": EPHEMERAL.limit },
  };
}

function quantities({ memoryBytes, cpus }: { readonly memoryBytes: number; readonly cpus: number }) {
  return { memory: quantityText(memoryBytes), cpu: `${Math.max(1, Math.round(cpus * 1000))}m` };
}
