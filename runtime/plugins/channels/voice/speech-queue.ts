/** Sentences that are spoken in their order, with at most two of them requested before they are taken. */

import type { Spoken, Synthesize } from "./speech.ts";

const AHEAD = 2;

export interface SpokenSentence extends Spoken {
  readonly text: string;
}

export class SpeechQueue {
  readonly #synthesize: Synthesize;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  readonly #waiting: string[] = [];
  readonly #requested: Promise<SpokenSentence>[] = [];
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(synthesize: Synthesize, signal: AbortSignal) {
    this.#synthesize = synthesize;
    this.#signal = AbortSignal.any([signal, this.#stopping.signal]);
    this.#signal.addEventListener("abort", () => this.#wake(), { once: true });
  }

  push(sentences: readonly string[]): void {
    if (this.#ended) return;
    this.#waiting.push(...sentences);
    this.#request();
    this.#wake();
  }

  /** No more will come. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Gives up what was not taken. */
  stop(): void {
    this.end();
    this.#stopping.abort();
  }

  /** The next sentence; null after the last one. Rejects with what speaking it failed with, or when it was stopped. */
  async next(): Promise<SpokenSentence | null> {
    for (;;) {
      this.#signal.throwIfAborted();
      const [first] = this.#requested;
      if (first !== undefined) {
        const spoken = await first;
        this.#requested.shift();
        this.#request();
        return spoken;
      }
      if (this.#ended) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #request(): void {
    while (this.#requested.length < AHEAD && !this.#signal.aborted) {
      const text = this.#waiting.shift();
      if (text === undefined) return;
      const spoken = this.#synthesize(text, this.#signal).then((made) => ({ ...made, text }));
      // Reported when it is its turn, if ever.
      spoken.catch(() => undefined);
      this.#requested.push(spoken);
    }
  }
}
