/** How long the vectors of each model of a service are: configured, or learned from the first answer. */
export class KnownDimensions {
  readonly #known = new Map<string, number>();

  constructor(model: string, configured: number | undefined) {
    if (configured !== undefined) this.#known.set(model, configured);
  }

  of(model: string): number | null {
    return this.#known.get(model) ?? null;
  }

  learn(model: string, vectors: readonly (readonly number[])[]): void {
    const length = vectors[0]?.length;
    if (length !== undefined && !this.#known.has(model)) this.#known.set(model, length);
  }
}
