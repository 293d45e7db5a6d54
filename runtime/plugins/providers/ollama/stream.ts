import type { ChatResponse } from "ollama/browser";
import { NO_USAGE, type ProviderState } from "../../../contracts/message.ts";
import type { ChatChunk, StopReason } from "../../../contracts/provider.ts";
import { isRecord } from "../../../contracts/values.ts";
import { answerSize, StreamFault } from "../shared/stream-fault.ts";
import { parseArguments, unreadableCall } from "../shared/tool-arguments.ts";
import type { Watch } from "../shared/watch.ts";
import { unreadCall } from "./errors.ts";

/** Lines of a chat answer as our chunks. Complete with the line that says `done`. */

export interface StreamContext {
  readonly provider: string;
  /** The requested model. */
  readonly model: string;
  readonly watch: Watch;
}

export async function* readStream(
  answer: Promise<AsyncIterable<ChatResponse>>,
  context: StreamContext,
): AsyncGenerator<ChatChunk, void, undefined> {
  const ids = new Set<string>();
  try {
    yield* readLines(await answer, ids, context);
  } catch (error) {
    const written = unreadCall(error, context.watch);
    if (written === undefined || context.watch.signal.aborted) throw error;
    yield { type: "tool_call", call: unreadableCall(`call_${ids.size}`, written) };
    // The server ends its answer with the complaint, and counts nothing.
    yield { type: "end", stopReason: "tool_calls", usage: NO_USAGE, model: context.model };
  }
}

async function* readLines(
  stream: AsyncIterable<ChatResponse>,
  ids: Set<string>,
  context: StreamContext,
): AsyncGenerator<ChatChunk, void, undefined> {
  const size = answerSize();
  let thinking = "";
  for await (const line of stream) {
    // The last line may come without a message, whatever the type says.
    const message: Partial<ChatResponse["message"]> = line.message ?? {};
    if (message.thinking) {
      size.add(message.thinking);
      thinking += message.thinking;
      yield { type: "reasoning", text: message.thinking };
    }
    if (message.content) {
      size.add(message.content);
      yield { type: "text", text: message.content };
    }
    for (const call of message.tool_calls ?? []) {
      size.addCall();
      size.add(JSON.stringify(call.function.arguments) ?? "");
      yield toCall(call, ids);
    }
    if (!line.done) continue;
    const state = stateOf(thinking, ids.size > 0, context);
    yield {
      type: "end",
      stopReason: toStopReason(line.done_reason, ids.size > 0),
      usage: { inputTokens: line.prompt_eval_count ?? 0, outputTokens: line.eval_count ?? 0 },
      model: line.model || context.model,
      ...(state === undefined ? {} : { state }),
    };
    return;
  }
  throw new StreamFault({ kind: "truncated" });
}

type WireCall = NonNullable<ChatResponse["message"]["tool_calls"]>[number];

/** Older servers give a call no id; the SDK's type has none. */
function toCall(call: WireCall, ids: Set<string>): ChatChunk {
  const given = "id" in call && typeof call.id === "string" ? call.id : "";
  const id = given !== "" && !ids.has(given) ? given : `call_${ids.size}`;
  ids.add(id);
  const written: unknown = call.function.arguments;
  const read = isRecord(written) ? written : parseArguments(typeof written === "string" ? written : "");
  return { type: "tool_call", call: { id, name: call.function.name, arguments: read } };
}

/** Kept only with calls: it is for going on after their results. */
function stateOf(thinking: string, asksForTools: boolean, context: StreamContext): ProviderState | undefined {
  if (!asksForTools || thinking === "") return undefined;
  return { provider: context.provider, model: context.model, data: { thinking } };
}

function toStopReason(reason: string | undefined, asksForTools: boolean): StopReason {
  if (reason === "length") return "length";
  return asksForTools ? "tool_calls" : "end";
}
