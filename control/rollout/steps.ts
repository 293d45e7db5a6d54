/** The steps of one node's change as a journal records them, and how an interrupted one is resumed. Pure. */

/** What gives a node its new program, in order. A node that is not to be restarted gets only the first. */
export const FORWARD = ["switch", "restart", "gate"] as const;
/** The way back, step by step. */
export const BACK = ["back", "restart-former", "gate-former"] as const;

export type StepState = "begun" | "done" | "failed";

export interface StepRecord<Name extends string = string> {
  readonly name: Name;
  readonly state: StepState;
  /** ISO 8601. */
  readonly at: string;
}

/** How a step ended that was begun last; null: it never began. */
export function stateOf<Name extends string>(steps: readonly StepRecord<Name>[], name: Name): StepState | null {
  return steps.findLast((step) => step.name === name)?.state ?? null;
}

/** The program that the node's next start runs. `none`: its change was cut off halfway. `other`: neither of the two. */
export type Serving = "former" | "new" | "none" | "other";

/**
 * `anew`: nothing that runs was touched. `forward`: the new program serves, so restart, gate and what follows are done again.
 * `back`: the gate had failed, or going back had begun. `unknown`: another program was put there meanwhile.
 */
export type Direction = "anew" | "forward" | "back" | "unknown";

export function directionOf(steps: readonly StepRecord[], serving: Serving): Direction {
  if (serving === "other") return "unknown";
  if (stateOf(steps, "back") !== null || stateOf(steps, "gate") === "failed") return "back";
  if (serving !== "new") return "anew";
  return stateOf(steps, "restart") === "failed" ? "back" : "forward";
}
