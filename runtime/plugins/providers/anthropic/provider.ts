import type Anthropic from "@anthropic-ai/sdk";
import type { Message } from "../../../contracts/message.ts";
import type { ChatChunk, ChatOptions } from "../../../contracts/provider.ts";
import type { Failure } from "../../shared/model-http/failure.ts";
import { withBearer } from "../shared/bearer.ts";
import { type SdkCall, SdkProvider } from "../shared/sdk-provider.ts";
import { DEFAULT_MAX_RETRIES, NO_SDK_TIMEOUT_MS, type ProviderSettings } from "../shared/settings.ts";
import type { Watch } from "../shared/watch.ts";
import { readError } from "./errors.ts";
import { type Quirk, quirkFor, type RequestParams } from "./quirks.ts";
import { toRequest } from "./request.ts";
import { readStream } from "./stream.ts";

const ANTHROPIC_URL = "https://api.anthropic.com";
/** What servers without keys get: the SDK insists on one. */
const NO_KEY = "none";
/** Anthropic's own API requires it in addition to the token of a login. */
const LOGIN_BETA = { "anthropic-beta": "oauth-2025-04-20" };

type Sdk = typeof Anthropic;
type Call = SdkCall<Sdk, RequestParams>;

/** Claude models through Anthropic's messages API, or a server that imitates it. */
export class AnthropicProvider extends SdkProvider<Sdk, RequestParams, Quirk> {
  constructor(settings: ProviderSettings) {
    // The SDK appends /v1 itself; addresses are often given with it.
    const baseUrl = (settings.baseUrl ?? ANTHROPIC_URL).replace(/\/+$/, "").replace(/\/v1$/, "");
    super(settings, { name: "Anthropic", home: ANTHROPIC_URL, baseUrl, modelsUrl: `${baseUrl}/v1/models` });
  }

  protected async loadSdk(): Promise<Sdk> {
    return (await import("@anthropic-ai/sdk")).default;
  }

  protected request(
    messages: readonly Message[],
    options: ChatOptions,
    model: string,
    quirks: ReadonlySet<Quirk>,
  ): RequestParams {
    const { maxTokens, temperature } = this.settings;
    return toRequest(messages, options, { provider: this.id, model, maxTokens, temperature, quirks });
  }

  protected async *attempt(call: Call): AsyncGenerator<ChatChunk, void, undefined> {
    const { apiKey, login } = this.settings;
    if (apiKey || login === undefined) return yield* this.#send(call);
    const { watch } = call;
    const bearer = withBearer(watch.fetch, login, await login.token(watch.signal), watch.signal);
    try {
      yield* this.#send({ ...call, watch: { ...watch, fetch: bearer.fetch } });
    } catch (error) {
      throw bearer.failure() ?? error;
    }
  }

  protected readError(error: unknown, sdk: Sdk, watch: Watch, timeoutMs: number): Failure {
    return readError(error, sdk, watch, timeoutMs);
  }

  protected quirkFor(failure: Failure, params: RequestParams): Quirk | undefined {
    return quirkFor(failure, params);
  }

  /** A refusal of old thinking is a fact about this conversation, and not about the model. */
  protected lasts(quirk: Quirk): boolean {
    return quirk !== "no-replay";
  }

  async *#send({ sdk, params, watch, model }: Call): AsyncGenerator<ChatChunk, void, undefined> {
    // Everything that the SDK would take from the environment or from profiles is passed explicitly: only the configuration counts.
    const apiKey = this.settings.apiKey || NO_KEY;
    const client = new sdk({
      apiKey,
      baseURL: this.baseUrl,
      // The SDK sends a bearer token, which not every imitation of the API accepts.
      ...this.#headers(apiKey),
      webhookKey: null,
      openTelemetry: false,
      maxRetries: this.settings.maxRetries ?? DEFAULT_MAX_RETRIES,
      timeout: NO_SDK_TIMEOUT_MS,
      logLevel: "off",
      fetch: watch.fetch,
    });
    const stream = await client.messages.create(params, { signal: watch.signal });
    yield* readStream(stream, { provider: this.id, model, watch });
  }

  #headers(apiKey: string): { readonly defaultHeaders?: Readonly<Record<string, string>> } {
    if (!this.isHome) return { defaultHeaders: { "x-api-key": apiKey } };
    return this.settings.apiKey || this.settings.login === undefined ? {} : { defaultHeaders: LOGIN_BETA };
  }
}
