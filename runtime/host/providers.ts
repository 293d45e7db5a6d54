/** From `providers` in the configuration to the providers that agents use. */

import { type Config, loginOf, type ProviderConfig, serviceOfKind } from "../config/index.ts";
import { ConfigError } from "../contracts/errors.ts";
import type { Memory } from "../contracts/memory.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import type { Provider } from "../contracts/provider.ts";
import { type ModelWindow, USUAL_WINDOW } from "../domain/model-window.ts";
import type { Prices } from "../domain/usage.ts";
import type { ProviderManifest } from "../plugins/providers/manifest.ts";
import { PROVIDERS } from "../plugins/providers/manifests.ts";
import { LoginTokens } from "./login-tokens.ts";

export interface ProviderDeps {
  readonly memory: Memory;
  readonly timezone: string;
  readonly inContainer: boolean;
  /** By plugins of other people, by the ids of their entries. */
  readonly brought: ReadonlyMap<string, Provider>;
  readonly logger: Logger;
  /** Where the tokens of a login are. */
  readonly home: string;
  readonly clock: Clock;
  readonly hide: (secrets: readonly string[]) => void;
}

export async function createProviders(config: Config, deps: ProviderDeps): Promise<Map<string, Provider>> {
  const entries = Object.entries(config.providers).map(
    async ([id, provider]) => [id, await createProvider(id, provider, deps)] as const,
  );
  return new Map(await Promise.all(entries));
}

/** Of the providers that have some. */
export function pricesOf({ providers }: Pick<Config, "providers">): Map<string, Prices> {
  return new Map(
    Object.entries(providers).flatMap(([id, { prices }]): [string, Prices][] => {
      if (prices === undefined) return [];
      const { input, output, cache_read: cacheRead, cache_write: cacheWrite } = prices;
      return [[id, { input, output, cacheRead, cacheWrite }]];
    }),
  );
}

/** Of every provider: of its models the configuration has no more. */
export function windowsOf({ providers }: Pick<Config, "providers">): Map<string, ModelWindow> {
  return new Map(
    Object.entries(providers).map(([id, { context_window: contextTokens, max_tokens: replyTokens }]) => [
      id,
      { contextTokens, replyTokens: replyTokens ?? USUAL_WINDOW.replyTokens },
    ]),
  );
}

async function createProvider(id: string, config: ProviderConfig, deps: ProviderDeps): Promise<Provider> {
  const brought = deps.brought.get(id);
  if (brought) return brought;
  const manifest = PROVIDERS.find(({ kinds }: ProviderManifest) => kinds.includes(config.kind));
  // Was checked when the configuration was read.
  if (!manifest) throw new ConfigError("CONFIG_INVALID", `No provider has the kind ${config.kind}.`);
  return manifest.create({
    id,
    model: config.model,
    apiKey: config.api_key,
    // A plugin has the address of its own kind.
    baseUrl: config.base_url ?? (config.kind === manifest.id ? undefined : serviceOfKind(config.kind)?.baseUrl),
    maxTokens: config.max_tokens,
    temperature: config.temperature,
    contextWindow: config.context_window,
    timeoutMs: config.timeout,
    maxRetries: config.max_retries,
    logger: deps.logger.child({ provider: id }),
    login: loginTokens(id, config, deps),
    memory: deps.memory,
    timezone: deps.timezone,
    inContainer: deps.inContainer,
  });
}

/** A key that is written down comes before a login. */
function loginTokens(id: string, config: ProviderConfig, deps: ProviderDeps): LoginTokens | undefined {
  const endpoints = config.api_key === undefined ? loginOf(config) : null;
  if (endpoints === null) return undefined;
  const { home, clock, hide } = deps;
  return new LoginTokens({ provider: id, home, endpoints, clock, hide, logger: deps.logger.child({ provider: id }) });
}
