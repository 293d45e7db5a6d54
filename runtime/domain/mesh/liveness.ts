/**
 * Who of the other databases' members lives, by their heartbeats: a counter that only the node itself raises, and that members
 * pass on. It counts when it is higher than the last, by the clock of the node that hears it: clocks are never compared.
 */

import type { DigestRow } from "../../contracts/membership.ts";

export type Liveness = "alive" | "suspect" | "offline";

export const HEARTBEAT_MS = 15_000;
export const SUSPECT_MS = 45_000;
export const OFFLINE_MS = 90_000;

export interface LivenessLimits {
  readonly suspectMs: number;
  readonly offlineMs: number;
}

interface Heard {
  version: number;
  beat: number;
  /** By the monotonic clock. */
  at: number;
}

export class LivenessTable {
  readonly #limits: LivenessLimits;
  readonly #heard = new Map<string, Heard>();

  constructor(limits: LivenessLimits = { suspectMs: SUSPECT_MS, offlineMs: OFFLINE_MS }) {
    this.#limits = limits;
  }

  /** A node that is known from a file or a table, not by its heartbeat: suspect, until it is heard or its time is over. */
  expect(id: string, now: number): void {
    if (!this.#heard.has(id)) this.#heard.set(id, { version: 0, beat: 0, at: now - this.#limits.suspectMs });
  }

  /** A new start of a node has a higher version, and counts its beats from the beginning. */
  hear([id, version, beat]: DigestRow, now: number): void {
    const last = this.#heard.get(id);
    if (last === undefined) {
      this.#heard.set(id, { version, beat, at: now });
    } else if (version > last.version || (version === last.version && beat > last.beat)) {
      last.version = version;
      last.beat = beat;
      last.at = now;
    }
  }

  stateOf(id: string, now: number): Liveness {
    const last = this.#heard.get(id);
    if (last === undefined) return "offline";
    const silence = now - last.at;
    if (silence < this.#limits.suspectMs) return "alive";
    return silence < this.#limits.offlineMs ? "suspect" : "offline";
  }

  /** The last beat heard under this version; 0: none. */
  beatOf(id: string, version: number): number {
    const last = this.#heard.get(id);
    return last !== undefined && last.version === version ? last.beat : 0;
  }

  forget(id: string): void {
    this.#heard.delete(id);
  }
}
