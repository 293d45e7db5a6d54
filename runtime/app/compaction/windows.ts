import { LEAST_WINDOW } from "../../domain/summaries/budgets.ts";

/** Conversations whose smaller windows are cached. */
const MOST_LEARNED = 1_000;

/**
 * What the model's window holds, in tokens as they are counted here. The model counts otherwise: of one conversation (another
 * script, long numbers) far less may fit than of all others, so what was learned at it is not held against them.
 */
export class Windows {
  readonly #configured: number;
  readonly #learned = new Map<string, number>();

  constructor(configured: number) {
    this.#configured = configured;
  }

  of(conversation: string): number {
    return this.#learned.get(conversation) ?? this.#configured;
  }

  halve(conversation: string): number {
    const window = Math.max(LEAST_WINDOW, Math.floor(this.of(conversation) / 2));
    this.#learned.set(conversation, window);
    // One that another node went on with is not heard of again.
    const [oldest] = this.#learned.keys();
    if (this.#learned.size > MOST_LEARNED && oldest !== undefined) this.#learned.delete(oldest);
    return window;
  }

  forget(conversation: string): void {
    this.#learned.delete(conversation);
  }
}
