import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import { type Failure, isContextTooLong } from "../../shared/model-http/failure.ts";

/** Models before Claude 4.7 take a temperature; the SDK's types have the newest ones only. */
export type RequestParams = MessageCreateParamsStreaming & { readonly temperature?: number };

/**
 * What a model, or a server that imitates the API, refuses of a request. The request is sent once more without it.
 * All but `no-replay` are remembered for the model.
 */
export type Quirk =
  | "no-thinking"
  | "no-effort"
  | "no-temperature"
  /** System text among the messages. */
  | "no-system-role"
  /** Thinking of earlier replies is no longer accepted: its signature is old, or the conversation before it changed. */
  | "no-replay";

/** What the server's complaint points to, if the request holds it. */
export function quirkFor(failure: Failure, params: RequestParams): Quirk | undefined {
  if (failure.kind !== "status" || (failure.status !== 400 && failure.status !== 422)) return undefined;
  if (isContextTooLong(failure)) return undefined;
  const text = failure.message ?? "";
  const replays = params.messages.some(
    (message) => typeof message.content !== "string" && message.content.some(isThinking),
  );
  if (replays && /signature|redacted_thinking|thinking.{0,3} (or|blocks?)|cannot be modified/i.test(text))
    return "no-replay";
  if (params.messages.some(({ role }) => role === "system") && /system/i.test(text)) return "no-system-role";
  if (params.temperature !== undefined && /temperature/i.test(text)) return "no-temperature";
  if (params.output_config !== undefined && /effort|output_config/i.test(text) && !/thinking\.type/i.test(text))
    return "no-effort";
  if (params.thinking !== undefined && /thinking|budget_tokens/i.test(text)) return "no-thinking";
  return undefined;
}

/** Whether a content block is thinking, signed or redacted. */
export function isThinking(block: { readonly type: string }): boolean {
  return block.type === "thinking" || block.type === "redacted_thinking";
}
