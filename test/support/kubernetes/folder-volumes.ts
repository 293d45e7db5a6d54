/** Storage of a cluster with one machine: each claim gets a folder of it, which stays until the cluster ends. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";
import { NODE_NAME } from "./machine-config.ts";

const POLL_MS = 500;
const CLASS = "folders";

interface Claim {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: {
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
    readonly storageClassName?: string;
    readonly volumeName?: string;
  };
}

/** The default one. */
export function storageClass(): object {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: CLASS, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "cairn.test/folders",
    reclaimPolicy: "Retain",
    volumeBindingMode: "Immediate",
  };
}

/** Makes a volume for every claim that has none, until `signal`. `folder`: where the volumes are, seen from the machine. */
export async function bindClaims(kubectl: Cluster["kubectl"], folder: string, signal: AbortSignal): Promise<void> {
  const made = new Set<string>();
  while (!signal.aborted) {
    const listed = await kubectl(["get", "persistentvolumeclaims", "--all-namespaces", "--output=json"]).catch(
      () => "",
    );
    const claims: readonly Claim[] = listed === "" ? [] : JSON.parse(listed).items;
    for (const claim of claims) {
      const { uid } = claim.metadata;
      if (claim.spec.storageClassName !== CLASS || claim.spec.volumeName !== undefined || made.has(uid)) continue;
      const path = join(folder, uid);
      await mkdir(path, { recursive: true });
      await kubectl(["create", "--filename=-"], JSON.stringify(volumeOf(claim, path))).then(
        () => made.add(uid),
        // The claim may have gone meanwhile, and the API server may be busy: the next round looks again.
        () => undefined,
      );
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** A `local` volume: unlike with `hostPath`, the kubelet gives it to the pod's group. */
function volumeOf({ metadata: { name, namespace, uid }, spec }: Claim, path: string): object {
  const here = { key: "kubernetes.io/hostname", operator: "In", values: [NODE_NAME] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `folder-${uid}` },
    spec: {
      capacity: { storage: spec.resources.requests.storage },
      accessModes: spec.accessModes,
      storageClassName: CLASS,
      persistentVolumeReclaimPolicy: "Retain",
      local: { path },
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
    },
  };
}
