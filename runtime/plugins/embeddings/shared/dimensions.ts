/** How long the vectors of each model of a service are: configured, or learned from the first answer. */
export class DimensionsCache {
  readonly #cache = new Map<string, number>();

  constructor(model: string, configured: number | undefined) {
    if (configured !== undefined) this.#cache.set(model, configured);
  }

  of(model: string): number | null {
    return this.#cache.get(model) ?? null;
  }

  learn(model: string, vectors: readonly (readonly number[])[]): void {
    const length = vectors[0]?.length;
    if (length !== undefined && !this.#cache.has(model)) this.#cache.set(model, length);
  }
}
