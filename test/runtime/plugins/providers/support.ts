import type { Message } from "../../../../runtime/contracts/message.ts";
import type { Logger } from "../../../../runtime/contracts/ports.ts";
import type { ChatChunk, ChatOptions, Provider } from "../../../../runtime/contracts/provider.ts";
import {
  createAnthropicProvider,
  type ProviderSettings,
} from "../../../../runtime/plugins/providers/anthropic/index.ts";
import { createGeminiProvider } from "../../../../runtime/plugins/providers/gemini/index.ts";
import { createOllamaProvider } from "../../../../runtime/plugins/providers/ollama/index.ts";
import { createOpenaiCompatibleProvider } from "../../../../runtime/plugins/providers/openai-compatible/index.ts";
import { createXaiProvider } from "../../../../runtime/plugins/providers/xai/index.ts";
import { startAnthropicFake } from "../../../fakes/anthropic/index.ts";
import { startGeminiFake } from "../../../fakes/gemini/index.ts";
import { startOllamaFake } from "../../../fakes/ollama/index.ts";
import { startOpenAiFake } from "../../../fakes/openai/index.ts";
import type { FakeOptions, FakeServer } from "../../../fakes/shared/server.ts";
import { startXaiFake } from "../../../fakes/xai/index.ts";
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
  /** The header that carries a key, and what is in front of the key there. */
  readonly key: { readonly header: string; readonly prefix: string };
  /** An event that is not JSON. */
  readonly nonsense: string;
  /** Whether an error inside a stream has more than a message. */
  readonly namesErrors: boolean;
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

const BEARER = { header: "authorization", prefix: "Bearer " };

export const APIS: readonly Api[] = [
  {
    name: "anthropic",
    key: BEARER,
    nonsense: "event: message_start\ndata: {nonsense\n\n",
    namesErrors: true,
    model: "claude-sonnet-4-6",
    start: startAnthropicFake,
    create: (settings) => createAnthropicProvider(complete(settings, "claude-sonnet-4-6")),
  },
  {
    name: "openai-compatible",
    key: BEARER,
    nonsense: "event: message_start\ndata: {nonsense\n\n",
    namesErrors: true,
    model: "fake-model",
    start: startOpenAiFake,
    create: (settings) => createOpenaiCompatibleProvider(complete(settings, "fake-model")),
  },
  {
    name: "gemini",
    key: { header: "x-goog-api-key", prefix: "" },
    nonsense: "data: {nonsense\n\n",
    namesErrors: true,
    model: "gemini-3.5-flash",
    start: startGeminiFake,
    create: (settings) => createGeminiProvider(complete(settings, "gemini-3.5-flash")),
  },
  {
    name: "xai",
    key: BEARER,
    nonsense: "data: {nonsense\n\n",
    namesErrors: false,
    model: "grok-4.3",
    start: startXaiFake,
    create: (settings) => createXaiProvider(complete(settings, "grok-4.3")),
  },
  {
    name: "ollama",
    key: BEARER,
    nonsense: "{nonsense\n",
    namesErrors: false,
    model: "qwen3:8b",
    start: (options) => startOllamaFake(["qwen3:8b"], options),
    create: (settings) => createOllamaProvider({ contextWindow: 32_768, ...complete(settings, "qwen3:8b") }),
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
