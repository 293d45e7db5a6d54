/** Outcome of a decision about a call: it passes, it is refused, or a person is asked. */

import { ToolError } from "../../../contracts/errors.ts";
import type { HookContexts } from "../../../contracts/hooks.ts";
import type { SafetyDecision } from "../../../domain/shell-danger.ts";

export type ToolCallContext = HookContexts["tool:before"];

/** Asks a person whether a call may run; false also when no answer came in time. */
export type Approve = (context: ToolCallContext, reason: string, signal?: AbortSignal) => Promise<boolean>;

/** Resolves when the call may run; TOOL_REFUSED when it may not. Without `approve` a question is a refusal. */
export async function enforce(
  decision: SafetyDecision,
  context: ToolCallContext,
  approve: Approve | undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (decision.action === "allow") return;
  if (decision.action === "refuse") {
    throw new ToolError("TOOL_REFUSED", `The call was refused: ${decision.reason}.`, {
      hint: "Do it in another way, or ask the user to do it.",
    });
  }
  if (await approve?.(context, decision.reason, signal)) return;
  throw new ToolError("TOOL_REFUSED", `The call was refused: ${decision.reason}, and it was not approved.`, {
    hint: "Write it in a plainer way, or ask the user to do it.",
  });
}
