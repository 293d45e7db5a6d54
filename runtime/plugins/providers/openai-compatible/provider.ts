import type OpenAI from "openai";
import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { Message } from "../../../contracts/message.ts";
import type { ListedModels } from "../../../contracts/model-names.ts";
import type { ChatChunk, ChatOptions } from "../../../contracts/provider.ts";
import { isLocal } from "../../../contracts/urls.ts";
import { type Failure, hostOf } from "../../shared/model-http/failure.ts";
import { listedModels } from "../shared/model-list.ts";
import { type SdkCall, SdkProvider } from "../shared/sdk-provider.ts";
import { DEFAULT_MAX_RETRIES, NO_SDK_TIMEOUT_MS, type ProviderSettings } from "../shared/settings.ts";
import type { Watch } from "../shared/watch.ts";
import { readError } from "./errors.ts";
import { type Quirk, quirkFor } from "./quirks.ts";
import { toRequest } from "./request.ts";
import { readStream } from "./stream.ts";
import type { Reasoning } from "./thinking.ts";

const OPENAI_URL = "https://api.openai.com/v1";
/** What servers without keys get: the SDK insists on one. */
const NO_KEY = "none";

/** A service that has this API, as its own provider. */
export interface Service {
  /** For people. */
  readonly name: string;
  /** Address of the service, which insists on a key. */
  readonly home: string;
  readonly reasoning?: Reasoning;
  /** Media types of images that it takes, where they are not those of OpenAI. */
  readonly imageTypes?: readonly string[];
}

const OPENAI: Service = { name: "OpenAI-compatible", home: OPENAI_URL };

type Sdk = typeof OpenAI;
type Params = ChatCompletionCreateParamsStreaming;

/** Any endpoint of chat-completions: OpenAI itself, gateways, and servers on the own machine. */
export class OpenAiCompatibleProvider extends SdkProvider<Sdk, Params, Quirk> {
  readonly #service: Pick<Service, "reasoning" | "imageTypes">;

  constructor({ login: _, ...settings }: ProviderSettings, service: Service = OPENAI) {
    const baseUrl = (settings.baseUrl ?? service.home).replace(/\/+$/, "");
    super(settings, { name: service.name, home: service.home, baseUrl, modelsUrl: `${baseUrl}/models` });
    const { reasoning, imageTypes } = service;
    this.#service = {
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(imageTypes === undefined ? {} : { imageTypes }),
    };
  }

  /** Servers of this machine list all that they have. */
  listModels(signal: AbortSignal): Promise<ListedModels | null> {
    const { apiKey, fetch } = this.settings;
    const headers = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
    return listedModels({ url: `${this.baseUrl}/models`, headers }, { fetch, signal, complete: isLocal(this.baseUrl) });
  }

  protected async loadSdk(): Promise<Sdk> {
    return (await import("openai")).default;
  }

  protected request(
    messages: readonly Message[],
    options: ChatOptions,
    model: string,
    quirks: ReadonlySet<Quirk>,
  ): Params {
    const { maxTokens, temperature } = this.settings;
    const isOpenAi = hostOf(this.baseUrl) === hostOf(OPENAI_URL);
    return toRequest(messages, options, {
      provider: this.id,
      model,
      maxTokens,
      temperature,
      isOpenAi,
      quirks,
      ...this.#service,
    });
  }

  protected async *attempt({
    sdk,
    params,
    model,
    watch,
  }: SdkCall<Sdk, Params>): AsyncGenerator<ChatChunk, void, undefined> {
    // Everything that the SDK would take from the environment is passed explicitly: only the configuration counts.
    const client = new sdk({
      apiKey: this.settings.apiKey || NO_KEY,
      baseURL: this.baseUrl,
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      maxRetries: this.settings.maxRetries ?? DEFAULT_MAX_RETRIES,
      timeout: NO_SDK_TIMEOUT_MS,
      logLevel: "off",
      fetch: watch.fetch,
    });
    const stream = await client.chat.completions.create(params, { signal: watch.signal });
    yield* readStream(stream, { provider: this.id, model, watch });
  }

  protected readError(error: unknown, sdk: Sdk, watch: Watch, timeoutMs: number): Failure {
    return readError(error, sdk, watch, timeoutMs);
  }

  protected quirkFor(failure: Failure, params: Params): Quirk | undefined {
    return quirkFor(failure, params);
  }

  protected lasts(quirk: Quirk): boolean {
    return quirk !== "no-token-limit";
  }
}
