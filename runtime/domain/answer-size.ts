/**
 * How much one answer of a model may hold: a server that never ends its answer would fill the memory. Far above what any
 * model can write: 128,000 tokens are half a million characters.
 */

/** Of text, thinking, arguments of calls, and what only the provider can read, together. */
export const MOST_ANSWER_CHARACTERS = 4_000_000;
export const MOST_ANSWER_CALLS = 1_000;

/** Counts what is collected of one answer, and throws what `excess` makes of the bound that it exceeds. */
export class AnswerSize {
  readonly #excess: (bound: string) => Error;
  #characters = 0;
  #calls = 0;

  constructor(excess: (bound: string) => Error) {
    this.#excess = excess;
  }

  add(text: string): void {
    this.#characters += text.length;
    if (this.#characters > MOST_ANSWER_CHARACTERS) {
      throw this.#excess(`more than ${MOST_ANSWER_CHARACTERS.toLocaleString("en")} characters`);
    }
  }

  addCall(): void {
    this.#calls += 1;
    if (this.#calls > MOST_ANSWER_CALLS) {
      throw this.#excess(`more than ${MOST_ANSWER_CALLS.toLocaleString("en")} calls of tools`);
    }
  }
}
