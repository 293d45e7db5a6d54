import type OpenAI from "openai";
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { ProviderError } from "../../../contracts/errors.ts";
import type { Message } from "../../../contracts/message.ts";
import type { ChatChunk, ChatOptions, ChatReply, Provider } from "../../../contracts/provider.ts";
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
} from "../shared/settings.ts";
import type { Watch } from "../shared/watch.ts";
import { readError } from "./errors.ts";
import { type Quirk, quirkFor } from "./quirks.ts";
import { toRequest } from "./request.ts";
import { readStream } from "./stream.ts";

const OPENAI_URL = "https://api.openai.com/v1";
/** What servers without keys get: the SDK insists on one. */
const NO_KEY = "none";

/** Any endpoint that speaks chat-completions: OpenAI itself, gateways, and servers on the own machine. */
export class OpenAiCompatibleProvider implements Provider {
  readonly id: string;
  readonly name = "OpenAI-compatible";
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
    this.#baseUrl = (settings.baseUrl ?? OPENAI_URL).replace(/\/+$/, "");
  }

  async *chatStream(
    messages: readonly Message[],
    options: ChatOptions = {},
  ): AsyncGenerator<ChatChunk, void, undefined> {
    options.signal?.throwIfAborted();
    const model = options.model ?? this.#model;
    const problem = keyProblem(this.#settings.apiKey, this.#baseUrl === OPENAI_URL);
    if (problem !== undefined) throw toProviderError(this.#party(model), { kind: "key", problem });
    // Loaded at the first call: a process that never makes one does not carry the SDK.
    const { default: sdk } = await import("openai");
    const known = this.#quirksOf(model);
    const timeoutMs = this.#settings.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#fetch ??= this.#settings.fetch ?? (await openFetch());
    const build = (quirks: ReadonlySet<Quirk>) => this.#request(messages, options, model, quirks);

    yield* runCall<Quirk>({
      signal: options.signal,
      timeoutMs,
      fetch: this.#fetch,
      quirks: known,
      attempt: (quirks, watch) => this.#attempt(sdk, build(quirks), model, watch),
      explain: (error, watch) => this.#explain(error, sdk, watch, timeoutMs, model),
      adapt: (error, quirks, watch) => quirkFor(readError(error, sdk, watch, timeoutMs), build(quirks)),
      onAdapted: (quirk) => {
        if (quirk !== "no-token-limit") known.add(quirk);
        this.#settings.logger.info({ provider: this.id, model, quirk }, "request adapted to what the server accepts");
      },
    });
  }

  chat(messages: readonly Message[], options?: ChatOptions): Promise<ChatReply> {
    return collect(this.chatStream(messages, options));
  }

  /** With a key: true. Without: whether a server other than OpenAI's answers at the address. */
  async isAvailable(): Promise<boolean> {
    if (this.#settings.apiKey) return true;
    return this.#baseUrl !== OPENAI_URL && (await answers(`${this.#baseUrl}/models`));
  }

  getModel(): string {
    return this.#model;
  }

  setModel(model: string): void {
    this.#model = model;
  }

  async *#attempt(
    sdk: typeof OpenAI,
    params: ChatCompletionCreateParamsStreaming,
    model: string,
    watch: Watch,
  ): AsyncGenerator<ChatChunk, void, undefined> {
    // Everything that the SDK would take from the environment is given: the configuration alone decides.
    const client = new sdk({
      apiKey: this.#settings.apiKey || NO_KEY,
      baseURL: this.#baseUrl,
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      maxRetries: this.#settings.maxRetries ?? DEFAULT_MAX_RETRIES,
      timeout: NO_SDK_TIMEOUT_MS,
      logLevel: "off",
      fetch: watch.fetch,
    });
    const stream = await client.chat.completions.create(params, { signal: watch.signal });
    yield* readStream(stream, { provider: this.id, model, watch });
  }

  #request(
    messages: readonly Message[],
    options: ChatOptions,
    model: string,
    quirks: ReadonlySet<Quirk>,
  ): ChatCompletionCreateParamsStreaming {
    const { maxTokens, temperature } = this.#settings;
    const isOpenAi = hostOf(this.#baseUrl) === hostOf(OPENAI_URL);
    return toRequest(messages, options, { provider: this.id, model, maxTokens, temperature, isOpenAi, quirks });
  }

  #explain(error: unknown, sdk: typeof OpenAI, watch: Watch, timeoutMs: number, model: string): ProviderError {
    return toProviderError(this.#party(model), readError(error, sdk, watch, timeoutMs), error);
  }

  #party(model: string): Party {
    const { apiKey: secret, path: settings } = this.#settings;
    return { id: this.id, name: this.name, model, host: hostOf(this.#baseUrl), secret, settings };
  }

  #quirksOf(model: string): Set<Quirk> {
    const known = this.#quirks.get(model) ?? new Set<Quirk>();
    this.#quirks.set(model, known);
    return known;
  }
}
