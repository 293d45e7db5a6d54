import type { Ollama } from "ollama/browser";
import type { Message } from "../../../contracts/message.ts";
import type { ListedModels } from "../../../contracts/model-names.ts";
import type { ChatChunk, ChatOptions } from "../../../contracts/provider.ts";
import type { Failure } from "../../shared/model-http/failure.ts";
import { listedModels } from "../shared/model-list.ts";
import { createResend } from "../shared/resend.ts";
import { type SdkCall, SdkProvider } from "../shared/sdk-provider.ts";
import { DEFAULT_MAX_RETRIES, type ProviderSettings } from "../shared/settings.ts";
import type { Watch } from "../shared/watch.ts";
import { readError } from "./errors.ts";
import { checkedLines } from "./lines.ts";
import { type Quirk, quirkFor } from "./quirks.ts";
import { type Params, toRequest } from "./request.ts";
import { readStream } from "./stream.ts";

const LOCAL_URL = "http://127.0.0.1:11434";
/** The service of Ollama's makers: the one place that insists on a key. */
const CLOUD_URL = "https://ollama.com";

type Sdk = typeof Ollama;

/** Models of an Ollama server, by its own API. */
export class OllamaProvider extends SdkProvider<Sdk, Params, Quirk> {
  constructor({ login: _, ...settings }: ProviderSettings) {
    const baseUrl = (settings.baseUrl ?? LOCAL_URL).replace(/\/+$/, "").replace(/\/api$/, "");
    super(settings, { name: "Ollama", home: CLOUD_URL, baseUrl, modelsUrl: `${baseUrl}/api/tags` });
  }

  /** A server has no others than those that it lists. */
  listModels(signal: AbortSignal): Promise<ListedModels | null> {
    const { fetch } = this.settings;
    return listedModels(
      { url: `${this.baseUrl}/api/tags`, headers: this.#headers() },
      { fetch, signal, complete: true },
    );
  }

  /** That for browsers: the other one takes the text of an image for the path of a file, and reads it. */
  protected async loadSdk(): Promise<Sdk> {
    return (await import("ollama/browser")).Ollama;
  }

  protected request(
    messages: readonly Message[],
    options: ChatOptions,
    model: string,
    quirks: ReadonlySet<Quirk>,
  ): Params {
    const { maxTokens, temperature, contextWindow } = this.settings;
    return toRequest(messages, options, { provider: this.id, model, maxTokens, temperature, contextWindow, quirks });
  }

  protected async *attempt({
    sdk,
    params,
    model,
    watch,
  }: SdkCall<Sdk, Params>): AsyncGenerator<ChatChunk, void, undefined> {
    const send = createResend(watch, this.settings.maxRetries ?? DEFAULT_MAX_RETRIES);
    const client = new sdk({
      host: this.baseUrl,
      headers: this.#headers(),
      fetch: async (input, init) => {
        const { body, status, headers } = await send(input, init);
        return new Response(body === null ? null : checkedLines(body, watch), { status, headers });
      },
    });
    yield* readStream(client.chat(params), { provider: this.id, model, watch });
  }

  protected readError(error: unknown, _sdk: Sdk, watch: Watch, timeoutMs: number): Failure {
    return readError(error, watch, timeoutMs);
  }

  protected quirkFor(failure: Failure, params: Params): Quirk | undefined {
    return quirkFor(failure, params);
  }

  protected lasts(): boolean {
    return true;
  }

  #headers(): Record<string, string> {
    const { apiKey } = this.settings;
    return apiKey ? { authorization: `Bearer ${apiKey}` } : {};
  }
}
