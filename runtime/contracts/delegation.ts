/** Tasks between nodes that share no database: what travels with them, and how this node reaches the others. */

import type { NodeEntry } from "./node-entry.ts";
import type { NumberedEvent } from "./stream.ts";

/** A turn that waits for a task, as nodes tell each other. */
export interface WaitingTurn {
  /** Id of the node that it ran on. */
  readonly node: string;
  readonly agent: string;
  readonly turn_id: string;
}

/** What a message has that another node's turn waits for. */
export interface HandedTask {
  /** The nearest first. */
  readonly chain: readonly WaitingTurn[];
  /** Milliseconds from now on for which they wait. */
  readonly deadlineMs: number;
}

export interface PeerTask extends HandedTask {
  readonly agent: string;
  readonly text: string;
  /** The same key is the same task, whatever the rest. */
  readonly key: string;
  /** Of the user whose turn it is, apart from others of this node; absent: the owner. */
  readonly user?: string;
}

export interface PeerTurn {
  readonly agent: string;
  readonly turnId: string;
}

/** One attempt each: it is the caller that repeats. */
export interface PeerAgents {
  /**
   * Resolves when the peer has accepted the task, now or before under the same key; `events` are those of its turn. Rejects with
   * the error that it answers with; RUNTIME_NOT_RUNNING where no connection came about; CHANNEL_CONNECTION_LOST where the peer may
   * have accepted it.
   */
  send(
    peer: NodeEntry,
    task: PeerTask,
    signal: AbortSignal,
  ): Promise<{ readonly turnId: string; readonly events: AsyncIterable<NumberedEvent> }>;
  /**
   * From after `lastEventId` on, until the connection ends or breaks. `forwarded`: only those that the peer has itself, for a follower
   * here. RUNTIME_TURN_UNKNOWN; RUNTIME_BODY_TOO_LARGE for an event beyond 8 MiB.
   */
  events(
    peer: NodeEntry,
    turn: PeerTurn,
    from: { readonly lastEventId: number; readonly forwarded: boolean },
    signal: AbortSignal,
  ): AsyncIterable<NumberedEvent>;
  /** Resolves when the turn is stopped, or has ended before. RUNTIME_TURN_UNKNOWN. */
  stop(peer: NodeEntry, turn: PeerTurn, signal: AbortSignal): Promise<void>;
}
