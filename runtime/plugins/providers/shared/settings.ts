import type { Logger } from "../../../contracts/ports.ts";

/** What every provider that talks to a model over HTTP is made from: one entry of `providers.<id>` in the configuration. */
export interface ProviderSettings {
  /** The id in the configuration; names the provider in messages and in `ProviderState`. */
  readonly id: string;
  /** Path of these settings in the configuration, for hints; `providers.<id>` when absent. */
  readonly path?: string | undefined;
  /** Default model; `ChatOptions.model` decides the model of a call. */
  readonly model: string;
  readonly apiKey?: string | undefined;
  /** Address of the API; the provider's own default when absent. */
  readonly baseUrl?: string | undefined;
  /** Room for the answer, in tokens; thinking has its own on top of it. */
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** Tokens that the model can read, for servers that have to be asked for them. */
  readonly contextWindow?: number | undefined;
  /** Longest silence in milliseconds, before the first byte and between bytes. Default five minutes. */
  readonly timeoutMs?: number | undefined;
  /** How often a request that failed before its first byte is sent again. Default 2. */
  readonly maxRetries?: number | undefined;
  /** Makes the requests; connections of its own when absent. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** A login in place of a key. */
  readonly login?: TokenSource | undefined;
  readonly logger: Logger;
}

/** Where the tokens of a login come from. Rejects with a ProviderError that says what the user can do. */
export interface TokenSource {
  present(): Promise<boolean>;
  /** A token that counts now. */
  token(signal?: AbortSignal): Promise<string>;
  /** Another token than the one that was refused. */
  renew(refused: string, signal?: AbortSignal): Promise<string>;
}

export const DEFAULT_TIMEOUT_MS = 300_000;
export const DEFAULT_MAX_RETRIES = 2;
/** The SDKs' own timer, set where it never runs out: silence is watched below them (watch.ts). */
export const NO_SDK_TIMEOUT_MS = 2_147_483_647;

/** What is wrong with a key, if anything: a header holds visible ASCII only. */
export function keyProblem(key: string | undefined, needed: boolean): "missing" | "malformed" | undefined {
  if (!key) return needed ? "missing" : undefined;
  return /^[\x21-\x7e]+$/.test(key) ? undefined : "malformed";
}
