import { ProviderError } from "../../../runtime/contracts/errors.ts";
import type { Message } from "../../../runtime/contracts/message.ts";
import type { ChatChunk, ChatOptions, Provider } from "../../../runtime/contracts/provider.ts";
import type { BackendStep, OpenProvider, ProviderHarness } from "../../../runtime/testing/provider/index.ts";

/** A provider with its backend in one object, right in all but what a test breaks. */

type Backend = { requests: { model: string; body: string; closed: boolean }[]; isClosed: boolean };

export class Scripted implements Provider {
  readonly id: string = "scripted";
  readonly name: string = "Scripted";
  protected readonly script: readonly BackendStep[];
  readonly backend: Backend = { requests: [], isClosed: false };
  protected model = "model-of-the-test";

  constructor(script: readonly BackendStep[]) {
    this.script = script;
  }

  async *chatStream(messages: readonly Message[], options: ChatOptions = {}): AsyncGenerator<ChatChunk> {
    options.signal?.throwIfAborted();
    if (this.backend.isClosed) throw this.error("PROVIDER_UNREACHABLE");
    const request = {
      model: this.modelOf(options),
      body: this.bodyOf(messages, options),
      closed: false,
    };
    this.backend.requests.push(request);
    const step = this.script[this.backend.requests.length - 1] ?? this.script.at(-1);
    let isOut = false;
    try {
      for await (const chunk of this.play(step, options, request.model)) {
        if (chunk.type === "end") isOut = true;
        yield chunk;
      }
      isOut = true;
    } finally {
      if (!isOut) this.closeRequest(request);
    }
  }

  async chat(messages: readonly Message[], options?: ChatOptions) {
    let text = "";
    for await (const chunk of this.chatStream(messages, options)) {
      if (chunk.type === "text") text += chunk.text;
      if (chunk.type === "end") return { ...chunk, text, reasoning: "", toolCalls: [] };
    }
    throw this.error("PROVIDER_STREAM_TRUNCATED");
  }

  isAvailable(): Promise<boolean> {
    return Promise.resolve(!this.backend.isClosed);
  }

  async listModels(signal: AbortSignal) {
    signal.throwIfAborted();
    return { names: [this.model], complete: true };
  }

  getModel(): string {
    return this.model;
  }

  setModel(model: string): void {
    this.model = model;
  }

  protected modelOf(options: ChatOptions): string {
    return options.model ?? this.model;
  }

  /** The results in the order of the calls; state of others is not sent. */
  protected bodyOf(messages: readonly Message[], options: ChatOptions): string {
    const own = messages.map(({ providerState: _, ...message }) => message);
    return JSON.stringify({ ...options, signal: undefined, messages: own });
  }

  protected closeRequest(request: { closed: boolean }): void {
    request.closed = true;
  }

  protected async *play(
    step: BackendStep | undefined,
    { signal }: ChatOptions,
    model: string,
  ): AsyncGenerator<ChatChunk> {
    switch (step?.kind) {
      case "answer":
        for (const text of step.text ?? []) yield { type: "text", text };
        for (const [n, { name, json }] of (step.toolCalls ?? []).entries()) {
          yield { type: "tool_call", call: { id: this.callId(n), name, arguments: this.argumentsOf(json) } };
        }
        yield this.end(step, model);
        return;
      case "stall":
      case "break":
        for (const text of step.text.slice(0, 3)) yield { type: "text", text };
        if (step.kind === "break") throw this.error("PROVIDER_STREAM_TRUNCATED");
        return this.waitFor(signal);
      case "refuse":
        throw this.refusal(step);
      default:
        return this.waitFor(signal);
    }
  }

  protected callId(n: number): string {
    return `call_${n}`;
  }

  protected argumentsOf(json: string): Record<string, unknown> {
    try {
      return JSON.parse(json);
    } catch {
      return { __invalid_json: json };
    }
  }

  protected end(step: Extract<BackendStep, { kind: "answer" }>, model: string): ChatChunk {
    const stopReason = step.cut ? "length" : (step.toolCalls ?? []).length > 0 ? "tool_calls" : "end";
    return { type: "end", stopReason, usage: step.usage ?? { inputTokens: 1, outputTokens: 1 }, model };
  }

  protected waitFor(signal: AbortSignal | undefined): Promise<never> {
    return new Promise((_resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  protected refusal({ status, retryAfterS }: Extract<BackendStep, { kind: "refuse" }>): Error {
    const codes: Record<number, ProviderError["code"]> = {
      401: "PROVIDER_UNAUTHORIZED",
      403: "PROVIDER_UNAUTHORIZED",
      413: "PROVIDER_CONTEXT_TOO_LONG",
      429: "PROVIDER_RATE_LIMITED",
      500: "PROVIDER_SERVER_ERROR",
      503: "PROVIDER_OVERLOADED",
    };
    return this.error(codes[status] ?? "PROVIDER_REJECTED_REQUEST", retryAfterS);
  }

  protected error(code: ProviderError["code"], retryAfterS?: number): Error {
    return new ProviderError(code, "made by a test", retryAfterS === undefined ? {} : { retryAfterS });
  }
}

/** The harness of an author, for a class of such providers. */
export function harnessOf(Made: new (script: readonly BackendStep[]) => Scripted): ProviderHarness {
  return {
    async open(script): Promise<OpenProvider> {
      const provider = new Made(script);
      return {
        provider,
        requests: () => provider.backend.requests,
        close: async () => {
          provider.backend.isClosed = true;
        },
      };
    },
  };
}
