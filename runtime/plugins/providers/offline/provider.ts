import type { Memory, MemoryHit } from "../../../contracts/memory.ts";
import type { Message } from "../../../contracts/message.ts";
import type { ChatChunk, ChatOptions, ChatReply, Provider } from "../../../contracts/provider.ts";
import { collect } from "../shared/collect.ts";
import { compose, isStatement } from "./answer.ts";
import { toProviderError } from "./errors.ts";
import { type Lookup, toLookup } from "./request.ts";
import { toChunks } from "./stream.ts";

export interface OfflineSettings {
  readonly id: string;
  readonly memory: Memory;
  /** IANA time zone of the dates in answers. Default UTC. */
  readonly timezone?: string | undefined;
  /** Default false. */
  readonly inContainer?: boolean | undefined;
}

/** More than is shown: questions, doubles and our own answers are left out of what is found. */
const CANDIDATES = 20;

/** No model at all: answers with what memory finds. What a fresh machine has until there is a key or a local model. */
export class OfflineProvider implements Provider {
  readonly id: string;
  readonly name = "Offline";
  readonly models: readonly string[] = ["offline"];
  readonly hasModel = false;
  readonly #settings: OfflineSettings;
  #model = "offline";

  constructor(settings: OfflineSettings) {
    this.id = settings.id;
    this.#settings = settings;
  }

  async *chatStream(
    messages: readonly Message[],
    options: ChatOptions = {},
  ): AsyncGenerator<ChatChunk, void, undefined> {
    options.signal?.throwIfAborted();
    const lookup = toLookup(messages, options);
    const hits = await this.#search(lookup, options.signal);
    const text = compose(lookup.question, hits, {
      timezone: this.#settings.timezone ?? "UTC",
      agent: options.caller?.agent ?? "main",
      inContainer: this.#settings.inContainer ?? false,
      explained: lookup.explained,
    });
    for (const chunk of toChunks(text, this.#model)) {
      options.signal?.throwIfAborted();
      yield chunk;
    }
  }

  chat(messages: readonly Message[], options?: ChatOptions): Promise<ChatReply> {
    return collect(this.chatStream(messages, options));
  }

  isAvailable(): Promise<boolean> {
    return Promise.resolve(true);
  }

  getModel(): string {
    return this.#model;
  }

  setModel(model: string): void {
    this.#model = model;
  }

  async #search(lookup: Lookup, signal: AbortSignal | undefined): Promise<readonly MemoryHit[]> {
    const { question, visibility } = lookup;
    if (question === "" || isStatement(question) || visibility === undefined) return [];
    try {
      return await this.#settings.memory.search(question, {
        limit: CANDIDATES,
        expand: false,
        visibility,
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw toProviderError(this.id, error);
    }
  }
}
