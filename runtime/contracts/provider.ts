import type { Message, ProviderState, ToolCall, Usage } from "./message.ts";
import type { ListedModels } from "./model-names.ts";

/** A language-model backend. Streaming is the one way in; `chat` is a convenience that some offer. */

export type ThinkingLevel = "off" | "low" | "medium" | "high";

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ChatOptions {
  /** Stable text of the system prompt: provider prompt caches hold on it. */
  readonly system?: string;
  /**
   * What the service adds to this turn, such as the time; never stored. Sent as system-role text next to the newest user
   * message where the API has that, else as the last block of the system prompt, or marked in front of that message where the
   * system prompt must stay the same for the provider's cache.
   */
  readonly context?: string;
  /**
   * What memory found for this turn, in its fence, and the agent's list; never stored. It is data that others wrote: sent with
   * the user's role, as a part of the newest user message, and never as the system's.
   */
  readonly retrieved?: string;
  readonly tools?: readonly ToolDefinition[];
  /** Decides the model of this call; `setModel` only sets the default. */
  readonly model?: string;
  readonly thinking?: ThinkingLevel;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly signal?: AbortSignal;
  /** Whose question it is; the offline provider searches memory with it, the others ignore it. */
  readonly caller?: {
    readonly agent: string;
    readonly sessionKey: string;
    readonly channel: string;
    readonly user: string;
    readonly owner: boolean;
  };
}

export type StopReason = "end" | "tool_calls" | "length" | "refusal";

export type ChatChunk =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  /** What the reply has used so far, as soon as the provider tells it: instead of those before, and counted where no `end` follows. */
  | { readonly type: "usage"; readonly usage: Usage; readonly model: string }
  /** Always the last chunk of a complete reply: a stream that ends without it was cut off. */
  | {
      readonly type: "end";
      readonly stopReason: StopReason;
      readonly usage: Usage;
      readonly model: string;
      readonly state?: ProviderState;
    };

export interface ChatReply {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  readonly stopReason: StopReason;
  readonly usage: Usage;
  readonly model: string;
  readonly state?: ProviderState;
}

export interface Provider {
  readonly id: string;
  readonly name: string;
  /** The only models that it has; absent where it may have any. */
  readonly models?: readonly string[];
  /** False where no language model answers: it cannot be asked to summarize. Absent: true. */
  readonly hasModel?: boolean;
  /** Ends with an `end` chunk, or throws a ProviderError; an abort rejects with the signal's reason. */
  chatStream(messages: readonly Message[], options?: ChatOptions): AsyncIterable<ChatChunk>;
  chat?(messages: readonly Message[], options?: ChatOptions): Promise<ChatReply>;
  /** Whether a call could be made now (key present, server reachable); never throws. */
  isAvailable(): Promise<boolean>;
  /** What its server lists; null where it gives no list. Rejects where nothing answers, and with the signal's reason. */
  listModels?(signal: AbortSignal): Promise<ListedModels | null>;
  getModel(): string;
  setModel(model: string): void;
}
