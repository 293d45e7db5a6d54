/** From `providers` in the configuration to the providers that agents use. */

import { type Config, loginOf, type ProviderConfig } from "../config/index.ts";
import type { Memory } from "../contracts/memory.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import type { Provider } from "../contracts/provider.ts";
import { createAnthropicProvider } from "../plugins/providers/anthropic/index.ts";
import { createOfflineProvider } from "../plugins/providers/offline/index.ts";
import { createOpenaiCompatibleProvider } from "../plugins/providers/openai-compatible/index.ts";
import { LoginTokens } from "./login-tokens.ts";

export interface ProviderDeps {
  readonly memory: Memory;
  readonly timezone: string;
  readonly logger: Logger;
  /** Where the tokens of a login are. */
  readonly home: string;
  readonly clock: Clock;
  readonly hide: (secrets: readonly string[]) => void;
}

/** Kinds whose servers also speak chat-completions, and where. */
const CHAT_COMPLETIONS: Readonly<Record<string, string>> = {
  gemini: "https://generativelanguage.googleapis.com/v1beta/openai",
  xai: "https://api.x.ai/v1",
  ollama: "http://127.0.0.1:11434/v1",
};

export function createProviders(config: Config, deps: ProviderDeps): Map<string, Provider> {
  const entries = Object.entries(config.providers);
  return new Map(entries.map(([id, provider]) => [id, createProvider(id, provider, deps)]));
}

function createProvider(id: string, config: ProviderConfig, deps: ProviderDeps): Provider {
  if (config.kind === "offline") return createOfflineProvider({ id, memory: deps.memory, timezone: deps.timezone });
  const settings = {
    id,
    model: config.model,
    apiKey: config.api_key,
    baseUrl: config.base_url ?? CHAT_COMPLETIONS[config.kind],
    maxTokens: config.max_tokens,
    temperature: config.temperature,
    timeoutMs: config.timeout,
    maxRetries: config.max_retries,
    logger: deps.logger.child({ provider: id }),
    login: loginTokens(id, config, deps),
  };
  return config.kind === "anthropic" ? createAnthropicProvider(settings) : createOpenaiCompatibleProvider(settings);
}

/** A key that is written down comes before a login. */
function loginTokens(id: string, config: ProviderConfig, deps: ProviderDeps): LoginTokens | undefined {
  const endpoints = config.api_key === undefined ? loginOf(config) : null;
  if (endpoints === null) return undefined;
  const { home, clock, hide } = deps;
  return new LoginTokens({ provider: id, home, endpoints, clock, hide, logger: deps.logger.child({ provider: id }) });
}
