/** The steps of a rollout of many nodes as a journal records them, and what they say of each node. Pure. */

import type { StepRecord } from "./steps.ts";

/** What a journal records of one node, or of what all share. */
export type FleetStep = `${"apply" | "gate" | "back" | "gate-former"} ${string}`;
/** In place of a node's name: no node can be called so. */
export const SHARED = "(shared)";

/** `rollback`: nodes that had passed go back, too; `pause`: they keep what they have. */
export type OnFailure = "rollback" | "pause";

/**
 * `passed`: all nodes have the new program; `rolled_back`: all have the former one; `paused`: some have it, and the node that failed
 * is back, or was not reached; `operator`: a node neither passed nor came back.
 */
export type Outcome = "passed" | "rolled_back" | "paused" | "operator";

/** What a rollout that goes on has before it. */
export interface Found {
  /** Nodes that passed, in the order in which they were changed. */
  readonly passed: readonly string[];
  /** Nodes that were being changed, or were on their way back. */
  readonly unsettled: readonly string[];
  readonly goingBack: boolean;
  /** The first that failed. */
  readonly failed: string | null;
}

export function foundIn(steps: readonly StepRecord[]): Found {
  const failed = failedNode(steps);
  // Where a rollout was going back when it ended, all of it goes back.
  const goingBack = failed !== null || steps.some(({ name }) => name.startsWith("back "));
  return { passed: finishedNodes(steps), unsettled: unsettledNodes(steps), goingBack, failed };
}

/** Nodes that passed, in the order in which they were changed. */
function finishedNodes(steps: readonly StepRecord[]): string[] {
  return nodesOf(steps).filter((node) => endedWith(steps, node, "gate"));
}

/** Nodes that were being changed and are not known to work, with the new program or with the former. */
export function unsettledNodes(steps: readonly StepRecord[]): string[] {
  return nodesOf(steps).filter((node) => !endedWith(steps, node, "gate") && !endedWith(steps, node, "gate-former"));
}

function failedNode(steps: readonly StepRecord[]): string | null {
  const failed = steps.find(({ name, state }) => state === "failed" && /^(apply|gate) /.test(name))?.name;
  return failed === undefined ? null : failed.slice(failed.indexOf(" ") + 1);
}

function endedWith(steps: readonly StepRecord[], node: string, verb: "gate" | "gate-former"): boolean {
  const last = steps.findLast(({ name }) => name.slice(name.indexOf(" ") + 1) === node);
  return last?.state === "done" && last.name === `${verb} ${node}`;
}

function nodesOf(steps: readonly StepRecord[]): string[] {
  const named = steps.flatMap(({ name }) => (name.startsWith("apply ") ? [name.slice("apply ".length)] : []));
  return [...new Set(named)].filter((name) => name !== SHARED);
}
