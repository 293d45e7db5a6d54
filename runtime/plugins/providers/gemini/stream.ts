import type { GenerateContentResponse, GenerateContentResponseUsageMetadata, Part } from "@google/genai/web";
import { NO_USAGE, type ProviderState, type Usage } from "../../../contracts/message.ts";
import type { ChatChunk, StopReason } from "../../../contracts/provider.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { AnswerSize } from "../../../domain/answer-size.ts";
import { endedEarly } from "../shared/broken-stream.ts";
import { answerSize, isEndless, StreamFault } from "../shared/stream-fault.ts";
import { parseArguments, unreadableCall } from "../shared/tool-arguments.ts";
import type { Watch } from "../shared/watch.ts";
import { addPart, type ReplyState } from "./state.ts";

/** Events of a streamGenerateContent answer as our chunks. Complete once a candidate has its finish reason. */

export interface StreamContext {
  readonly provider: string;
  /** The requested model. */
  readonly model: string;
  readonly watch: Watch;
}

export async function* readStream(
  stream: AsyncIterable<GenerateContentResponse>,
  context: StreamContext,
): AsyncGenerator<ChatChunk, void, undefined> {
  const parts: Part[] = [];
  const ids = new Set<string>();
  let finish: string | undefined;
  let usage: Usage = NO_USAGE;
  let model = context.model;
  let events = 0;
  const size = answerSize();

  try {
    for await (const event of stream) {
      events += 1;
      if (event.modelVersion) model = event.modelVersion;
      if (event.usageMetadata) {
        usage = toUsage(event.usageMetadata);
        yield { type: "usage", usage, model };
      }
      if (event.promptFeedback?.blockReason) finish = "SAFETY";
      const candidate = event.candidates?.[0];
      for (const part of candidate?.content?.parts ?? []) {
        addSize(size, part);
        addPart(parts, part);
        yield* toChunks(part, ids, size);
      }
      if (candidate?.finishReason) finish = candidate.finishReason;
      if (finish !== undefined && FAILED.has(finish)) throw new StreamFault({ kind: "garbage", found: finish });
    }
  } catch (error) {
    // Only counts of tokens can be missing behind the finish reason.
    if (finish === undefined || FAILED.has(finish) || context.watch.signal.aborted || isEndless(error)) throw error;
  }
  if (finish === undefined) throw endedEarly(context.watch, events);
  // The service sends what the model wrote, and the SDK does not hand it on.
  if (finish === "MALFORMED_FUNCTION_CALL") {
    const id = `call_${ids.size}`;
    ids.add(id);
    size.addCall();
    yield { type: "tool_call", call: unreadableCall(id) };
  }
  const state = stateOf(parts, context);
  const stopReason = toStopReason(finish, ids.size > 0);
  yield { type: "end", stopReason, usage, model, ...(state === undefined ? {} : { state }) };
}

/** Signatures, calls and files are kept as they came, beside the text. */
function addSize(size: AnswerSize, { text = "", thought: _, ...others }: Part): void {
  size.add(text);
  if (text === "" || Object.keys(others).length > 0) size.add(JSON.stringify(others));
}

function* toChunks(part: Part, ids: Set<string>, size: AnswerSize): Generator<ChatChunk> {
  if (part.text) yield { type: part.thought ? "reasoning" : "text", text: part.text };
  if (part.functionCall === undefined) return;
  const { id: given, name = "", args } = part.functionCall;
  size.addCall();
  const id = given && !ids.has(given) ? given : `call_${ids.size}`;
  ids.add(id);
  // The API gives an object; what a gateway makes of malformed text is passed on whole.
  const written: unknown = args;
  const read = isRecord(written) ? written : parseArguments(typeof written === "string" ? written : "");
  yield { type: "tool_call", call: { id, name, arguments: read } };
}

/** Kept only with calls: it is for going on after their results. Summaries of thoughts are not asked back. */
function stateOf(parts: readonly Part[], context: StreamContext): ProviderState | undefined {
  const signed = parts.some(({ thoughtSignature }) => thoughtSignature);
  const calls = parts.some(({ functionCall }) => functionCall !== undefined);
  if (!signed || !calls) return undefined;
  const data: ReplyState = { parts: parts.filter(({ thought, thoughtSignature }) => !thought || thoughtSignature) };
  return { provider: context.provider, model: context.model, data };
}

/** The model wrote something that the service could not read, and of which it does not say what it was. */
const FAILED: ReadonlySet<string> = new Set([
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
]);

const REFUSED: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
  "ESCALATION",
  "PUP_LIMITED_DISABLED",
  "MODEL_ARMOR",
]);

function toStopReason(finish: string, asksForTools: boolean): StopReason {
  if (finish === "MAX_TOKENS") return "length";
  if (REFUSED.has(finish)) return "refusal";
  return asksForTools ? "tool_calls" : "end";
}

/** Thoughts are billed as output, and counted apart from it. */
function toUsage(counts: GenerateContentResponseUsageMetadata): Usage {
  const cached = counts.cachedContentTokenCount ?? 0;
  return {
    inputTokens: (counts.promptTokenCount ?? 0) + (counts.toolUsePromptTokenCount ?? 0),
    outputTokens: (counts.candidatesTokenCount ?? 0) + (counts.thoughtsTokenCount ?? 0),
    ...(cached > 0 ? { cachedInputTokens: cached } : {}),
  };
}
