import type Anthropic from "@anthropic-ai/sdk";
import type { ProviderError } from "../../../contracts/errors.ts";
import type { Message } from "../../../contracts/message.ts";
import type { ChatChunk, ChatOptions, ChatReply, Provider } from "../../../contracts/provider.ts";
import { withBearer } from "../shared/bearer.ts";
import { runCall } from "../shared/call.ts";
import { collect } from "../shared/collect.ts";
import { openFetch } from "../shared/connection.ts";
import { type Party, toProviderError } from "../shared/failure.ts";
import { answers } from "../shared/probe.ts";
import {
  DEFAULT_MAX_RETRIES,
  DEFAULT_TIMEOUT_MS,
  hostOf,
  keyProblem,
  NO_SDK_TIMEOUT_MS,
  type ProviderSettings,
  type TokenSource,
} from "../shared/settings.ts";
import type { Watch } from "../shared/watch.ts";
import { readError } from "./errors.ts";
import { type Quirk, quirkFor, type RequestParams } from "./quirks.ts";
import { toRequest } from "./request.ts";
import { readStream } from "./stream.ts";

const ANTHROPIC_URL = "https://api.anthropic.com";
/** What servers without keys get: the SDK insists on one. */
const NO_KEY = "none";
/** Anthropic's own API asks for it beside the token of a login. */
const LOGIN_BETA = { "anthropic-beta": "oauth-2025-04-20" };

/** Claude models through Anthropic's messages API, or a server that imitates it. */
export class AnthropicProvider implements Provider {
  readonly id: string;
  readonly name = "Anthropic";
  readonly #settings: ProviderSettings;
  readonly #baseUrl: string;
  /** What was learned about each model, for the life of the process. */
  readonly #quirks = new Map<string, Set<Quirk>>();
  #model: string;
  #fetch: typeof globalThis.fetch | undefined;

  constructor(settings: ProviderSettings) {
    this.id = settings.id;
    // Keys come out of files with line ends.
    this.#settings = { ...settings, apiKey: settings.apiKey?.trim() };
    this.#model = settings.model;
    // The SDK appends /v1 itself; addresses are often given with it.
    this.#baseUrl = (settings.baseUrl ?? ANTHROPIC_URL).replace(/\/+$/, "").replace(/\/v1$/, "");
  }

  async *chatStream(
    messages: readonly Message[],
    options: ChatOptions = {},
  ): AsyncGenerator<ChatChunk, void, undefined> {
    options.signal?.throwIfAborted();
    const model = options.model ?? this.#model;
    const { apiKey, login } = this.#settings;
    const problem = keyProblem(apiKey, this.#baseUrl === ANTHROPIC_URL && login === undefined);
    if (problem !== undefined) throw toProviderError(this.#party(model), { kind: "key", problem });
    // Loaded at the first call: a process that never makes one does not carry the SDK.
    const { default: sdk } = await import("@anthropic-ai/sdk");
    const known = this.#quirksOf(model);
    const timeoutMs = this.#settings.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#fetch ??= this.#settings.fetch ?? (await openFetch());
    const build = (quirks: ReadonlySet<Quirk>) => this.#request(messages, options, model, quirks);

    yield* runCall<Quirk>({
      signal: options.signal,
      timeoutMs,
      fetch: this.#fetch,
      quirks: known,
      attempt: (quirks, watch) =>
        apiKey || login === undefined
          ? this.#attempt(sdk, build(quirks), model, watch)
          : this.#attemptByLogin(login, sdk, build(quirks), model, watch),
      explain: (error, watch) => this.#explain(error, sdk, watch, timeoutMs, model),
      adapt: (error, quirks, watch) => quirkFor(readError(error, sdk, watch, timeoutMs), build(quirks)),
      onAdapted: (quirk) => {
        // That old thinking was refused says something about this conversation, nothing about the model.
        if (quirk !== "no-replay") known.add(quirk);
        this.#settings.logger.info({ provider: this.id, model, quirk }, "request adapted to what the server accepts");
      },
    });
  }

  chat(messages: readonly Message[], options?: ChatOptions): Promise<ChatReply> {
    return collect(this.chatStream(messages, options));
  }

  /** With a key or a login: true. Without: whether a server other than Anthropic's answers at the address. */
  async isAvailable(): Promise<boolean> {
    const { apiKey, login } = this.#settings;
    if (apiKey) return true;
    if (login !== undefined) return login.present();
    return this.#baseUrl !== ANTHROPIC_URL && (await answers(`${this.#baseUrl}/v1/models`));
  }

  getModel(): string {
    return this.#model;
  }

  setModel(model: string): void {
    this.#model = model;
  }

  async *#attemptByLogin(
    login: TokenSource,
    sdk: typeof Anthropic,
    params: RequestParams,
    model: string,
    watch: Watch,
  ): AsyncGenerator<ChatChunk, void, undefined> {
    const bearer = withBearer(watch.fetch, login, await login.token(watch.signal), watch.signal);
    try {
      yield* this.#attempt(sdk, params, model, { ...watch, fetch: bearer.fetch });
    } catch (error) {
      throw bearer.failure() ?? error;
    }
  }

  async *#attempt(
    sdk: typeof Anthropic,
    params: RequestParams,
    model: string,
    watch: Watch,
  ): AsyncGenerator<ChatChunk, void, undefined> {
    // Everything that the SDK would take from the environment or from profiles is given: the configuration alone decides.
    const apiKey = this.#settings.apiKey || NO_KEY;
    const client = new sdk({
      apiKey,
      baseURL: this.#baseUrl,
      // The SDK sends a bearer token, which not every imitation of the API knows.
      ...this.#headers(apiKey),
      webhookKey: null,
      openTelemetry: false,
      maxRetries: this.#settings.maxRetries ?? DEFAULT_MAX_RETRIES,
      timeout: NO_SDK_TIMEOUT_MS,
      logLevel: "off",
      fetch: watch.fetch,
    });
    const stream = await client.messages.create(params, { signal: watch.signal });
    yield* readStream(stream, { provider: this.id, model, watch });
  }

  #headers(apiKey: string): { readonly defaultHeaders?: Readonly<Record<string, string>> } {
    if (this.#baseUrl !== ANTHROPIC_URL) return { defaultHeaders: { "x-api-key": apiKey } };
    return this.#settings.apiKey || this.#settings.login === undefined ? {} : { defaultHeaders: LOGIN_BETA };
  }

  #request(
    messages: readonly Message[],
    options: ChatOptions,
    model: string,
    quirks: ReadonlySet<Quirk>,
  ): RequestParams {
    const { maxTokens, temperature } = this.#settings;
    return toRequest(messages, options, { provider: this.id, model, maxTokens, temperature, quirks });
  }

  #explain(error: unknown, sdk: typeof Anthropic, watch: Watch, timeoutMs: number, model: string): ProviderError {
    return toProviderError(this.#party(model), readError(error, sdk, watch, timeoutMs), error);
  }

  #party(model: string): Party {
    const { apiKey, login } = this.#settings;
    const byLogin = !apiKey && login !== undefined;
    return { id: this.id, name: this.name, model, host: hostOf(this.#baseUrl), secret: apiKey, login: byLogin };
  }

  #quirksOf(model: string): Set<Quirk> {
    const known = this.#quirks.get(model) ?? new Set<Quirk>();
    this.#quirks.set(model, known);
    return known;
  }
}
