import type { Message } from "../../../../runtime/contracts/message.ts";
import type { Logger } from "../../../../runtime/contracts/ports.ts";
import type { ChatChunk, ChatOptions, Provider } from "../../../../runtime/contracts/provider.ts";
import {
  createAnthropicProvider,
  type ProviderSettings,
} from "../../../../runtime/plugins/providers/anthropic/index.ts";
import { createOpenaiCompatibleProvider } from "../../../../runtime/plugins/providers/openai-compatible/index.ts";
import { startAnthropicFake } from "../../../fakes/anthropic/index.ts";
import { startOpenAiFake } from "../../../fakes/openai/index.ts";
import type { FakeOptions, FakeServer } from "../../../fakes/shared/server.ts";
import { EVENTUALLY_MS } from "../../../lanes/patience.ts";

export const KEY = "sk-test-0123456789abcdef";

export const quietLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quietLogger,
};

export interface Api {
  readonly name: string;
  readonly model: string;
  start(options?: FakeOptions): Promise<FakeServer>;
  create(settings: Partial<ProviderSettings> & { readonly baseUrl: string }): Provider;
}

const complete = (settings: Partial<ProviderSettings>, model: string): ProviderSettings => ({
  id: "main",
  model,
  apiKey: KEY,
  maxRetries: 0,
  timeoutMs: EVENTUALLY_MS,
  logger: quietLogger,
  ...settings,
});

export const APIS: readonly Api[] = [
  {
    name: "anthropic",
    model: "claude-sonnet-4-6",
    start: startAnthropicFake,
    create: (settings) => createAnthropicProvider(complete(settings, "claude-sonnet-4-6")),
  },
  {
    name: "openai-compatible",
    model: "fake-model",
    start: startOpenAiFake,
    create: (settings) => createOpenaiCompatibleProvider(complete(settings, "fake-model")),
  },
];

export const says = (text: string): Message[] => [{ role: "user", content: text }];

/** Every chunk of a reply. */
export async function chunks(
  provider: Provider,
  messages: readonly Message[],
  options?: ChatOptions,
): Promise<ChatChunk[]> {
  const result: ChatChunk[] = [];
  for await (const chunk of provider.chatStream(messages, options)) result.push(chunk);
  return result;
}

export function textIn(list: readonly ChatChunk[], type: "text" | "reasoning" = "text"): string {
  return list.map((chunk) => (chunk.type === type ? chunk.text : "")).join("");
}

/** What a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("expected a rejection");
}
