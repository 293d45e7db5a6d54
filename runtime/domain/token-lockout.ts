/**
 * Which addresses may try tokens. An address that has tried too many different wrong ones is locked out for a while: then only
 * tokens that it has used before are checked, so that a guess is refused whether it is right or not. Pure.
 */

export interface LockoutLimits {
  readonly wrongPerMinute: number;
  readonly lockoutMs: number;
}

interface Address {
  /** Tokens of this minute that were wrong, or are still being checked. */
  readonly tried: Set<string>;
  /** Of these, the ones that were wrong. */
  readonly wrong: Set<string>;
  minuteEnds: number;
  lockedUntil: number;
}

const MINUTE_MS = 60_000;
/** Of addresses with wrong tokens, and of pairs of address and known token; the oldest are forgotten. */
const MAX_ENTRIES = 10_000;

export class TokenLockout {
  readonly #limits: LockoutLimits;
  readonly #addresses = new Map<string, Address>();
  readonly #accepted = new Map<string, true>();

  constructor(limits: LockoutLimits) {
    this.#limits = limits;
  }

  /** To be called before a token is checked: it counts as wrong until `right` is called. Milliseconds to wait, or 0. */
  tryToken(address: string, token: string, now: number): number {
    if (this.#accepted.has(pair(address, token))) return 0;
    const { wrongPerMinute } = this.#limits;
    const entry = this.#addresses.get(address) ?? newAddress();
    if (entry.lockedUntil > now) return entry.lockedUntil - now;
    if (entry.minuteEnds <= now) {
      entry.tried.clear();
      entry.wrong.clear();
      entry.lockedUntil = 0;
      entry.minuteEnds = now + MINUTE_MS;
    }
    // A program with an old token repeats it: that is no guess, and must not lock out its neighbours.
    if (entry.tried.has(token)) return 0;
    if (entry.tried.size >= wrongPerMinute) return entry.minuteEnds - now;
    entry.tried.add(token);
    put(this.#addresses, address, entry);
    return 0;
  }

  right(address: string, token: string): void {
    this.unknown(address, token);
    put(this.#accepted, pair(address, token), true);
  }

  /** It could not be checked. */
  unknown(address: string, token: string): void {
    const entry = this.#addresses.get(address);
    if (!entry?.tried.delete(token)) return;
    if (entry.tried.size === 0 && entry.lockedUntil === 0) this.#addresses.delete(address);
  }

  /** Whether the address is locked out by it. */
  wrong(address: string, token: string, now: number): boolean {
    // It was revoked: from now on it is a token like any other.
    this.#accepted.delete(pair(address, token));
    const entry = this.#addresses.get(address);
    if (!entry?.tried.has(token) || entry.lockedUntil > now) return false;
    entry.wrong.add(token);
    if (entry.wrong.size < this.#limits.wrongPerMinute) return false;
    entry.lockedUntil = now + this.#limits.lockoutMs;
    return true;
  }
}

function newAddress(): Address {
  return { tried: new Set(), wrong: new Set(), minuteEnds: 0, lockedUntil: 0 };
}

function pair(address: string, token: string): string {
  return `${address} ${token}`;
}

/** As the newest entry. */
function put<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_ENTRIES) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
