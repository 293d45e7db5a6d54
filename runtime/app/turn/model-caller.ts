/**
 * One reply of a model: hooks around the call, chunks passed on as they arrive, and the next model of the chain when one is down,
 * which goes on from the text so far where there is some.
 */

import { type CairnError, ProviderError, toCairnError } from "../../contracts/errors.ts";
import type { TurnInfo } from "../../contracts/hooks.ts";
import { type Message, NO_USAGE, type ToolCall, type Usage } from "../../contracts/message.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { ChatChunk, ChatOptions, ChatReply, Provider } from "../../contracts/provider.ts";
import { AnswerSize } from "../../domain/answer-size.ts";
import type { ModelRef } from "../../domain/model-ref.ts";
import { redactPrompt } from "../../domain/redaction.ts";
import { type CountedCall, countCall, type Prices, tokensOf } from "../../domain/usage.ts";
import type { HookPipeline } from "../hooks.ts";
import type { Permit, ProviderCircuits } from "./provider-circuits.ts";

export interface ModelCall {
  readonly turn: TurnInfo;
  readonly chain: readonly ModelRef[];
  readonly messages: readonly Message[];
  /** Absent: every model of the chain is shown all messages. */
  readonly windows?: CallWindows;
  readonly options: ChatOptions;
  readonly signal: AbortSignal;
  onText(text: string): void;
  onReasoning(text: string): void;
  /**
   * Once for each call whose usage is known: the model has answered to the end, also where its answer is then of no use, or its provider
   * had told what it used before it broke off or was ended.
   */
  onAnswered(call: CountedCall): void;
  /** A reply broke off after its first text, and the next model is about to go on: returns what that one is asked. */
  onInterrupted(reply: InterruptedReply): Promise<readonly Message[]>;
}

/** What the window of each model holds of the messages. */
export interface CallWindows {
  fit(messages: readonly Message[], ref: ModelRef): Promise<readonly Message[]>;
  /** Less than what the model has refused as too long; null where it cannot be shown less. */
  shorten(messages: readonly Message[], ref: ModelRef, refused: readonly Message[]): Promise<readonly Message[] | null>;
}

export interface InterruptedReply {
  readonly model: string;
  /** Zero where the provider has not told. */
  readonly usage: Usage;
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
  "PROVIDER_CIRCUIT_OPEN",
]);

/** The server works: it is not counted against it. A model with a larger window may take it. */
const TOO_LONG = "PROVIDER_CONTEXT_TOO_LONG";

/** Characters of half an answer that another model is asked to go on from; more would not fit beside the conversation. */
const MOST_CONTINUED = 400_000;

export type ModelCaller = (call: ModelCall) => Promise<ChatReply>;

/** A provider that is there, and a call of it that was let through. */
interface Admitted {
  readonly provider: Provider;
  readonly ref: ModelRef;
  readonly model: string;
  readonly permit: Permit;
}

interface FailedCall {
  readonly error: CairnError;
  /** Characters of text that were passed on. */
  readonly said: number;
  /** Null where no reply broke off: no call was made, or a hook has refused a whole reply. */
  readonly interrupted: InterruptedReply | null;
}

export function createModelCaller(deps: {
  providers: ReadonlyMap<string, Provider>;
  hooks: HookPipeline;
  /** Takes the service's own secrets out of what is sent: no file, command or hook can bring them to a provider. */
  redact: (text: string) => string;
  /** By provider. */
  prices?: ReadonlyMap<string, Prices>;
  circuits: Pick<ProviderCircuits, "enter">;
  /** The day that calls count for now, YYYY-MM-DD. */
  today: () => string;
  logger: Logger;
}): ModelCaller {
  const { providers, hooks, redact, prices, circuits, today, logger } = deps;

  function enter(ref: ModelRef): Admitted | FailedCall {
    const provider = providers.get(ref.provider);
    if (!provider) {
      return notCalled(
        new ProviderError("PROVIDER_UNKNOWN", `No provider is configured under the name "${ref.provider}".`),
      );
    }
    const model = ref.model ?? provider.getModel();
    try {
      return { provider, ref, model, permit: circuits.enter(ref.provider, model) };
    } catch (error) {
      return notCalled(toCairnError(error));
    }
  }

  async function callOne(
    call: ModelCall,
    ref: ModelRef,
    asked: readonly Message[],
  ): Promise<{ readonly reply: ChatReply } | FailedCall> {
    const entered = enter(ref);
    if ("error" in entered) return entered;
    try {
      return await callProvider(call, entered, asked);
    } finally {
      // Where it has no outcome yet: an abort, or a hook that refused the call, says nothing about the provider.
      entered.permit.end("cancelled");
    }
  }

  async function callProvider(
    call: ModelCall,
    { provider, ref, model, permit }: Admitted,
    asked: readonly Message[],
  ): Promise<{ readonly reply: ChatReply } | FailedCall> {
    const count = (name: string, usage: Usage) =>
      call.onAnswered(countCall(ref.provider, name, usage, today(), prices?.get(ref.provider)));
    const prepared = await hooks.run(
      "provider:before",
      {
        ...call.turn,
        provider: ref.provider,
        messages: asked,
        options: { ...call.options, signal: call.signal, ...(ref.model === undefined ? {} : { model: ref.model }) },
      },
      call.signal,
    );
    const { messages, options } = redactPrompt(prepared, redact);
    let said = 0;
    let whole = false;
    let interrupted: InterruptedReply = { model, usage: NO_USAGE };
    try {
      const size = new AnswerSize((bound) => endless(ref.provider, bound));
      const reply = await collect(provider.chatStream(messages, options), call.signal, size, (chunk) => {
        if (chunk.type === "text") {
          said += chunk.text.length;
          call.onText(chunk.text);
        }
        if (chunk.type === "reasoning") call.onReasoning(chunk.text);
        if (chunk.type === "usage") interrupted = { model: chunk.model, usage: chunk.usage };
      });
      whole = true;
      permit.end("succeeded");
      count(reply.model, reply.usage);
      const after = await hooks.run("provider:after", { ...call.turn, provider: ref.provider, reply }, call.signal);
      return { reply: after.reply };
    } catch (error) {
      if (!whole && tokensOf(interrupted.usage) > 0) count(interrupted.model, interrupted.usage);
      if (call.signal.aborted) throw call.signal.reason;
      const failure = toCairnError(error);
      // A server that refuses a request for what it holds does answer.
      permit.end(FALLBACK_CODES.has(failure.code) ? "failed" : "succeeded", failure);
      await hooks.run("provider:error", { ...call.turn, provider: ref.provider, error }, call.signal);
      return { error: failure, said, interrupted: whole ? null : interrupted };
    }
  }

  /** What fits into the model's window; where it is refused as too long, once more with less. */
  async function ask(
    call: ModelCall,
    ref: ModelRef,
    messages: readonly Message[],
  ): Promise<{ readonly reply: ChatReply } | FailedCall> {
    const { windows } = call;
    if (windows === undefined) return callOne(call, ref, messages);
    // What it is shown may need a summary, which nobody writes for a model that cannot be asked now.
    const entered = enter(ref);
    if ("error" in entered) return entered;
    // Not held meanwhile: the same model may be the one that writes it, and a circuit lets one probe through.
    entered.permit.end("cancelled");
    const asked = await windows.fit(messages, ref);
    const outcome = await callOne(call, ref, asked);
    if ("reply" in outcome || outcome.error.code !== TOO_LONG || outcome.said > 0) return outcome;
    const shorter = await windows.shorten(messages, ref, asked);
    if (shorter === null) return outcome;
    logger.warn({ provider: ref.provider, model: ref.model }, "a model refused a prompt as too long; it is shown less");
    return callOne(call, ref, shorter);
  }

  return async (call) => {
    let failure: CairnError | null = null;
    let { messages } = call;
    for (const [index, ref] of call.chain.entries()) {
      const outcome = await ask(call, ref, messages);
      if ("reply" in outcome) return outcome.reply;
      const { error, said, interrupted } = outcome;
      failure ??= error;
      const isLast = index === call.chain.length - 1;
      // A whole reply that a hook has refused is nothing to go on from, and neither is one that did not end.
      const goesOn = !isLast && interrupted !== null && said <= MOST_CONTINUED;
      if (!(FALLBACK_CODES.has(error.code) || error.code === TOO_LONG) || (said > 0 && !goesOn)) throw error;
      if (isLast) break;
      logger.warn(
        { provider: ref.provider, model: ref.model, code: error.code },
        "a provider failed; trying the next of the chain",
      );
      if (said > 0 && interrupted !== null) messages = await call.onInterrupted(interrupted);
    }
    throw failure ?? new ProviderError("PROVIDER_UNKNOWN", "The agent has no provider.");
  };
}

function notCalled(error: CairnError): FailedCall {
  return { error, said: 0, interrupted: null };
}

function endless(provider: string, bound: string): ProviderError {
  return new ProviderError(
    "PROVIDER_BAD_RESPONSE",
    `Provider "${provider}": the answer did not end: it was given up after ${bound}.`,
  );
}

/** Reads the stream to its end, or until it exceeds its size. A stream that ends without its `end` chunk was cut off. */
async function collect(
  stream: AsyncIterable<ChatChunk>,
  signal: AbortSignal,
  size: AnswerSize,
  onChunk: (chunk: ChatChunk) => void,
): Promise<ChatReply> {
  let text = "";
  let reasoning = "";
  const toolCalls: ToolCall[] = [];
  for await (const chunk of stream) {
    if (signal.aborted) throw signal.reason;
    if (chunk.type === "text" || chunk.type === "reasoning") size.add(chunk.text);
    if (chunk.type === "tool_call") {
      size.addCall();
      size.add(JSON.stringify(chunk.call.arguments) ?? "");
    }
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
      case "usage":
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
