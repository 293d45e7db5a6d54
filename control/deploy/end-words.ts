/** Why a container has ended, as a part of a sentence about it: of every target that tells the exit code. Pure. */

import { quantityText } from "../../infra/components/kubernetes/quantity.ts";
import type { DeploymentPlan } from "../../infra/plan/types.ts";

export interface ContainerEnd {
  /** Null: not known. */
  readonly exitCode: number | null;
  /** Whether the kernel ended it, or a program in it, because it reached its memory limit. */
  readonly outOfMemory: boolean;
}

export interface MemoryLimit {
  /** Null: none, or not known. */
  readonly bytes: number | null;
  /** Where cairn.yaml says it. */
  readonly setting: string;
}

/** SIGKILL: what the kernel ends for memory has it, and what was killed by hand. */
const KILLED = 137;

/** `isRestarted`: whether the target starts it again each time. */
export function endWords({ exitCode, outOfMemory }: ContainerEnd, isRestarted: boolean, limit: MemoryLimit): string {
  const ends = isRestarted ? "it ends again and again" : "it ended";
  const most = limit.bytes === null ? "there is" : `its limit of ${quantityText(limit.bytes)}`;
  if (outOfMemory) return `${ends}: it needs more memory than ${most} (${limit.setting})`;
  if (exitCode === KILLED)
    return `${ends} (exit code ${KILLED}: killed, as what needs more memory than ${most} is, ${limit.setting})`;
  return isRestarted
    ? `${ends} (exit code ${exitCode ?? "unknown"})`
    : `${ends} with exit code ${exitCode ?? "unknown"}`;
}

/** Keys of cairn.yaml, for a sentence. */
export function memorySetting(target: DeploymentPlan["target"], what: "node" | "database"): string {
  const common = {
    docker: what === "node" ? ["deployment.docker.memory"] : [],
    proxmox: [],
    kubernetes: ["deployment.kubernetes.limits.memory"],
  }[target];
  const own = what === "node" ? "deployment.nodes[].memory" : "deployment.datahub.memory";
  return [own, ...common].join(" or ");
}
