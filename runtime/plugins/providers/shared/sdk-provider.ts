import type { Message } from "../../../contracts/message.ts";
import type { ChatChunk, ChatOptions, ChatReply, Provider } from "../../../contracts/provider.ts";
import { type Failure, hostOf, type Party, toProviderError } from "../../shared/model-http/failure.ts";
import { runCall } from "./call.ts";
import { collect } from "./collect.ts";
import { openFetch } from "./connection.ts";
import { answers } from "./probe.ts";
import { DEFAULT_TIMEOUT_MS, keyProblem, type ProviderSettings } from "./settings.ts";
import type { Watch } from "./watch.ts";

/** What a provider has besides its settings. */
export interface SdkTraits {
  /** For people: `Anthropic`. */
  readonly name: string;
  /** Address of the API's own service, which insists on a key. */
  readonly home: string;
  /** From the address that is configured, as the SDK wants it. */
  readonly baseUrl: string;
  /** Lists the models; answered by servers without keys, too. */
  readonly modelsUrl: string;
}

/** One call, as `attempt` gets it. */
export interface SdkCall<Sdk, Params> {
  readonly sdk: Sdk;
  readonly params: Params;
  readonly model: string;
  readonly watch: Watch;
}

/**
 * A provider over the library of its API: keys, availability, what is learned about each model, and one call with its
 * attempts. A provider adds how the request is built, sent and read, and how the library's errors are read.
 */
export abstract class SdkProvider<Sdk, Params, Quirk extends string> implements Provider {
  readonly id: string;
  readonly name: string;
  protected readonly settings: ProviderSettings;
  protected readonly baseUrl: string;
  readonly #traits: SdkTraits;
  /** What was learned about each model, for the life of the process. */
  readonly #quirks = new Map<string, Set<Quirk>>();
  #model: string;
  #fetch: typeof globalThis.fetch | undefined;

  constructor(settings: ProviderSettings, traits: SdkTraits) {
    this.id = settings.id;
    this.name = traits.name;
    // Keys come out of files with line ends.
    this.settings = { ...settings, apiKey: settings.apiKey?.trim() };
    this.baseUrl = traits.baseUrl;
    this.#traits = traits;
    this.#model = settings.model;
  }

  /** At the first call: a process that never makes one does not carry the SDK. */
  protected abstract loadSdk(): Promise<Sdk>;
  protected abstract request(
    messages: readonly Message[],
    options: ChatOptions,
    model: string,
    quirks: ReadonlySet<Quirk>,
  ): Params;
  /** Sends the request and reads the answer; throws whatever the SDK throws. */
  protected abstract attempt(call: SdkCall<Sdk, Params>): AsyncIterable<ChatChunk>;
  protected abstract readError(error: unknown, sdk: Sdk, watch: Watch, timeoutMs: number): Failure;
  protected abstract quirkFor(failure: Failure, params: Params): Quirk | undefined;
  /** Whether it concerns the model, and not only one conversation. */
  protected abstract lasts(quirk: Quirk): boolean;

  async *chatStream(
    messages: readonly Message[],
    options: ChatOptions = {},
  ): AsyncGenerator<ChatChunk, void, undefined> {
    options.signal?.throwIfAborted();
    const model = options.model ?? this.#model;
    const { apiKey, login, logger, timeoutMs = DEFAULT_TIMEOUT_MS } = this.settings;
    const problem = keyProblem(apiKey, this.isHome && login === undefined);
    if (problem !== undefined) throw toProviderError(this.#party(model), { kind: "key", problem });
    const sdk = await this.loadSdk();
    const found = this.#quirksOf(model);
    this.#fetch ??= this.settings.fetch ?? (await openFetch());
    const build = (quirks: ReadonlySet<Quirk>): Params => this.request(messages, options, model, quirks);

    yield* runCall<Quirk>({
      signal: options.signal,
      timeoutMs,
      fetch: this.#fetch,
      quirks: found,
      attempt: (quirks, watch) => this.attempt({ sdk, params: build(quirks), model, watch }),
      explain: (error, watch) =>
        toProviderError(this.#party(model), this.readError(error, sdk, watch, timeoutMs), error),
      adapt: (error, quirks, watch) => this.quirkFor(this.readError(error, sdk, watch, timeoutMs), build(quirks)),
      onAdapted: (quirk) => {
        if (this.lasts(quirk)) found.add(quirk);
        logger.info({ provider: this.id, model, quirk }, "request adapted to what the server accepts");
      },
    });
  }

  chat(messages: readonly Message[], options?: ChatOptions): Promise<ChatReply> {
    return collect(this.chatStream(messages, options));
  }

  /** With a key or a login: true. Without: whether a server other than the API's own answers at the address. */
  async isAvailable(): Promise<boolean> {
    const { apiKey, login } = this.settings;
    if (apiKey) return true;
    if (login !== undefined) return login.present();
    return !this.isHome && (await answers(this.#traits.modelsUrl));
  }

  getModel(): string {
    return this.#model;
  }

  setModel(model: string): void {
    this.#model = model;
  }

  /** Whether it is the API's own service that is called. */
  protected get isHome(): boolean {
    return this.baseUrl === this.#traits.home;
  }

  #party(model: string): Party {
    const { apiKey, login, path = `providers.${this.id}` } = this.settings;
    return {
      subject: `Provider "${this.id}" (${this.name}, ${model})`,
      host: hostOf(this.baseUrl),
      secret: apiKey,
      login: !apiKey && login !== undefined ? this.id : undefined,
      settings: path,
    };
  }

  #quirksOf(model: string): Set<Quirk> {
    const found = this.#quirks.get(model) ?? new Set<Quirk>();
    this.#quirks.set(model, found);
    return found;
  }
}
