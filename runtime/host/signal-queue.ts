/** Signals in the order in which they came, none lost between two waits. */
export class SignalQueue {
  readonly #came: NodeJS.Signals[] = [];
  #wake: () => void = () => {};

  constructor(signals: readonly NodeJS.Signals[]) {
    for (const signal of signals) {
      process.on(signal, () => {
        this.#came.push(signal);
        this.#wake();
      });
    }
  }

  async next(): Promise<NodeJS.Signals> {
    for (;;) {
      const signal = this.#came.shift();
      if (signal) return signal;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
