/** Whether this node reaches the others of its fleet, and why not: each is asked who it is, as a peer asks. */

import { type ErrorBody, RuntimeError, toCairnError } from "../../contracts/errors.ts";
import type { Member, NodeEntry } from "../../contracts/node-entry.ts";
import type { Clock } from "../../contracts/ports.ts";
import { cap } from "../../domain/cap.ts";

/** What became of one question. */
export interface PeerPing {
  readonly id: string;
  readonly name: string;
  /** Milliseconds until it had answered; null where it has not. */
  readonly ms: number | null;
  /** Seconds by which its clock is ahead of this node's; negative: behind. Null where it does not tell its time. */
  readonly clock_ahead_s: number | null;
  /** Why it has not answered. */
  readonly error: ErrorBody | null;
}

export interface PingOptions {
  /** Name or id. */
  readonly node?: string | undefined;
  /** Milliseconds that each node gets. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface Reachability {
  /** Every node but this one, or those of this name or id. RUNTIME_NOT_FOUND where there is none. */
  ping(options: PingOptions): Promise<readonly PeerPing[]>;
}

export interface ReachabilityDeps {
  /** Id of this node. */
  readonly id: string;
  readonly members: () => Promise<readonly Member[]>;
  /** Asks the node who it is; rejects where it does not answer in time, or refuses. */
  readonly ask: (
    entry: NodeEntry,
    options: Pick<PingOptions, "timeoutMs" | "signal">,
  ) => Promise<{ readonly time?: string }>;
  readonly clock: Clock;
}

/** Questions at once: a fleet of hundreds is asked in seconds, and without as many connections. */
const AT_ONCE = 64;
/** UTF-16 code units of a message or a hint. */
const LONGEST_TEXT = 1_000;

export function createReachability({ id, members, ask, clock }: ReachabilityDeps): Reachability {
  async function pingOne({ entry }: Member, options: PingOptions): Promise<PeerPing> {
    const about = { id: entry.id, name: entry.name };
    const before = { wall: clock.now().getTime(), monotonic: clock.monotonic() };
    try {
      const { time } = await ask(entry, options);
      const ms = clock.monotonic() - before.monotonic;
      // It looked at its clock about halfway.
      const ahead = (Date.parse(time ?? "") - before.wall - ms / 2) / 1000;
      return { ...about, ms: rounded(ms), clock_ahead_s: Number.isFinite(ahead) ? rounded(ahead) : null, error: null };
    } catch (error) {
      options.signal?.throwIfAborted();
      return { ...about, ms: null, clock_ahead_s: null, error: shortened(toCairnError(error).toBody()) };
    }
  }

  return {
    async ping(options) {
      const { node: nameOrId } = options;
      const others = (await members()).filter(({ entry }) => entry.id !== id);
      const asked = others.filter(
        ({ entry }) => nameOrId === undefined || entry.name === nameOrId || entry.id === nameOrId,
      );
      if (nameOrId !== undefined && asked.length === 0) {
        throw new RuntimeError("RUNTIME_NOT_FOUND", `There is no other node ${nameOrId} in the fleet.`, {
          hint: "`cairn mesh list` shows the nodes.",
        });
      }
      const pings: PeerPing[] = [];
      for (let at = 0; at < asked.length; at += AT_ONCE) {
        const some = asked.slice(at, at + AT_ONCE);
        pings.push(...(await Promise.all(some.map((member) => pingOne(member, options)))));
      }
      return pings;
    },
  };
}

/** What the other node says of its failure may be long. */
function shortened({ message, hint, ...body }: ErrorBody): ErrorBody {
  return {
    ...body,
    message: cap(message, LONGEST_TEXT).text,
    ...(hint === undefined ? {} : { hint: cap(hint, LONGEST_TEXT).text }),
  };
}

/** To a tenth. */
function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
