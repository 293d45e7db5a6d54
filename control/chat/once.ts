/** One message, one reply: what scripts and pipes use. */

import { approvalCode } from "../../runtime/contracts/approvals.ts";
import { fromErrorBody, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { StreamEvent, TurnResult } from "../../runtime/contracts/stream.ts";
import { type ChatNode, type Conversation, streamTurn } from "./turn-stream.ts";

/** Rejects with the error of a turn that failed, and with the question of one that waits for an answer. `onEvent` sees the turn as it runs. */
export async function sendOnce(
  node: ChatNode,
  conversation: Conversation,
  message: { readonly text: string; readonly key: string },
  signal: AbortSignal,
  onEvent: (event: StreamEvent) => void,
): Promise<TurnResult> {
  for await (const event of streamTurn(node, conversation, message, signal)) {
    if (event.type === "turn.failed") throw fromErrorBody({ ...event.error, turn_id: event.turn_id });
    onEvent(event);
    if (event.type === "turn.waiting") {
      throw new RuntimeError("RUNTIME_CONFLICT", `The agent asks: ${event.question.text}`, {
        turnId: event.turn_id,
        hint: event.question.approval
          ? `\`cairn approvals approve ${approvalCode(event.question.id)}\`, or \`cairn approvals deny\` with the same id; the turn then goes on.`
          : "Answer with the message `/answer TEXT` in the same session; the turn then goes on.",
      });
    }
    if (event.type === "turn.finished") {
      const { type: _type, ...result } = event;
      return result;
    }
  }
  throw new RuntimeError("RUNTIME_INTERNAL", "The turn ended without a result.");
}
