/** What makes vectors of texts: one model behind one server, or in this process. Plugins implement it. */

export interface EmbedOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Another model of the same server than the configured one: while a changed model's vectors are still being made,
   * queries are compared with those of the old one.
   */
  readonly model?: string | undefined;
}

export interface EmbeddingService {
  /** Name of the configured model; vectors are stored under it and compared with no other's. */
  readonly model: string;
  /** Of the configured model: as configured, else learned from its first answer; null until then. */
  readonly dimensions: number | null;
  /**
   * One request, with a deadline of its own, and never sent twice: retries are up to the caller. One vector a text, in
   * the texts' order: finite numbers, all of the model's dimensions. Rejects with a ProviderError, or with the signal's
   * reason once that is aborted.
   */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<readonly (readonly number[])[]>;
  /** Frees what the process holds for it. */
  close(): Promise<void>;
}

/** The longest vector that is stored; what a longer one has beyond it is cut (specification, "Limits"). */
export const MAX_EMBEDDING_DIMENSIONS = 4_000;
