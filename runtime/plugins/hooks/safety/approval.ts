/** Outcome of a decision about a call: it passes, it is refused, or the owner is asked. */

import { ToolError } from "../../../contracts/errors.ts";
import type { HookContexts } from "../../../contracts/hooks.ts";
import type { SafetyDecision } from "../../../domain/shell-danger.ts";

/** Resolves when the call may run; TOOL_REFUSED when it may not. While the owner has not decided, it rejects as `ask` does. */
export async function enforce(decision: SafetyDecision, context: HookContexts["tool:before"]): Promise<void> {
  if (decision.action === "allow") return;
  const { action, reason } = decision;
  if (action === "refuse") {
    throw new ToolError("TOOL_REFUSED", `The call was refused: ${reason}.`, {
      hint: "Do it in another way, or ask the user to do it.",
    });
  }
  switch (await context.approve(context.call, reason)) {
    case "approved":
      return;
    case "denied":
      throw new ToolError("TOOL_REFUSED", `The call was refused: ${reason}, and the owner has denied it.`, {
        hint: "Do not try the same in another way: ask what to do instead.",
      });
    case "expired":
      throw new ToolError("TOOL_REFUSED", `The call was refused: ${reason}, and nobody approved it in time.`, {
        hint: "Write it in a plainer way, or say in the reply what is to be decided.",
      });
  }
}
