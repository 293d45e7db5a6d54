import type { ErrorBody } from "./errors.ts";
import type { Usage } from "./message.ts";

/**
 * Events of a turn while it runs. The server-sent events of the agent channel are these objects, unchanged:
 * `event:` is `type`, `data:` the whole object. `turn.finished` or `turn.failed` is always the last one.
 */

/** A file that a turn has sent. */
export interface SentAttachment {
  /** Of its bytes, 64 hexadecimal digits: a route gives them out under it. */
  readonly sha256: string;
  readonly name: string;
  readonly media_type: string;
  /** Bytes. */
  readonly size: number;
  /** Text that goes with it. */
  readonly caption?: string;
}

export interface TurnResult {
  readonly turn_id: string;
  /** Channel-side conversation, as the client named it. */
  readonly session: string;
  readonly text: string;
  readonly usage: Usage;
  /** The turn was cut short or had to be resumed: by /stop, by a crash, by a shutdown. */
  readonly interrupted: boolean;
  /** Why, in words for the user; present whenever `interrupted` is true. */
  readonly notice?: string;
  /** Files that the turn has sent, in their order; absent where it has sent none. */
  readonly attachments?: readonly SentAttachment[];
}

export interface WaitingQuestion {
  readonly id: string;
  readonly text: string;
  /** What may be offered to choose from; empty where any text will do. */
  readonly choices: readonly string[];
  /** ISO 8601. */
  readonly expires_at: string;
  /** Of a question that the owner decides (`/approve`, `/deny`): whatever is answered to it is no decision. */
  readonly approval?: ApprovalRequest;
}

/** A call of a tool that waits for the owner's word. */
export interface ApprovalRequest {
  readonly tool: string;
  /** The whole of its arguments: unseen characters are shown by their numbers, secrets are left out. */
  readonly call: string;
  /** What was matched, and why it is asked about. */
  readonly reason: string;
  /** SHA-256, hex: the decision holds for exactly this call. */
  readonly digest: string;
}

export type StreamEvent =
  | {
      readonly type: "turn.started";
      readonly turn_id: string;
      readonly session: string;
      readonly agent: string;
      readonly attempt: number;
    }
  | { readonly type: "text.delta"; readonly turn_id: string; readonly text: string }
  | { readonly type: "reasoning.delta"; readonly turn_id: string; readonly text: string }
  | {
      readonly type: "tool.started";
      readonly turn_id: string;
      readonly tool_call_id: string;
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  | {
      readonly type: "tool.finished";
      readonly turn_id: string;
      readonly tool_call_id: string;
      readonly name: string;
      readonly ok: boolean;
      readonly result: string;
    }
  /** How far a call is, in the tool's words. */
  | {
      readonly type: "tool.progress";
      readonly turn_id: string;
      readonly tool_call_id: string;
      readonly text: string;
    }
  /** Shown to the user on the way, besides the reply. */
  | { readonly type: "turn.message"; readonly turn_id: string; readonly text: string }
  /** A file for the user, on the way as a message is. */
  | { readonly type: "turn.attachment"; readonly turn_id: string; readonly attachment: SentAttachment }
  /** Nothing happens until there is an answer or the question's time is over; then the turn starts again (`turn.started`). */
  | {
      readonly type: "turn.waiting";
      readonly turn_id: string;
      readonly session: string;
      readonly question: WaitingQuestion;
    }
  | ({ readonly type: "turn.finished" } & TurnResult)
  | { readonly type: "turn.failed"; readonly turn_id: string; readonly session: string; readonly error: ErrorBody };

export interface NumberedEvent {
  /** 1 for the first event of an attempt, then counting up: the `id:` of the server-sent event. */
  readonly id: number;
  readonly event: StreamEvent;
}

/** Whether it ends the following here, while the turn itself goes on on another node, or after a restart. */
export function isInterruption(event: StreamEvent): boolean {
  return event.type === "turn.failed" && event.error.code === "RUNTIME_TURN_INTERRUPTED" && event.error.retryable;
}

export function isFinal(event: StreamEvent): boolean {
  return event.type === "turn.finished" || event.type === "turn.failed";
}
