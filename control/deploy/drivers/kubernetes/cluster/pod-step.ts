/**
 * What to do next with one pod of a StatefulSet so that it alone takes what was applied: the partition steps down to its ordinal, and
 * back. Pure: a look in, one step out. A command that is not the newest for the pod changes nothing.
 */

import { IMAGE_ANNOTATION } from "../../../../../infra/components/kubernetes/names.ts";
import { fenceAnnotation } from "./fence-token.ts";
import type { Pod, StatefulSet } from "./objects.ts";
import { type Member, memberOf } from "./rollout.ts";

export interface PodSnapshot {
  readonly workload: StatefulSet;
  /** Of the whole group, in any order. */
  readonly pods: readonly Pod[];
  /** The pod's. */
  readonly ordinal: number;
  /** Mark of the image that it is to get, as the template has it. */
  readonly image: string;
  /** The command's token, as its fence wrote it. */
  readonly token: string;
  /** The partition between two steps: the number of replicas. */
  readonly partition: number;
}

export type PodStep =
  /** Somebody else's command came later, or another image was applied. */
  | { readonly do: "refuse"; readonly why: "token" | "image" }
  | { readonly do: "partition"; readonly value: number }
  /** It cannot start: the controller may wait for it for ever. */
  | { readonly do: "replace"; readonly pod: string; readonly why: string }
  /** As of a group's step. */
  | { readonly do: "wait"; readonly pod: string | null; readonly trouble: string | null; readonly crashes?: true }
  | { readonly do: "done" };

const WAIT: PodStep = { do: "wait", pod: null, trouble: null };

export function nextPodStep({ workload, pods, ordinal, image, token, partition }: PodSnapshot): PodStep {
  if (workload.metadata.annotations?.[fenceAnnotation(ordinal)] !== token) return { do: "refuse", why: "token" };
  if (workload.spec.template.metadata?.annotations?.[IMAGE_ANNOTATION] !== image) return { do: "refuse", why: "image" };
  const members = membersOf({ workload, pods });
  if (members === null) return WAIT;
  const own = members.find((one) => one.ordinal === ordinal);
  const now = partitionOf(workload);
  if (own?.outdated === false) {
    if (!own.ready) return waitFor(own);
    return now === partition ? { do: "done" } : { do: "partition", value: partition };
  }
  if (now > ordinal) return { do: "partition", value: ordinal };
  // The controller changes none below one that is not ready.
  const above = members.find((one) => one.ordinal > ordinal && !one.ready);
  if (above !== undefined) return waitFor(above);
  if (own === undefined) return WAIT;
  if (own.trouble !== null) return { do: "replace", pod: own.name, why: own.trouble };
  return { do: "wait", pod: own.name, trouble: null };
}

/** Pods that the controller would change before this one, in its order. Null: it has not seen yet what was applied. */
export function podsBefore(
  { workload, pods }: Pick<PodSnapshot, "workload" | "pods">,
  ordinal: number,
): readonly string[] | null {
  const members = membersOf({ workload, pods });
  return members?.filter((one) => one.outdated && one.ordinal > ordinal).map(({ name }) => name) ?? null;
}

export function partitionOf({ spec }: StatefulSet): number {
  return spec.updateStrategy?.rollingUpdate?.partition ?? 0;
}

/** Highest ordinal first. */
function membersOf({ workload, pods }: Pick<PodSnapshot, "workload" | "pods">): Member[] | null {
  const { metadata, spec, status } = workload;
  const revision = status?.updateRevision;
  if (revision === undefined || (status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return null;
  const image = spec.template.metadata?.annotations?.[IMAGE_ANNOTATION];
  return pods.map((pod) => memberOf(pod, revision, image)).toSorted((a, b) => b.ordinal - a.ordinal);
}

function waitFor({ name, trouble, crashes }: Member): PodStep {
  return { do: "wait", pod: name, trouble, ...(crashes ? { crashes } : {}) };
}
