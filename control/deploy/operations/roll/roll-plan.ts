/** What a rollout does in which order, and where one that was interrupted goes on. Pure. */

import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { unsettledNodes } from "../../../rollout/fleet-steps.ts";
import type { StepRecord } from "../../../rollout/steps.ts";
import type { Change, Diff } from "../../schemas.ts";
import { nodeOf, stoppedNodes } from "../guards.ts";

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
  const untested = unsettledNodes(steps);
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
