/** Ways into a part of a stack: words of Docker's command line for it, names for messages, and why one was lost. */

import { InfraError } from "../../runtime/contracts/errors.ts";
import type { Ago, PartAction, PartCommand, StackPart } from "./driver.ts";

/** Arguments of `docker` that do it with a container. */
export function dockerWords(container: string, action: PartAction): string[] {
  if (action.kind === "exec") {
    return ["exec", ...(action.terminal ? ["-it"] : ["-i"]), container, ...action.argv];
  }
  const { lines, follow, since } = action;
  return [
    "logs",
    ...(lines === null ? [] : [`--tail=${lines}`]),
    ...(since === null ? [] : [`--since=${sinceWord(since)}`]),
    ...(follow ? ["--follow"] : []),
    container,
  ];
}

/** `2030-01-31T12:00:00.000Z`, or `600s` for a moment before now, which a program reckons by the clock of the machine that it runs on. */
export function sinceWord(since: Date | Ago): string {
  return "agoSeconds" in since ? `${since.agoSeconds}s` : since.toISOString();
}

const LOST: ReadonlySet<string> = new Set(["INFRA_HOST_UNREACHABLE", "INFRA_HOST_KEY_MISMATCH"]);

/** After a command has failed: rejects where that was because what it leads to is lost, with the code and the sentence for that. */
export async function refuseLost({ answers }: Pick<PartCommand, "answers">, signal: AbortSignal): Promise<void> {
  const error = await answers?.(signal).then(
    () => null,
    (reason: unknown) => reason,
  );
  signal.throwIfAborted();
  if (error instanceof InfraError && LOST.has(error.code)) throw error;
}

interface Parts {
  readonly nodes: readonly { readonly name: string }[];
  readonly postgres: unknown;
}

/** The part as it is called in messages. INFRA_PLAN_INVALID for one that the plan has not. */
export function requirePart(plan: Parts, part: StackPart): string {
  if (part.kind === "postgres") {
    if (plan.postgres !== null) return "PostgreSQL";
    throw new InfraError("INFRA_PLAN_INVALID", "The stack has no PostgreSQL of its own.", {
      hint: "deployment.datahub.postgres is off: the nodes use an embedded store, or the server of memory.postgres.",
    });
  }
  if (plan.nodes.some(({ name }) => name === part.name)) return `Node ${part.name}`;
  throw new InfraError("INFRA_PLAN_INVALID", `The deployment has no node ${part.name}.`, {
    hint: `It has ${plan.nodes.map(({ name }) => name).join(", ")}.`,
  });
}
