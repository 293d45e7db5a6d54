/** What a rollout does in which order, and where one that was interrupted goes on. Pure. */

import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { type StepRecord, stateOf } from "../../../rollout/steps.ts";
import type { Change, Diff } from "../../schemas.ts";
import { nodeOf, stoppedNodes } from "../guards.ts";

/** What a journal records of one node, or of what all share. */
export type RollStep = `${"apply" | "gate" | "back" | "gate-former"} ${string}`;
/** In place of a node's name: no node can be called so. */
export const SHARED = "(shared)";

export interface RollPlan {
  /** What all nodes share, which is changed first. */
  readonly shared: readonly Change[];
  /** Nodes that are changed one after the other. */
  readonly nodes: readonly string[];
}

export interface RollInput {
  readonly whole: Diff;
  readonly plan: DeploymentPlan;
  /** Nodes that run now. */
  readonly running: ReadonlySet<string>;
  /** Nodes that have another image applied than they run. */
  readonly outdated: readonly string[];
  /** Of a rollout that was interrupted. */
  readonly steps: readonly StepRecord[];
}

/**
 * Nodes that do not run come first, since changing them does no harm; then those that host the fewest agents, so that a
 * change that does not work is found where it costs least.
 */
export function planRoll({ whole, plan, running, outdated, steps }: RollInput): RollPlan {
  const untested = interruptedNodes(steps);
  const changed = new Set([...stoppedNodes(whole, plan), ...updatedGroups(whole, plan), ...outdated, ...untested]);
  const nodes = plan.nodes
    .filter(({ name }) => changed.has(name))
    .map(({ name, agents }) => ({ name, rank: running.has(name) ? agents.length + 1 : 0 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ name }) => name);
  return { shared: whole.changes.filter((change) => nodeOf(change, plan) === null), nodes };
}

/** On Kubernetes a changed workload reaches its pods afterwards, and images only with a run for the node. */
function updatedGroups({ changes }: Diff, plan: DeploymentPlan): string[] {
  return changes.flatMap((change) => {
    const owner = change.type.endsWith(":StatefulSet") && change.op === "update" ? nodeOf(change, plan) : null;
    return owner === null ? [] : [owner];
  });
}

/** Nodes that were being changed and are not known to work. */
function interruptedNodes(steps: readonly StepRecord[]): string[] {
  return nodesOf(steps).filter((node) => stateOf(steps, `gate ${node}`) !== "done" && !isBack(steps, node));
}

/** Nodes that passed, in the order in which they were changed. */
export function finishedNodes(steps: readonly StepRecord[]): string[] {
  return nodesOf(steps).filter((node) => stateOf(steps, `gate ${node}`) === "done" && !isBack(steps, node));
}

/** The node whose way back was begun, or whose gate had failed; null: the rollout goes forward. */
export function nodeGoingBack(steps: readonly StepRecord[]): string | null {
  const failed = (node: string): boolean =>
    stateOf(steps, `back ${node}`) !== null ||
    stateOf(steps, `gate ${node}`) === "failed" ||
    stateOf(steps, `apply ${node}`) === "failed";
  return nodesOf(steps).find((node) => failed(node) && !isBack(steps, node)) ?? null;
}

/** Whether a rollout was going back when it ended: then all of it goes back. */
export function wasGoingBack(steps: readonly StepRecord[]): boolean {
  return nodeGoingBack(steps) !== null || steps.some(({ name }) => name.startsWith("back "));
}

function isBack(steps: readonly StepRecord[], node: string): boolean {
  return stateOf(steps, `gate-former ${node}`) === "done";
}

function nodesOf(steps: readonly StepRecord[]): string[] {
  const named = steps.flatMap(({ name }) => (name.startsWith("apply ") ? [name.slice("apply ".length)] : []));
  return [...new Set(named)].filter((name) => name !== SHARED);
}
