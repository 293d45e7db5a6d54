/** What an embedding service behind a server is made from: `memory.embedding` of the configuration. */
export interface EmbeddingSettings {
  readonly model: string;
  /** Address of the API. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** Requested and required length of its vectors; the model's own when absent. */
  readonly dimensions?: number | undefined;
  /** Deadline of one request, in milliseconds. Default one minute: a batch on a small machine takes its time. */
  readonly timeoutMs?: number | undefined;
  /** Makes the requests; the platform's when absent. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export const DEFAULT_TIMEOUT_MS = 60_000;
