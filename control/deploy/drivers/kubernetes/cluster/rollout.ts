/**
 * What to do next with one StatefulSet so that its pods come to what was applied. Pure: a look in, one step out. The rules are
 * those of docs/decisions/017-kubernetes-workloads.md.
 */

import { IMAGE_ANNOTATION } from "../../../../../infra/components/kubernetes/names.ts";
import type { Pod, StatefulSet } from "./objects.ts";
import { podHealth } from "./pod-health.ts";

export interface GroupSnapshot {
  readonly workload: StatefulSet;
  /** Its pods, in any order. */
  readonly pods: readonly Pod[];
  /** The partition that was applied: the number of replicas where images wait for an update, else 0. */
  readonly partition: number;
  /** Whether pods take another image now. */
  readonly released: boolean;
}

export type Step =
  | { readonly do: "partition"; readonly value: number; readonly why: string }
  /** A pod of an older revision that cannot start: the controller would wait for it for ever. */
  | { readonly do: "replace"; readonly pod: string; readonly why: string }
  /** `pod` is null where pods are missing. `trouble` is null while there is nothing but to wait; `crashes`: waiting does not help. */
  | { readonly do: "wait"; readonly pod: string | null; readonly trouble: string | null; readonly crashes?: true }
  /** `held`: pods that wait for an update, because what was applied has another image. */
  | { readonly do: "done"; readonly held: readonly string[] };

/** A pod of the group. */
export interface Member {
  readonly ordinal: number;
  readonly name: string;
  readonly outdated: boolean;
  readonly ready: boolean;
  readonly trouble: string | null;
  readonly crashes: boolean;
  /** Whether it may be replaced: only its configuration changes, or it does not work anyway. */
  readonly free: boolean;
}

/** Pods that work and keep an image that is not the one that was applied. */
export function waitingForImage({ workload, pods }: Pick<GroupSnapshot, "workload" | "pods">): string[] {
  const revision = workload.status?.updateRevision;
  if (revision === undefined) return [];
  const image = workload.spec.template.metadata?.annotations?.[IMAGE_ANNOTATION];
  return pods
    .map((pod) => memberOf(pod, revision, image))
    .filter(({ outdated, free }) => outdated && !free)
    .map(({ name }) => name);
}

export function nextStep({ workload, pods, partition, released }: GroupSnapshot): Step {
  const { metadata, spec, status } = workload;
  const replicas = spec.replicas ?? 1;
  const revision = status?.updateRevision;
  if (revision === undefined || (status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return { do: "wait", pod: null, trouble: null };
  }
  const image = spec.template.metadata?.annotations?.[IMAGE_ANNOTATION];
  const members = pods.map((pod) => memberOf(pod, revision, image)).toSorted((a, b) => b.ordinal - a.ordinal);
  const outdated = members.filter((member) => member.outdated);
  const free = released ? [...outdated] : reach(outdated);
  const now = spec.updateStrategy?.rollingUpdate?.partition ?? 0;

  // Below one that must be left alone: the controller waits for it, and nothing that is allowed here can help.
  const lost = outdated.find((member) => member.trouble !== null && !free.includes(member));
  if (lost !== undefined) return waitFor(lost);
  if (free.length > 0) {
    const lowest = Math.min(partition, ...free.map(({ ordinal }) => ordinal));
    if (now > lowest) return { do: "partition", value: lowest, why: "pods take what was applied" };
    // Whatever is new must work before the next one is touched.
    const unwell = members.find((member) => !member.outdated && !member.ready);
    if (unwell !== undefined) return waitFor(unwell);
    const stuck = free.find(({ trouble }) => trouble !== null);
    if (stuck !== undefined) return { do: "replace", pod: stuck.name, why: stuck.trouble ?? "" };
    return { do: "wait", pod: free[0]?.name ?? null, trouble: null };
  }
  if (members.length < replicas) return { do: "wait", pod: null, trouble: null };
  const unwell = members.find(({ ready }) => !ready);
  if (unwell !== undefined) return waitFor(unwell);
  if (now !== partition) return { do: "partition", value: partition, why: "as applied" };
  return { do: "done", held: outdated.map(({ name }) => name) };
}

function waitFor({ name, trouble, crashes }: Member): Step {
  return { do: "wait", pod: name, trouble, ...(crashes ? { crashes } : {}) };
}

/**
 * Outdated pods that can be reached without touching one that must be left alone: a partition frees every ordinal from it
 * upwards, so the way down ends at the first that works and would get another image. Highest ordinal first.
 */
function reach(outdated: readonly Member[]): Member[] {
  const barrier = outdated.find(({ free }) => !free)?.ordinal ?? -1;
  return outdated.filter(({ ordinal }) => ordinal > barrier);
}

/** `revision`: of the template that is applied now; `image`: the one in it. */
export function memberOf(pod: Pod, revision: string, image: string | undefined): Member {
  const { ready, trouble, crashes } = podHealth(pod);
  const outdated = pod.metadata.labels?.["controller-revision-hash"] !== revision;
  return {
    ordinal: Number(pod.metadata.name.slice(pod.metadata.name.lastIndexOf("-") + 1)),
    name: pod.metadata.name,
    outdated,
    ready,
    trouble,
    crashes,
    free: trouble !== null || pod.metadata.annotations?.[IMAGE_ANNOTATION] === image,
  };
}
