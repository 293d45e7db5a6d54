/** Turn events as chat-completion objects. OpenAI's clients have nothing but text: a notice becomes part of it, and where a file is. */

import type { NumberedEvent } from "../app/api.ts";
import { approvalCode } from "../contracts/approvals.ts";
import { fromErrorBody, RuntimeError } from "../contracts/errors.ts";
import type { Usage } from "../contracts/message.ts";
import type { TurnResult, WaitingQuestion } from "../contracts/stream.ts";
import { openAiError } from "./errors.ts";
import { formatRaw } from "./event-stream.ts";

export interface CompletionHead {
  readonly turnId: string;
  readonly model: string;
  /** Unix time in seconds. */
  readonly created: number;
}

export interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

const GAP = "\n\n";

export function completion(head: CompletionHead, result: TurnResult) {
  return {
    id: idOf(head),
    object: "chat.completion" as const,
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: { role: "assistant" as const, content: wholeText(head, result), refusal: null },
        logprobs: null,
        finish_reason: "stop" as const,
      },
    ],
    usage: usageOf(result.usage),
  };
}

/** The stream of chunks, ending with `[DONE]`, or with an error object where the turn failed. */
export async function* completionChunks(
  head: CompletionHead,
  events: AsyncIterable<NumberedEvent>,
  includeUsage: boolean,
): AsyncGenerator<string> {
  const chunk = (delta: Readonly<Record<string, unknown>>, finishReason: "stop" | null = null) =>
    formatRaw(
      JSON.stringify({
        ...frame(head),
        choices: [choice(delta, finishReason)],
        ...(includeUsage ? { usage: null } : {}),
      }),
    );
  yield chunk({ role: "assistant", content: "", refusal: null });

  let said = "";
  let starts = 0;
  for await (const { event } of events) {
    switch (event.type) {
      case "turn.started":
        // A later attempt repeats everything; text that was sent cannot be revoked, only set apart.
        if (starts++ > 0 && said !== "") yield chunk({ content: GAP });
        said = "";
        break;
      case "text.delta":
        said += event.text;
        yield chunk({ content: event.text });
        break;
      case "reasoning.delta":
        yield chunk({ reasoning_content: event.text });
        break;
      case "turn.finished": {
        const rest = restOf(head, event, said);
        if (rest !== "") yield chunk({ content: rest });
        yield chunk({}, "stop");
        if (includeUsage) yield formatRaw(JSON.stringify({ ...frame(head), choices: [], usage: usageOf(event.usage) }));
        yield formatRaw("[DONE]");
        return;
      }
      case "turn.waiting":
        yield formatRaw(JSON.stringify(openAiError(waitsForAnswer(head, event.question))));
        return;
      case "turn.failed":
        yield formatRaw(JSON.stringify(openAiError(fromErrorBody({ ...event.error, turn_id: event.turn_id }))));
        return;
      default:
        break;
    }
  }
}

/** This protocol has no questions: the reply is the question, with where its answer goes. */
export function waitsForAnswer({ model, turnId }: CompletionHead, question: WaitingQuestion): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `The agent asks: ${question.text}`, {
    turnId,
    hint: question.approval
      ? `Decide at /api/approvals/${question.id}, or with the command /approve ${approvalCode(question.id)}.`
      : `Answer at /api/agents/${encodeURIComponent(model)}/turns/${turnId}/answer, or with the command /answer.`,
  });
}

/** What the client has not seen when the turn ends: text that was never streamed, and the notice. */
function restOf(head: CompletionHead, result: TurnResult, said: string): string {
  if (said === "") return wholeText(head, result);
  const unsaid = result.text.startsWith(said) ? result.text.slice(said.length) : "";
  return [unsaid, ...(result.notice === undefined ? [] : [result.notice]), ...filesOf(head, result)].join(GAP);
}

function wholeText(head: CompletionHead, result: TurnResult): string {
  const { text, notice = "" } = result;
  return [notice, text, ...filesOf(head, result)].filter((part) => part !== "").join(GAP);
}

function filesOf({ model, turnId }: CompletionHead, { attachments = [] }: TurnResult): string[] {
  const path = `/api/agents/${encodeURIComponent(model)}/turns/${turnId}/attachments`;
  return attachments.map(({ name, media_type: type, size, sha256, caption }) =>
    [...(caption === undefined ? [] : [caption]), `File ${name} (${type}, ${size} bytes): ${path}/${sha256}`].join(
      "\n",
    ),
  );
}

function frame(head: CompletionHead) {
  return { id: idOf(head), object: "chat.completion.chunk", created: head.created, model: head.model };
}

function choice(delta: Readonly<Record<string, unknown>>, finishReason: "stop" | null) {
  return { index: 0, delta, logprobs: null, finish_reason: finishReason };
}

function idOf({ turnId }: CompletionHead): string {
  return `chatcmpl-${turnId}`;
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens }: Usage): CompletionUsage {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
  };
}
