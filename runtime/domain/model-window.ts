/** How much of a conversation a model's window holds beside the rest of a prompt. Pure. */

import type { ThinkingLevel } from "../contracts/provider.ts";

/** Of a provider's models, by its configuration. */
export interface ModelWindow {
  /** Tokens that a model can read and write. */
  readonly contextTokens: number;
  /** Of these, kept free for the reply; thinking has its own room on top. */
  readonly replyTokens: number;
}

/** Where nothing is configured. */
export const USUAL_WINDOW: ModelWindow = { contextTokens: 128_000, replyTokens: 8_192 };

/** However small the configured window is: less than this is no conversation. */
const LEAST_ROOM = 1_000;
/** Room that thinking takes beside the reply, about as much as providers are allowed to spend on it. */
const THINKING_TOKENS: Readonly<Record<ThinkingLevel, number>> = { off: 0, low: 2_048, medium: 8_192, high: 24_576 };

/** Tokens for messages beside so many of the prompt's other parts. */
export function roomForMessages(
  { contextTokens, replyTokens }: ModelWindow,
  thinking: ThinkingLevel,
  promptTokens: number,
): number {
  // Half of a small window at most, so that there is always a conversation.
  const reserve = Math.min(replyTokens + THINKING_TOKENS[thinking], contextTokens / 2);
  return Math.max(LEAST_ROOM, contextTokens - reserve - promptTokens);
}
