/** Numbers that follow from one seed (mulberry32). fast-check chooses seeds; what happens in one schedule all follows from its own. */

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Whole, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  of<T>(all: readonly [T, ...T[]] | readonly T[]): T {
    const chosen = all[this.between(0, all.length - 1)];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }
}
