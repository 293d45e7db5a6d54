/** What writes short texts about memory: a chat model behind one endpoint, for summaries, tool-call sentences and wiki pages. */

export interface TextRequest {
  readonly system: string;
  readonly user: string;
  /** Bound of the answer, its reasoning not counted where the endpoint separates them. */
  readonly maxTokens: number;
  /** Whether the model may reason before it answers; an endpoint that has no such switch decides for itself. */
  readonly thinking: boolean;
  readonly signal: AbortSignal;
}

export interface TextAnswer {
  /** Without the model's reasoning; never empty. */
  readonly text: string;
  /** Whether the bound cut the answer short. */
  readonly truncated: boolean;
  /** Tokens of the request as the server counted them; absent where it does not report them. */
  readonly inputTokens?: number;
  /** The same of the answer, with its reasoning. */
  readonly outputTokens?: number;
}

export interface TextModel {
  /** Name of the model, stored beside what it writes. */
  readonly model: string;
  /**
   * Has no deadline but the signal, and retries after 5, 10 and 15 seconds when a failure may pass (specification,
   * "Memory-quality pipeline"). Rejects with a ProviderError after the last attempt and when asking again is no use (a bad
   * request, a wrong key, PROVIDER_EMPTY_ANSWER), and with the signal's reason once that is aborted.
   */
  complete(request: TextRequest): Promise<TextAnswer>;
}
