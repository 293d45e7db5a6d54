import type {
  ContentBlock,
  MessageDeltaUsage,
  RawMessageStreamEvent,
  Usage as WireUsage,
} from "@anthropic-ai/sdk/resources/messages";
import type { ProviderState, Usage } from "../../../contracts/message.ts";
import type { ChatChunk, StopReason } from "../../../contracts/provider.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { AnswerSize } from "../../../domain/answer-size.ts";
import { endedEarly } from "../shared/broken-stream.ts";
import { answerSize } from "../shared/stream-fault.ts";
import { parseArguments } from "../shared/tool-arguments.ts";
import type { Watch } from "../shared/watch.ts";
import { isThinking } from "./quirks.ts";

/** Events of a messages stream as our chunks. Complete with `message_stop`. */

export interface StreamContext {
  readonly provider: string;
  /** The requested model. */
  readonly model: string;
  readonly watch: Watch;
}

/** A content block that is still being written. */
interface OpenBlock {
  readonly block: ContentBlock;
  /** Text, thinking, or the JSON of a call's input. */
  text: string;
  signature: string;
}

interface Reply {
  readonly open: Map<number, OpenBlock>;
  /** Finished blocks by index, in the form in which the API takes them back. */
  readonly blocks: Map<number, unknown>;
  readonly size: AnswerSize;
  model: string;
  usage: Usage;
  stop: string | null;
}

export async function* readStream(
  stream: AsyncIterable<RawMessageStreamEvent>,
  context: StreamContext,
): AsyncGenerator<ChatChunk, void, undefined> {
  const reply: Reply = {
    open: new Map(),
    blocks: new Map(),
    size: answerSize(),
    model: context.model,
    usage: { inputTokens: 0, outputTokens: 0 },
    stop: null,
  };
  let events = 0;
  for await (const event of stream) {
    events += 1;
    switch (event.type) {
      case "message_start":
        reply.model = event.message.model || context.model;
        reply.usage = addUsage(reply.usage, event.message.usage);
        // The tokens of the input, which are billed also where the reply breaks off.
        yield { type: "usage", usage: reply.usage, model: reply.model };
        break;
      case "content_block_start":
        yield* begin(reply, event.index, event.content_block);
        break;
      case "content_block_delta":
        yield* extend(reply.open.get(event.index), event.delta, reply.size);
        break;
      case "content_block_stop":
        yield* finish(reply, event.index);
        break;
      case "message_delta":
        reply.stop = event.delta.stop_reason ?? reply.stop;
        reply.usage = addUsage(reply.usage, event.usage);
        yield { type: "usage", usage: reply.usage, model: reply.model };
        break;
      case "message_stop":
        yield endChunk(reply, context);
        return;
    }
  }
  throw endedEarly(context.watch, events);
}

function* begin(reply: Reply, index: number, block: ContentBlock): Generator<ChatChunk> {
  const open: OpenBlock = { block, text: "", signature: "" };
  if (block.type === "tool_use") {
    reply.size.addCall();
    reply.size.add(JSON.stringify(block.input) ?? "");
  }
  if (block.type === "redacted_thinking") reply.size.add(block.data ?? "");
  reply.open.set(index, open);
  if (block.type === "text" && block.text) yield* extend(open, { type: "text_delta", text: block.text }, reply.size);
  if (block.type === "thinking") {
    open.signature = block.signature ?? "";
    reply.size.add(open.signature);
    if (block.thinking) yield* extend(open, { type: "thinking_delta", thinking: block.thinking }, reply.size);
  }
}

type Delta = Extract<RawMessageStreamEvent, { type: "content_block_delta" }>["delta"];

function* extend(open: OpenBlock | undefined, delta: Delta, size: AnswerSize): Generator<ChatChunk> {
  if (open === undefined) return;
  switch (delta.type) {
    case "text_delta":
      size.add(delta.text);
      open.text += delta.text;
      if (delta.text) yield { type: "text", text: delta.text };
      break;
    case "thinking_delta":
      size.add(delta.thinking);
      open.text += delta.thinking;
      if (delta.thinking) yield { type: "reasoning", text: delta.thinking };
      break;
    case "signature_delta":
      size.add(delta.signature);
      open.signature += delta.signature;
      break;
    case "input_json_delta":
      size.add(delta.partial_json);
      open.text += delta.partial_json;
      break;
    case "citations_delta":
      break;
  }
}

function* finish(reply: Reply, index: number): Generator<ChatChunk> {
  const open = reply.open.get(index);
  if (open === undefined) return;
  reply.open.delete(index);
  const { block, text, signature } = open;
  switch (block.type) {
    case "text":
      if (text.trim() !== "") reply.blocks.set(index, { type: "text", text });
      break;
    case "thinking":
      reply.blocks.set(index, { type: "thinking", thinking: text, signature });
      break;
    case "redacted_thinking":
      reply.blocks.set(index, { type: "redacted_thinking", data: block.data });
      break;
    case "tool_use": {
      // Imitations of the API put the whole input into the first event.
      const input = text === "" && isRecord(block.input) ? block.input : parseArguments(text);
      reply.blocks.set(index, { type: "tool_use", id: block.id, name: block.name, input });
      yield { type: "tool_call", call: { id: block.id || `call_${index}`, name: block.name, arguments: input } };
      break;
    }
    default:
      // Blocks of server-side tools, which are never requested.
      break;
  }
}

function endChunk(reply: Reply, context: StreamContext): ChatChunk {
  const content = [...reply.blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => block);
  const thought = content.some(
    (block) => isRecord(block) && typeof block["type"] === "string" && isThinking({ type: block["type"] }),
  );
  const state: ProviderState = { provider: context.provider, model: context.model, data: { content } };
  return {
    type: "end",
    stopReason: toStopReason(reply.stop),
    usage: reply.usage,
    model: reply.model,
    ...(thought ? { state } : {}),
  };
}

function toStopReason(stop: string | null): StopReason {
  switch (stop) {
    case "tool_use":
      return "tool_calls";
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "refusal":
      return "refusal";
    default:
      return "end";
  }
}

/** The API counts cached tokens apart from the input; the last counts of a reply replace the earlier ones. */
function addUsage(before: Usage, wire: WireUsage | MessageDeltaUsage | null | undefined): Usage {
  if (!wire) return before;
  const cached = wire.cache_read_input_tokens ?? 0;
  const written = wire.cache_creation_input_tokens ?? 0;
  const input = (wire.input_tokens ?? 0) + cached + written;
  const cachedInputTokens = Math.max(cached, before.cachedInputTokens ?? 0);
  const cacheWriteInputTokens = Math.max(written, before.cacheWriteInputTokens ?? 0);
  return {
    inputTokens: Math.max(input, before.inputTokens),
    outputTokens: Math.max(wire.output_tokens ?? 0, before.outputTokens),
    ...(cachedInputTokens > 0 ? { cachedInputTokens } : {}),
    ...(cacheWriteInputTokens > 0 ? { cacheWriteInputTokens } : {}),
  };
}
