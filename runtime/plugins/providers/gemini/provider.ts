import type { ApiError, GenerateContentParameters, GoogleGenAI } from "@google/genai/web";
import type { Message } from "../../../contracts/message.ts";
import type { ListedModels } from "../../../contracts/model-names.ts";
import type { ChatChunk, ChatOptions } from "../../../contracts/provider.ts";
import { isLocal } from "../../../contracts/urls.ts";
import type { Failure } from "../../shared/model-http/failure.ts";
import { listedModels } from "../shared/model-list.ts";
import { createResend } from "../shared/resend.ts";
import { type SdkCall, SdkProvider } from "../shared/sdk-provider.ts";
import { DEFAULT_MAX_RETRIES, type ProviderSettings } from "../shared/settings.ts";
import type { Watch } from "../shared/watch.ts";
import { readError } from "./errors.ts";
import { type Quirk, quirkFor } from "./quirks.ts";
import { toRequest } from "./request.ts";
import { readStream } from "./stream.ts";

const GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta";
/** What servers without keys get: the SDK insists on one. */
const NO_KEY = "none";

interface Sdk {
  readonly GoogleGenAI: typeof GoogleGenAI;
  readonly ApiError: typeof ApiError;
}

type Params = GenerateContentParameters;

/** Gemini models through Google's own API. */
export class GeminiProvider extends SdkProvider<Sdk, Params, Quirk> {
  constructor({ login: _, ...settings }: ProviderSettings) {
    const baseUrl = (settings.baseUrl ?? GEMINI_URL).replace(/\/+$/, "");
    super(settings, { name: "Gemini", home: GEMINI_URL, baseUrl, modelsUrl: `${baseUrl}/models` });
  }

  listModels(signal: AbortSignal): Promise<ListedModels | null> {
    const { apiKey, fetch } = this.settings;
    const headers = apiKey ? { "x-goog-api-key": apiKey } : {};
    const url = `${this.baseUrl}/models?pageSize=1000`;
    return listedModels({ url, headers }, { fetch, signal, complete: isLocal(this.baseUrl) });
  }

  /** That for browsers: the other one reads keys and addresses from the environment, and brings Google's logins along. */
  protected async loadSdk(): Promise<Sdk> {
    const { ApiError, GoogleGenAI } = await import("@google/genai/web");
    return { ApiError, GoogleGenAI };
  }

  protected request(
    messages: readonly Message[],
    options: ChatOptions,
    model: string,
    quirks: ReadonlySet<Quirk>,
  ): Params {
    const { maxTokens, temperature } = this.settings;
    return toRequest(messages, options, { provider: this.id, model, maxTokens, temperature, quirks });
  }

  protected async *attempt({
    sdk,
    params,
    model,
    watch,
  }: SdkCall<Sdk, Params>): AsyncGenerator<ChatChunk, void, undefined> {
    const client = new sdk.GoogleGenAI({
      apiKey: this.settings.apiKey || NO_KEY,
      vertexai: false,
      // The version is a part of the address already.
      apiVersion: "",
      httpOptions: {
        baseUrl: this.baseUrl,
        fetch: createResend(watch, this.settings.maxRetries ?? DEFAULT_MAX_RETRIES),
      },
    });
    const stream = await client.models.generateContentStream(params);
    yield* readStream(stream, { provider: this.id, model, watch });
  }

  protected readError(error: unknown, sdk: Sdk, watch: Watch, timeoutMs: number): Failure {
    return readError(error, sdk, watch, timeoutMs);
  }

  protected quirkFor(failure: Failure, params: Params): Quirk | undefined {
    return quirkFor(failure, params);
  }

  /** A refusal of old signatures is a fact about this conversation, and not about the model. */
  protected lasts(quirk: Quirk): boolean {
    return quirk !== "no-replay";
  }
}
