import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import { NO_USAGE, type ProviderState, type Usage } from "../../../contracts/message.ts";
import type { ChatChunk, StopReason } from "../../../contracts/provider.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { AnswerSize } from "../../../domain/answer-size.ts";
import { endedEarly } from "../shared/broken-stream.ts";
import { answerSize, isEndless } from "../shared/stream-fault.ts";
import { parseArguments } from "../shared/tool-arguments.ts";
import type { Watch } from "../shared/watch.ts";
import { REASONING_FIELDS, type ReasoningField, type ReplyState } from "./state.ts";

/** Chunks of a chat-completions stream as our chunks. Complete once a choice has its finish reason. */

export interface StreamContext {
  readonly provider: string;
  /** The requested model. */
  readonly model: string;
  readonly watch: Watch;
}

/** A tool call that is still being written. */
interface OpenCall {
  readonly index: number | undefined;
  id: string;
  name: string;
  text: string;
  /** What the server adds to a call beyond the API. */
  extra: unknown;
}

type Delta = ChatCompletionChunk.Choice.Delta;

export async function* readStream(
  stream: AsyncIterable<ChatCompletionChunk>,
  context: StreamContext,
): AsyncGenerator<ChatChunk, void, undefined> {
  const calls: OpenCall[] = [];
  const thought: { field: ReasoningField; text: string } = { field: "reasoning_content", text: "" };
  let finish: string | undefined;
  let usage: Usage = NO_USAGE;
  let model = context.model;
  let events = 0;
  const size = answerSize();

  try {
    for await (const chunk of stream) {
      events += 1;
      if (chunk.model) model = chunk.model;
      if (chunk.usage) {
        usage = toUsage(chunk.usage);
        yield { type: "usage", usage, model };
      }
      const choice = chunk.choices?.[0];
      if (choice === undefined) continue;
      // Servers leave the delta out of a last chunk, whatever the type says.
      const delta: Delta = choice.delta ?? {};
      const reasoning = reasoningOf(delta);
      if (reasoning !== undefined) {
        size.add(reasoning.text);
        thought.field = reasoning.field;
        thought.text += reasoning.text;
        yield { type: "reasoning", text: reasoning.text };
      }
      const text = delta.content || delta.refusal;
      if (text) {
        size.add(text);
        yield { type: "text", text };
      }
      for (const part of delta.tool_calls ?? []) addFragment(calls, part, size);
      if (choice.finish_reason) finish = choice.finish_reason;
    }
  } catch (error) {
    // After the finish reason only the usage is missing: the reply itself is whole.
    if (finish === undefined || context.watch.signal.aborted || isEndless(error)) throw error;
  }
  if (finish === undefined) throw endedEarly(context.watch, events);

  for (const [index, call] of calls.entries()) {
    yield {
      type: "tool_call",
      call: { id: call.id || `call_${index}`, name: call.name, arguments: parseArguments(call.text) },
    };
  }
  const state = stateOf(thought, calls, context);
  const stopReason = toStopReason(finish, calls.length > 0);
  yield { type: "end", stopReason, usage, model, ...(state === undefined ? {} : { state }) };
}

/** Local servers and gateways name it either way; the SDK's types have neither. */
function reasoningOf(delta: Delta): { readonly field: ReasoningField; readonly text: string } | undefined {
  const fields: object = delta;
  if (!isRecord(fields)) return undefined;
  for (const field of REASONING_FIELDS) {
    const text = fields[field];
    if (typeof text === "string" && text !== "") return { field, text };
  }
  return undefined;
}

/**
 * Fragments belong to the call with their index. Some servers give every call the index 0, or none: a fragment with
 * another id begins another call.
 */
function addFragment(calls: OpenCall[], part: ChatCompletionChunk.Choice.Delta.ToolCall, size: AnswerSize): void {
  const same =
    calls.findLast((call) => call.index === part.index) ?? (part.index === undefined ? calls.at(-1) : undefined);
  const begins =
    same === undefined || (part.id !== undefined && part.id !== "" && same.id !== "" && part.id !== same.id);
  const call: OpenCall = begins ? { index: part.index, id: "", name: "", text: "", extra: undefined } : same;
  if (begins) {
    size.addCall();
    calls.push(call);
  }
  if (part.id) call.id = part.id;
  if (part.function?.name && call.name === "") call.name = part.function.name;
  if ("extra_content" in part) {
    call.extra = part.extra_content;
    size.add(JSON.stringify(call.extra) ?? "");
  }
  const text: unknown = part.function?.arguments;
  if (typeof text === "string") {
    size.add(text);
    call.text += text;
  }
  // An object instead of its text: not the API, but unambiguous.
  else if (isRecord(text)) {
    call.text = JSON.stringify(text);
    size.add(call.text);
  }
}

/** Kept only with calls: it is for going on after their results. */
function stateOf(
  thought: NonNullable<ReplyState["reasoning"]>,
  calls: readonly OpenCall[],
  context: StreamContext,
): ProviderState | undefined {
  const signed = calls.some((call) => call.extra !== undefined);
  if (calls.length === 0 || (thought.text === "" && !signed)) return undefined;
  const data: ReplyState = {
    ...(thought.text === "" ? {} : { reasoning: { ...thought } }),
    extras: signed ? calls.map((call) => call.extra ?? null) : [],
  };
  return { provider: context.provider, model: context.model, data };
}

/** Some servers finish with "stop" although the reply has tool calls; the calls count. */
function toStopReason(finish: string, asksForTools: boolean): StopReason {
  if (finish === "length") return "length";
  if (finish === "content_filter") return "refusal";
  return asksForTools ? "tool_calls" : "end";
}

function toUsage(usage: NonNullable<ChatCompletionChunk["usage"]>): Usage {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const input = usage.prompt_tokens ?? 0;
  return {
    inputTokens: input,
    // Some services count reasoning in the total only; it is billed as output.
    outputTokens: Math.max(usage.completion_tokens ?? 0, (usage.total_tokens ?? 0) - input),
    ...(cached > 0 ? { cachedInputTokens: cached } : {}),
  };
}
