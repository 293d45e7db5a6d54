/** What a pod's status means: whether it works, and what keeps it from working, in words. Pure. */

import { POSTGRES_CONTAINER } from "../../../../../infra/components/kubernetes/names.ts";
import { isCrashLoop } from "../../../crash-loop.ts";
import { memorySetting } from "../../../end-words.ts";
import type { Pod } from "./objects.ts";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

export interface PodHealth {
  readonly ready: boolean;
  readonly running: boolean;
  /** Null while nothing is wrong: it may still be starting. */
  readonly trouble: string | null;
  /** Whether it has ended so often that waiting does not help. */
  readonly crashes: boolean;
}

/** Waiting for these does not help; for the others it may. */
const WAITING: Readonly<Record<string, string>> = {
  ImagePullBackOff: "its image cannot be pulled",
  ErrImagePull: "its image cannot be pulled",
  ErrImageNeverPull: "its image is not on the machine",
  InvalidImageName: "its image's name is not valid",
  CreateContainerConfigError: "its configuration cannot be mounted",
  CreateContainerError: "its container cannot be made",
  RunContainerError: "its container cannot be started",
  CrashLoopBackOff: "it ends again and again",
};

export function podHealth(pod: Pod): PodHealth {
  const status = pod.status ?? {};
  const ready = status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
  const ending = pod.metadata.deletionTimestamp !== undefined;
  return {
    ready: ready && !ending,
    running: status.phase === "Running" && !ending,
    trouble: ready || ending ? null : troubleOf(pod),
    crashes: !ready && !ending && (status.containerStatuses ?? []).some(isCrashing),
  };
}

/** While it waits to be started again its last end is not counted yet. */
function isCrashing({ state, restartCount = 0 }: ContainerStatus): boolean {
  return state?.waiting?.reason === "CrashLoopBackOff" && isCrashLoop(restartCount + 1);
}

function troubleOf(pod: Pod): string | null {
  const status = pod.status ?? {};
  if (status.phase === "Failed") return `it failed${detail(status.reason, status.message)}`;
  for (const container of status.containerStatuses ?? []) {
    const waiting = container.state?.waiting;
    const words = waiting?.reason === undefined ? undefined : WAITING[waiting.reason];
    if (words === undefined) continue;
    const last = container.lastState?.terminated;
    if (waiting?.reason === "CrashLoopBackOff" && last !== undefined) {
      const how =
        last.reason === "OOMKilled"
          ? `it needs more memory than its limit: ${settingOf(container)}`
          : `exit code ${last.exitCode ?? "?"}`;
      return `${words} (${how})`;
    }
    return `${words}${detail(waiting?.reason, waiting?.message)}`;
  }
  const unscheduled = status.conditions?.find(
    ({ type, status: is, reason }) => type === "PodScheduled" && is === "False" && reason === "Unschedulable",
  );
  if (unscheduled !== undefined) return `no machine takes it${detail(undefined, unscheduled.message)}`;
  return null;
}

function settingOf({ name }: ContainerStatus): string {
  return memorySetting("kubernetes", name === POSTGRES_CONTAINER ? "database" : "node");
}

function detail(reason: string | undefined, message: string | undefined): string {
  const text = [reason, message]
    .filter((part) => part !== undefined && part !== "")
    .join(": ")
    .replace(/\s+/g, " ")
    .slice(0, 300);
  return text === "" ? "" : ` (${text})`;
}
