/** Labels of what a stack makes on a Docker host: ours, to find it again, and those of Compose, so that its tools show it. */

import type { CommonPlan } from "../../plan/types.ts";

export const STACK_LABEL = "cairn.stack";
export const NODE_LABEL = "cairn.node";
const ROLE_LABEL = "cairn.role";

export type Role = "node" | "postgres" | "shared" | "network";

export interface Label {
  readonly label: string;
  readonly value: string;
}

/** `node`: name of the node that the thing belongs to, if it belongs to one. Nothing here changes with a version. */
export function ownLabels(plan: Pick<CommonPlan, "stack">, role: Role, node?: string): Label[] {
  return toLabels({
    [STACK_LABEL]: plan.stack,
    [ROLE_LABEL]: role,
    ...(node === undefined ? {} : { [NODE_LABEL]: node }),
  });
}

/** For containers that serve. */
export function serviceLabels(plan: Pick<CommonPlan, "stack">, service: string): Label[] {
  return toLabels({
    "com.docker.compose.project": plan.stack,
    "com.docker.compose.service": service,
    "com.docker.compose.container-number": "1",
    "com.docker.compose.oneoff": "False",
  });
}

function toLabels(record: Readonly<Record<string, string>>): Label[] {
  return Object.keys(record)
    .sort()
    .map((label) => ({ label, value: record[label] ?? "" }));
}
