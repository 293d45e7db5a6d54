/** Whether an agent may hand a task to another one: at most three levels below the turn that a user began, and no cycles. Pure. */

/** Of turns below the one that a user began (design, section 8). */
export const MAX_DELEGATION_DEPTH = 3;

export type DelegationProblem = "no_target" | "too_deep" | "cycle";

export interface DelegationRequest {
  /** Agents of the turns above, the delegating one's own first. */
  readonly chain: readonly string[];
  readonly target: string;
  /** A session of the agent's own: never a cycle. */
  readonly spawned: boolean;
  readonly agents: ReadonlySet<string>;
}

/** Null when the task may be handed over. */
export function delegationProblem({ chain, target, spawned, agents }: DelegationRequest): DelegationProblem | null {
  if (!agents.has(target)) return "no_target";
  if (chain.length > MAX_DELEGATION_DEPTH) return "too_deep";
  return !spawned && chain.includes(target) ? "cycle" : null;
}

/** How the turn that a task was handed to ended, as it is kept with the question of the turn that waits for it. */
export type TaskOutcome =
  | { readonly ok: true; readonly text: string; readonly turnId: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly turnId: string };
