/** Tokens of peers that were used: each is good for one request. What cannot be remembered is not accepted. Pure. */

/** Tokens of one node that can be remembered: 80 requests a second, for as long as a token may be usable (four minutes). */
const MAX_OF_ONE = 20_000;
/** Of all nodes together: about 20 MB. */
const MAX_OF_ALL = 200_000;

export class UsedTokens {
  /** Node -> token -> second from which on its age refuses it. */
  readonly #used = new Map<string, Map<string, number>>();
  readonly #limits: { readonly ofOne: number; readonly ofAll: number };
  #count = 0;

  constructor(limits = { ofOne: MAX_OF_ONE, ofAll: MAX_OF_ALL }) {
    this.#limits = limits;
  }

  /** `full`: the token was not used, but nothing would tell if it were used again. Times are in seconds. */
  use(
    node: string,
    token: { readonly id: string; readonly usableUntil: number },
    now: number,
  ): "new" | "used" | "full" {
    const ofNode = this.#used.get(node) ?? new Map<string, number>();
    if (ofNode.has(token.id)) return "used";
    this.#forget(node, ofNode, now);
    if (this.#count >= this.#limits.ofAll) for (const [id, tokens] of this.#used) this.#forget(id, tokens, now);
    if (ofNode.size >= this.#limits.ofOne || this.#count >= this.#limits.ofAll) return "full";
    ofNode.set(token.id, token.usableUntil);
    this.#used.set(node, ofNode);
    this.#count++;
    return "new";
  }

  /** Those of one node come by its own clock, so that the oldest is the first. */
  #forget(node: string, tokens: Map<string, number>, now: number): void {
    for (const [id, usableUntil] of tokens) {
      if (usableUntil >= now) break;
      tokens.delete(id);
      this.#count--;
    }
    if (tokens.size === 0) this.#used.delete(node);
  }
}
