/**
 * A turn that is claimed again goes on from the steps that earlier attempts have stored. What has a result is used again, a call that
 * asked or was never begun is still to run, and a call that was begun and has no result (the service died while the tool ran) is not
 * run again: its result says to the model that the outcome is unknown. Pure.
 */

import { type Message, NO_USAGE, type ToolCall, type Usage } from "../../contracts/message.ts";
import type { ToolResult } from "../../contracts/tool.ts";
import { continuationMessages } from "../../domain/continuation.ts";
import { taskReply } from "../../domain/task-reply.ts";
import type { StoredAnswer, StoredReply, StoredStep } from "./turn-rows.ts";

/** A call that is to run, at its step. */
export interface PlannedCall {
  readonly call: ToolCall;
  readonly n: number;
  /** To the questions that it asked, and the tasks that it handed on, in earlier attempts. */
  readonly answers: readonly StoredAnswer[];
}

/** A reply that asked for tools, some of which are to run. */
export interface PendingCalls {
  readonly calls: readonly PlannedCall[];
  readonly step: number;
  /** All that it asked for: the model reads their results in this order, whichever ended first. */
  readonly asked: readonly ToolCall[];
  /** Of those that have ended, by the ids of their calls. */
  readonly results: ReadonlyMap<string, ToolResult>;
}

export const UNKNOWN_OUTCOME: ToolResult = {
  content:
    "TOOL_OUTCOME_UNKNOWN: the service was interrupted while this call ran. It may or may not have taken effect; it was not run again. Check before you repeat it.",
  isError: true,
};

/** What earlier attempts have left. */
export interface ResumedTurn {
  /** Replies, results and steers, in the order in which the model saw them; without results of the pending calls' reply. */
  readonly messages: readonly Message[];
  /** Texts of the replies, without empty ones. */
  readonly texts: readonly string[];
  readonly usage: Usage;
  /** Models whose replies broke off. */
  readonly interrupted: readonly string[];
  readonly nextStep: number;
  /** Replies that asked for tools. */
  readonly iterations: number;
  readonly callIds: readonly string[];
  /** Calls of the last reply that are to run; null where there are none. */
  readonly pending: PendingCalls | null;
  /** Calls whose outcome is unknown, which is not recorded yet. */
  readonly unknown: readonly UnknownCall[];
}

export interface UnknownCall {
  readonly n: number;
  readonly replyStep: number;
  readonly call: ToolCall;
  readonly result: ToolResult;
}

/**
 * `owner`: whether the turn is the owner's, whose steers have the role of the system. `mark`: random, made for this attempt; for the
 * replies of other agents.
 */
export function resumeTurn(steps: readonly StoredStep[], owner: boolean, mark: string): ResumedTurn {
  const outcomes = new Map(steps.flatMap((step) => (step.kind === "tool" ? [[step.call.id, step] as const] : [])));
  const messages: Message[] = [];
  const unknown: UnknownCall[] = [];
  const replies = steps.filter((step) => step.kind === "reply");
  let nextStep = Math.max(0, ...steps.map((step) => step.n)) + 1;
  let pending: PendingCalls | null = null;
  for (const step of steps) {
    if (step.kind === "steer") messages.push(steerMessage(step.text, owner));
    if (step.kind !== "reply") continue;
    messages.push(...replyMessages(step.reply));
    const calls: PlannedCall[] = [];
    const results = new Map<string, ToolResult>();
    for (const call of step.reply.toolCalls) {
      const outcome = outcomes.get(call.id);
      if (!outcome) calls.push({ call, n: nextStep++, answers: [] });
      else if (outcome.state === "asked") calls.push({ call, n: outcome.n, answers: outcome.answers });
      else if (outcome.result) results.set(call.id, outcome.result);
      else {
        const result = unknownOutcome(outcome.answers, mark);
        unknown.push({ n: outcome.n, replyStep: step.n, call, result });
        results.set(call.id, result);
      }
    }
    const { toolCalls: asked } = step.reply;
    if (calls.length > 0) pending = { calls, step: step.n, asked, results };
    else messages.push(...resultMessages(asked, results));
  }
  return {
    messages,
    texts: replies.flatMap(({ reply }) => (reply.text === "" ? [] : [reply.text])),
    usage: replies.reduce((usage, { reply }) => addUsage(usage, reply.usage), NO_USAGE),
    interrupted: replies.flatMap(({ reply }) => (reply.interrupted ? [reply.model] : [])),
    nextStep,
    iterations: replies.filter(({ reply }) => reply.toolCalls.length > 0).length,
    callIds: replies.flatMap(({ reply }) => reply.toolCalls.map(({ id }) => id)),
    pending,
    unknown,
  };
}

/** What the user or another agent has answered is known all the same; of several replies the bound is that of one. */
function unknownOutcome(answers: readonly StoredAnswer[], mark: string): ToolResult {
  const given = answers.flatMap((answer) => (answer.kind === "answered" ? [JSON.stringify(answer.text)] : []));
  const replies = answers.flatMap((answer) =>
    answer.kind === "delegated" && answer.outcome.ok ? [answer.seen ?? answer.outcome.text] : [],
  );
  const details = [
    ...(given.length > 0 ? [` The user had answered: ${given.join(", ")}.`] : []),
    ...(replies.length > 0 ? [` The other agent had replied.\n${taskReply(replies.join("\n\n"), mark)}`] : []),
  ];
  return { ...UNKNOWN_OUTCOME, content: `${UNKNOWN_OUTCOME.content}${details.join("")}` };
}

export function replyMessages(reply: StoredReply): readonly Message[] {
  if (reply.interrupted) return continuationMessages(reply.text);
  return [
    {
      role: "assistant",
      content: reply.text,
      ...(reply.toolCalls.length > 0 ? { toolCalls: reply.toolCalls } : {}),
      ...(reply.state ? { providerState: reply.state } : {}),
    },
  ];
}

/** In the order of the calls. */
export function resultMessages(
  calls: readonly ToolCall[],
  results: ReadonlyMap<string, ToolResult>,
): readonly Message[] {
  return calls.map(({ id }) => {
    const { content, isError } = results.get(id) ?? UNKNOWN_OUTCOME;
    return { role: "tool", toolCallId: id, content, ...(isError ? { isError: true } : {}) };
  });
}

/** No word of another user has the role of the system. */
export function steerMessage(text: string, owner: boolean): Message {
  const content = `The user adds, while you work: ${text}`;
  return owner ? { role: "system", content } : { role: "user", content, aside: true };
}

export function addUsage(a: Usage, b: Usage): Usage {
  const cacheWriteInputTokens = (a.cacheWriteInputTokens ?? 0) + (b.cacheWriteInputTokens ?? 0);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: (a.cachedInputTokens ?? 0) + (b.cachedInputTokens ?? 0),
    ...(cacheWriteInputTokens > 0 ? { cacheWriteInputTokens } : {}),
  };
}
