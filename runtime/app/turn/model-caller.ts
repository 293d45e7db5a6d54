/** One reply of a model: hooks around the call, chunks passed on as they arrive, and the next model of the chain when one is down. */

import { type CairnError, ProviderError, toCairnError } from "../../contracts/errors.ts";
import type { TurnInfo } from "../../contracts/hooks.ts";
import type { Message, ToolCall } from "../../contracts/message.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { ChatChunk, ChatOptions, ChatReply, Provider } from "../../contracts/provider.ts";
import type { ModelRef } from "../../domain/model-ref.ts";
import { redactPrompt } from "../../domain/redaction.ts";
import { type CountedCall, countCall, type Prices } from "../../domain/usage.ts";
import type { HookPipeline } from "../hooks.ts";

export interface ModelCall {
  readonly turn: TurnInfo;
  readonly chain: readonly ModelRef[];
  readonly messages: readonly Message[];
  readonly options: ChatOptions;
  readonly signal: AbortSignal;
  onText(text: string): void;
  onReasoning(text: string): void;
  /** For each model that has answered to the end, also where its answer is then of no use. */
  onAnswered(call: CountedCall): void;
}

/** Failures after which another provider may do better (specification, Errors, rule 9). */
const FALLBACK_CODES: ReadonlySet<string> = new Set([
  "PROVIDER_RATE_LIMITED",
  "PROVIDER_OVERLOADED",
  "PROVIDER_TIMEOUT",
  "PROVIDER_UNREACHABLE",
  "PROVIDER_SERVER_ERROR",
  "PROVIDER_BAD_RESPONSE",
  "PROVIDER_STREAM_TRUNCATED",
]);

export type ModelCaller = (call: ModelCall) => Promise<ChatReply>;

export function createModelCaller(deps: {
  providers: ReadonlyMap<string, Provider>;
  hooks: HookPipeline;
  /** Takes the service's own secrets out of what is sent: no file, command or hook can bring them to a provider. */
  redact: (text: string) => string;
  /** By provider. */
  prices?: ReadonlyMap<string, Prices>;
  logger: Logger;
}): ModelCaller {
  const { providers, hooks, redact, prices, logger } = deps;

  /** No fallback after the first streamed chunk. */
  async function callOne(
    call: ModelCall,
    ref: ModelRef,
  ): Promise<{ reply: ChatReply } | { error: CairnError; saidAnything: boolean }> {
    let saidAnything = false;
    const provider = providers.get(ref.provider);
    if (!provider)
      return {
        error: new ProviderError("PROVIDER_UNKNOWN", `No provider is configured under the name "${ref.provider}".`),
        saidAnything,
      };
    const prepared = await hooks.run(
      "provider:before",
      {
        ...call.turn,
        provider: ref.provider,
        messages: call.messages,
        options: { ...call.options, signal: call.signal, ...(ref.model === undefined ? {} : { model: ref.model }) },
      },
      call.signal,
    );
    const { messages, options } = redactPrompt(prepared, redact);
    try {
      const reply = await collect(provider.chatStream(messages, options), call.signal, (chunk) => {
        saidAnything ||= chunk.type === "text" || chunk.type === "reasoning";
        if (chunk.type === "text") call.onText(chunk.text);
        if (chunk.type === "reasoning") call.onReasoning(chunk.text);
      });
      call.onAnswered(countCall(ref.provider, reply.model, reply.usage, prices?.get(ref.provider)));
      const after = await hooks.run("provider:after", { ...call.turn, provider: ref.provider, reply }, call.signal);
      return { reply: after.reply };
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      await hooks.run("provider:error", { ...call.turn, provider: ref.provider, error });
      return { error: toCairnError(error), saidAnything };
    }
  }

  return async (call) => {
    let failure: CairnError | null = null;
    for (const ref of call.chain) {
      const outcome = await callOne(call, ref);
      if ("reply" in outcome) return outcome.reply;
      failure ??= outcome.error;
      if (outcome.saidAnything || !FALLBACK_CODES.has(outcome.error.code)) throw outcome.error;
      logger.warn(
        { provider: ref.provider, model: ref.model, code: outcome.error.code },
        "a provider failed; trying the next of the chain",
      );
    }
    throw failure ?? new ProviderError("PROVIDER_UNKNOWN", "The agent has no provider.");
  };
}

/** Reads the stream to its end. A stream that ends without its `end` chunk was cut off. */
async function collect(
  stream: AsyncIterable<ChatChunk>,
  signal: AbortSignal,
  onChunk: (chunk: ChatChunk) => void,
): Promise<ChatReply> {
  let text = "";
  let reasoning = "";
  const toolCalls: ToolCall[] = [];
  for await (const chunk of stream) {
    if (signal.aborted) throw signal.reason;
    onChunk(chunk);
    switch (chunk.type) {
      case "text":
        text += chunk.text;
        break;
      case "reasoning":
        reasoning += chunk.text;
        break;
      case "tool_call":
        toolCalls.push(chunk.call);
        break;
      case "end":
        return {
          text,
          reasoning,
          toolCalls,
          stopReason: chunk.stopReason,
          usage: chunk.usage,
          model: chunk.model,
          ...(chunk.state ? { state: chunk.state } : {}),
        };
    }
  }
  if (signal.aborted) throw signal.reason;
  throw new ProviderError("PROVIDER_STREAM_TRUNCATED", "The model's reply ended before it was complete.");
}
