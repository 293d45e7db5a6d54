import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { type Failure, isContextTooLong } from "../../shared/model-http/failure.ts";

/**
 * Where servers of chat-completions differ. A request starts out as the API documents it; when a server refuses a
 * part of it by name, the request is sent once more without that part, and the model's quirk is remembered; all but
 * `no-token-limit`, which depends on the length of the conversation.
 */
export type Quirk =
  | "no-reasoning-effort"
  | "no-temperature"
  | "no-stream-options"
  /** The other name for the limit of the answer: `max_tokens` or `max_completion_tokens`. */
  | "other-token-limit"
  /** Prompt and limit together exceed the model's window: the prompt alone may not. */
  | "no-token-limit"
  /** The chat template takes a system message in first place only, and after it user and assistant in turns. */
  | "strict-roles"
  /** Reasoning must not be sent back. */
  | "no-reasoning-echo";

/** What the server's complaint points to, if the request holds it. */
export function quirkFor(failure: Failure, params: ChatCompletionCreateParamsStreaming): Quirk | undefined {
  if (failure.kind !== "status" || ![400, 422, 500].includes(failure.status)) return undefined;
  const text = `${failure.param ?? ""} ${failure.message ?? ""}`;
  const limited = params.max_tokens !== undefined || params.max_completion_tokens !== undefined;
  if (isContextTooLong(failure))
    return limited && /completion|max_tokens|output/i.test(text) ? "no-token-limit" : undefined;
  if (!hasStrictRoles(params.messages) && /system|roles? must alternate|template|jinja/i.test(text))
    return "strict-roles";
  if (failure.status === 500) return undefined;

  const echoed = params.messages.some((message) => "reasoning_content" in message || "reasoning" in message);
  if (echoed && /reasoning(_content)?\b(?!_effort)/i.test(text)) return "no-reasoning-echo";
  if (params.reasoning_effort !== undefined && /reasoning|think/i.test(text)) return "no-reasoning-effort";
  if (params.temperature !== undefined && /temperature/i.test(text)) return "no-temperature";
  if (params.stream_options !== undefined && /stream_options|include_usage/i.test(text)) return "no-stream-options";
  if (
    limited &&
    /max_(completion_)?tokens/i.test(text) &&
    /support|instead|unrecognized|unknown|extra|permitted/i.test(text)
  ) {
    return "other-token-limit";
  }
  return undefined;
}

/** Whether system text is in first place only, and no two messages of the user in a row. */
function hasStrictRoles(messages: ChatCompletionCreateParamsStreaming["messages"]): boolean {
  return messages.every(
    ({ role }, index) =>
      index === 0 || (role !== "system" && !(role === "user" && messages[index - 1]?.role === "user")),
  );
}
