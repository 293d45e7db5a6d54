/** How a turn ends, and the final event of its stream, which is also made from its row later. */

import type { CairnError } from "../../contracts/errors.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { SentAttachment, StreamEvent, TurnResult } from "../../contracts/stream.ts";
import type { LoopEnd, LoopProgress } from "./agent-loop.ts";
import { addUsage } from "./turn-resume.ts";
import type { ClaimedTurn, OpenQuestion, StoredStep, TurnEnd } from "./turn-rows.ts";

export type FinalEvent = StreamEvent & { type: "turn.finished" | "turn.failed" };

/** Said once in a conversation. */
const LEFT_OUT =
  "This conversation has become longer than the model can read at once, and its beginning could not be summarized: the agent " +
  "does not see the oldest messages any more. They are still stored, and the agent can search them.";

/** What the user is to read beside the reply. */
export interface ReplyNotes {
  readonly resumed: boolean;
  readonly maxToolIterations: number;
  /** The model that the session was given, and that is not there any more. */
  readonly modelGone: string | null;
  /** The agent does not see the oldest messages any more, and was not told of it before. */
  readonly leftOut: boolean;
  /** Of the agent's budget. */
  readonly budget: string | null;
}

/** A reply: whole, cut by one of the limits, or brought to its end by a second attempt. */
export function replied(
  end: LoopEnd,
  reply: string,
  { resumed, maxToolIterations, modelGone, leftOut, budget }: ReplyNotes,
): TurnEnd {
  const notices = [
    ...(modelGone === null
      ? []
      : [`The model ${modelGone} is not configured any more; the agent's own one answers again.`]),
    ...(leftOut ? [LEFT_OUT] : []),
    ...(resumed ? ["This turn was interrupted and has been resumed."] : []),
    ...(end.interrupted.length === 0
      ? []
      : [
          `The reply of ${[...new Set(end.interrupted)].join(" and ")} was interrupted and continued by another model.`,
        ]),
    ...(end.capped ? [`Stopped after ${maxToolIterations} tool iterations.`] : []),
    ...(end.stopReason === "length" ? ["The reply was cut at the model's output limit."] : []),
    ...(budget === null ? [] : [budget]),
    ...(end.stopReason === "refusal" ? ["The model declined to answer."] : []),
  ];
  return {
    state: "done",
    reply,
    usage: end.usage,
    interrupted: resumed || end.capped || end.interrupted.length > 0,
    notice: notices.join(" ") || null,
    error: null,
  };
}

/** A turn that ended before its reply: it keeps the text so far, with the reason as notice or error. */
export function failedEnd(turnId: string, reason: CairnError, progress: LoopProgress): TurnEnd {
  const stopped = reason.code === "RUNTIME_TURN_ABORTED";
  return {
    state: stopped ? "aborted" : "failed",
    reply: progress.text,
    usage: progress.usage,
    interrupted: true,
    notice: stopped ? reason.message : null,
    // The same message under the same key gets this end again, so that no retry of it can help.
    error: stopped ? null : { ...publicError(reason).toBody(), turn_id: turnId, retryable: false },
  };
}

/** Whether a stack is of use: what a model's server refuses, or took too long for, says all of it in one sentence. */
export function isOwnFault({ code }: CairnError): boolean {
  return !code.startsWith("PROVIDER_") && !NO_FAULTS.has(code);
}

const NO_FAULTS: ReadonlySet<string> = new Set([
  "RUNTIME_TURN_TIMEOUT",
  "RUNTIME_TURN_INTERRUPTED",
  "RUNTIME_BUDGET_EXCEEDED",
  "DELEGATION_BUDGET_EXCEEDED",
]);

/** Messages of the database name its tables, so they are for the log alone. */
function publicError(reason: CairnError): CairnError {
  if (reason.code !== "MEMORY_QUERY_FAILED") return reason;
  return new RuntimeError("RUNTIME_INTERNAL", "An internal error occurred; the log has the details.");
}

/** The reason of a turn that /stop, /new or /interrupt ended. */
export function stopped(): RuntimeError {
  return new RuntimeError("RUNTIME_TURN_ABORTED", "Stopped.");
}

/** Crashes after which a turn is still resumed. */
const MAX_CRASHES = 5;
/** The same where a call may or may not have taken effect: such a call may be what ends the process. */
const MAX_CRASHES_WITH_UNKNOWN_OUTCOME = 1;

/** Why an attempt that follows so many crashes must not go on; null when it may. */
export function tooManyCrashes(steps: readonly StoredStep[], crashes: number): RuntimeError | null {
  const unknown = steps.some((step) => step.kind === "tool" && (step.state === "unknown" || step.state === "intended"));
  if (crashes <= (unknown ? MAX_CRASHES_WITH_UNKNOWN_OUTCOME : MAX_CRASHES)) return null;
  return new RuntimeError("RUNTIME_TURN_INTERRUPTED", `The turn was interrupted ${crashes} times and was given up.`, {
    hint: "Send the message again.",
  });
}

/** What earlier attempts have said and used, for a turn that ends before its loop begins. */
export function recoverProgress(steps: readonly StoredStep[], progress: LoopProgress): void {
  const replies = steps.flatMap((step) => (step.kind === "reply" && step.reply.text !== "" ? [step.reply.text] : []));
  progress.text = replies.join("\n\n");
  progress.usage = steps.reduce(
    (usage, step) => (step.kind === "reply" ? addUsage(usage, step.reply.usage) : usage),
    progress.usage,
  );
  progress.nextStep = Math.max(0, ...steps.map((step) => step.n)) + 1;
}

export function waitingEvent(
  turn: Pick<ClaimedTurn, "turnId" | "conversation">,
  question: OpenQuestion,
): StreamEvent & { type: "turn.waiting" } {
  return { type: "turn.waiting", turn_id: turn.turnId, session: turn.conversation, question };
}

/** `files`: those that the turn has sent. */
export function finalEvent(
  turn: Pick<ClaimedTurn, "turnId" | "conversation">,
  end: TurnEnd,
  files: readonly SentAttachment[],
): FinalEvent {
  const { turnId, conversation } = turn;
  if (end.error) return { type: "turn.failed", turn_id: turnId, session: conversation, error: end.error };
  const result: TurnResult = {
    turn_id: turnId,
    session: conversation,
    text: end.reply,
    usage: end.usage,
    interrupted: end.interrupted,
    ...(end.notice === null ? {} : { notice: end.notice }),
    ...(files.length === 0 ? {} : { attachments: files }),
  };
  return { type: "turn.finished", ...result };
}

/** For the followers in this process; the turn itself is queued again for the next one. */
export function shutdownEvent(turn: Pick<ClaimedTurn, "turnId" | "conversation">): FinalEvent {
  const error = new RuntimeError(
    "RUNTIME_TURN_INTERRUPTED",
    "The service is shutting down; the turn goes on after its restart.",
    { turnId: turn.turnId, retryAfterS: 5 },
  );
  return { type: "turn.failed", turn_id: turn.turnId, session: turn.conversation, error: error.toBody() };
}
