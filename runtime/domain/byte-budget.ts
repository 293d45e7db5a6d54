/** How many bytes of request bodies may be held at once, by token and in all. Pure. */

export interface ByteLimits {
  readonly total: number;
  readonly perHolder: number;
}

/** A share that was taken; returning it again has no effect. */
export interface ByteShare {
  /** False, and nothing is taken, where the budget has no room. */
  take(bytes: number): boolean;
  release(): void;
}

/** Bodies of this size and less get a quarter more of both limits: a question finds room while transcripts fill the rest. */
const SMALL_BYTES = 64 * 1024;
const HEADROOM = 1.25;

export class ByteBudget {
  readonly #limits: ByteLimits;
  readonly #byHolder = new Map<string, number>();
  #total = 0;

  constructor(limits: ByteLimits) {
    this.#limits = limits;
  }

  get held(): number {
    return this.#total;
  }

  /** Nothing is taken yet. */
  shareOf(holder: string): ByteShare {
    let taken = 0;
    let released = false;
    return {
      take: (bytes) => {
        if (released || !this.#hasRoom(holder, taken, bytes)) return false;
        taken += bytes;
        this.#add(holder, bytes);
        return true;
      },
      release: () => {
        if (released) return;
        released = true;
        this.#add(holder, -taken);
      },
    };
  }

  #hasRoom(holder: string, taken: number, bytes: number): boolean {
    const factor = taken + bytes <= SMALL_BYTES ? HEADROOM : 1;
    const own = (this.#byHolder.get(holder) ?? 0) + bytes;
    return own <= this.#limits.perHolder * factor && this.#total + bytes <= this.#limits.total * factor;
  }

  #add(holder: string, bytes: number): void {
    this.#total += bytes;
    const own = (this.#byHolder.get(holder) ?? 0) + bytes;
    if (own > 0) this.#byHolder.set(holder, own);
    else this.#byHolder.delete(holder);
  }
}
