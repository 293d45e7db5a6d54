/**
 * PersistentVolumeClaims, as resources of their own under the names that the StatefulSet controller expects: it takes what
 * is there. So a claim can grow, `destroy` leaves it, and a StatefulSet that is made again finds it.
 */

import type { types } from "@pulumi/kubernetes";
import { PersistentVolumeClaim } from "@pulumi/kubernetes/core/v1/index.js";
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { KubernetesPlan } from "../../plan/types.ts";
import { objectLabels, type PlannedClaim, selectorLabels } from "./names.ts";
import { quantityText } from "./quantity.ts";

/** Deleting and scaling keep the claims, also when the StatefulSet is deleted by hand. */
export const CLAIM_RETENTION = { whenDeleted: "Retain", whenScaled: "Retain" } as const;

/** `adopted`: it exists already and keeps the storage class that it has, which nothing can change. */
export function makeClaim(
  plan: KubernetesPlan,
  claim: PlannedClaim,
  adopted: boolean,
  options: CustomResourceOptions,
): PersistentVolumeClaim {
  return new PersistentVolumeClaim(
    claim.name,
    {
      metadata: {
        name: claim.name,
        namespace: plan.namespace,
        labels: objectLabels(plan.stack, claim.component, claim.node ?? undefined),
        // Some storage binds when the first pod is there; what a pod waits for is reported when it is observed.
        annotations: { "pulumi.com/skipAwait": "true" },
      },
      spec: claimSpec(claim, adopted ? null : plan.storageClass),
    },
    {
      ...options,
      protect: true,
      retainOnDelete: true,
      // Fixed at creation: another setting is for claims to come.
      ignoreChanges: ["spec.storageClassName", "spec.accessModes"],
    },
  );
}

/** The template of a claim. Its size has no effect: the claim exists first. */
export function claimTemplate(
  plan: KubernetesPlan,
  claim: PlannedClaim & { readonly template: string },
): types.input.core.v1.PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: claim.template, labels: selectorLabels(plan.stack, claim.component, claim.node ?? undefined) },
    spec: claimSpec(claim, plan.storageClass),
  };
}

function claimSpec(claim: PlannedClaim, storageClass: string | null) {
  return {
    accessModes: [claim.access],
    resources: { requests: { storage: quantityText(claim.bytes) } },
    ...(storageClass === null ? {} : { storageClassName: storageClass }),
  };
}
