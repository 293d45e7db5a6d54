import { createHash } from "node:crypto";

const USES_BEFORE_NAMED = 3;
const MAX_NAMED = 200;
const MAX_COUNTED = 1_000;
const MAX_LENGTH = 4_000;

/**
 * Decides which statements are prepared under a name: those that come again and again. A named statement is parsed
 * once a connection, but costs the server memory for as long as that lives, so SQL that is built at run time must not
 * fill it: the number of names is bounded.
 */
export class PreparedStatements {
  readonly #uses = new Map<string, number>();
  readonly #names = new Map<string, string>();
  #generation = 0;

  /** The name to prepare this text under, or undefined to send it unnamed. */
  nameOf(text: string): string | undefined {
    const cached = this.#names.get(text);
    if (cached !== undefined) return cached;
    if (text.length > MAX_LENGTH || this.#names.size >= MAX_NAMED) return undefined;
    const uses = (this.#uses.get(text) ?? 0) + 1;
    if (uses < USES_BEFORE_NAMED) {
      if (this.#uses.size >= MAX_COUNTED) this.#uses.clear();
      this.#uses.set(text, uses);
      return undefined;
    }
    this.#uses.delete(text);
    const name = `s${this.#generation}_${createHash("sha256").update(text).digest("base64url").slice(0, 20)}`;
    this.#names.set(text, name);
    return name;
  }

  /** After a schema change the server refuses old plans whose result type changed: all names are given anew. */
  forget(): void {
    this.#generation += 1;
    this.#names.clear();
    this.#uses.clear();
  }
}
