/** What passes between the agent loop and a provider (specification, "Runtime value objects"). */

export type Role = "user" | "assistant" | "system" | "tool";

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

export interface ImagePart {
  readonly type: "image";
  /** For example `image/png`. */
  readonly mediaType: string;
  /** Base64, without a data: prefix. */
  readonly data: string;
}

export type ContentPart = TextPart | ImagePart;

export interface ToolCall {
  /** Unique within the reply that has the call; the provider's own id where it gives one. */
  readonly id: string;
  readonly name: string;
  /** Parsed arguments. When the model's JSON was malformed, `{ "__invalid_json": <raw text> }`. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/**
 * What a provider must get back unmodified with its own reply (signed thinking blocks, for instance).
 * Opaque to everyone but the provider that wrote it; dropped when another provider or model answers.
 */
export interface ProviderState {
  readonly provider: string;
  readonly model: string;
  readonly data: unknown;
}

export interface Message {
  readonly role: Role;
  readonly content: string | readonly ContentPart[];
  /** On role `user`: added while the turn ran. The message that the turn answers is an earlier one. */
  readonly aside?: boolean;
  readonly toolCalls?: readonly ToolCall[];
  /** On role `tool`: the call that this is the result of. */
  readonly toolCallId?: string;
  /** On role `tool`: the result reports a failure. */
  readonly isError?: boolean;
  readonly providerState?: ProviderState;
}

/** Token counts as the provider reports them; absent counts are zero. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of inputTokens that a prompt cache served. */
  readonly cachedInputTokens?: number;
  /** Part of inputTokens that was written into a prompt cache, where that has a price of its own. */
  readonly cacheWriteInputTokens?: number;
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

export function textOf(content: Message["content"]): string {
  if (typeof content === "string") return content;
  return content
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("");
}
