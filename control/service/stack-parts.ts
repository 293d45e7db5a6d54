/** Which part of the deployed stack a command means, and the program that opens a way into it. */

import { InfraError } from "../../runtime/contracts/errors.ts";
import type { PartAction, PartCommand, StackPart } from "../deploy/driver.ts";
import { requirePart } from "../deploy/part-commands.ts";
import { UsageError } from "../output/failure.ts";
import { refuseUndeployed } from "./deployed-node.ts";
import { type DeployedStack, openStack, requireNode } from "./deployed-stack.ts";
import type { Deployment } from "./deployment.ts";
import { requireOwnNode } from "./fleet-member.ts";

export interface PartChoice {
  readonly node?: string | undefined;
  readonly postgres: boolean;
}

export interface ChosenPart {
  readonly part: StackPart;
  /** As messages call it: `Node nova-1`, `PostgreSQL`. */
  readonly name: string;
  /** Nodes that were not named, where one was chosen from several. */
  readonly others: readonly string[];
  open(action: PartAction, signal: AbortSignal): Promise<PartCommand>;
}

/**
 * Null for the node of this machine: where nothing is deployed from this directory, and nothing else is asked for. The first node where none is named:
 * unlike a question to the memory, a log and a command are about one node. UsageError for a part that there is not.
 */
export async function choosePart(
  deployment: Deployment,
  choice: PartChoice,
  signal: AbortSignal,
): Promise<ChosenPart | null> {
  const stack = await openStack(deployment, signal);
  if (stack === null) {
    if (choice.node === undefined && !choice.postgres) return null;
    await refuseUndeployed(deployment);
    if (choice.node !== undefined) {
      await requireOwnNode(deployment, choice.node);
      return null;
    }
    throw new UsageError(
      "--postgres names a part of a deployed stack, and nothing is deployed from this directory.",
      "Leave it out: there is one node here.",
    );
  }
  const part = partOf(stack, choice);
  const others =
    part.kind === "node" && choice.node === undefined
      ? stack.members.flatMap(({ name }) => (name === part.name ? [] : [name]))
      : [];
  return {
    part,
    name: part.kind === "node" ? `Node ${part.name}` : requirePart(stack.plan, part),
    others,
    open: (action, during) => stack.driver.enter(part, action, during),
  };
}

function partOf(stack: DeployedStack, { node, postgres }: PartChoice): StackPart {
  if (postgres) return { kind: "postgres" };
  return { kind: "node", name: node === undefined ? (stack.nodes[0] ?? "") : requireNode(stack, node) };
}

/** Of the program that leads there. */
export function toolMissing(program: string): InfraError {
  return new InfraError("INFRA_TOOL_MISSING", `The command \`${program}\` is not installed on this machine.`, {
    hint: "Install it: `cairn infra preview` says what the target needs.",
  });
}
