import type { Role } from "../../contracts/message.ts";
import type { Metadata } from "../../contracts/records.ts";

/** What goes into the one writer and what comes out of it. */

export interface WriteEntry {
  /** Generated when absent. */
  readonly id?: string;
  readonly role: Role;
  /** May be empty only when `toolName` or `toolResult` is given. */
  readonly content: string;
  readonly toolName?: string | null | undefined;
  readonly toolArgs?: unknown;
  /** Stored up to 16,000 UTF-16 code units, always. */
  readonly toolResult?: string | null | undefined;
  readonly metadata?: Metadata | undefined;
  /** ISO 8601; default now. */
  readonly createdAt?: string | undefined;
  /** Dedupe key (domain/dedupe.ts): a row is stored only if its conversation has no row of this key yet. */
  readonly key: string;
  /** Whether content is cut too: on the capture route, memory_append and memory_ingest_session. */
  readonly cap: boolean;
  /** What to keep in full beside the row, where the row's own column differs from it. */
  readonly payload?: {
    readonly content?: string | undefined;
    readonly toolArgs?: unknown;
    readonly toolResult?: string | undefined;
  };
}

/** How a conversation came about. Turns alone write to conversations that turns opened, and read no others. */
export const ORIGINS = ["turn", "capture", "append", "import"] as const;
export type Origin = (typeof ORIGINS)[number];

export interface WriteBatch {
  readonly sessionKey: string;
  /** By which way the entries come: each has an active conversation of its own in a session. */
  readonly openedBy: Origin;
  /** Whether the turns of a conversation that is opened are the owner's. Only with `openedBy: "turn"`. */
  readonly byOwner?: boolean | undefined;
  /**
   * The conversation to write to, active or not; default the active one of the session and `openedBy`, opened when there is
   * none. A conversation of turns takes entries of turns alone.
   */
  readonly conversationId?: string | undefined;
  readonly agent: string;
  readonly channel: string;
  readonly channelId?: string | undefined;
  readonly botIdentity?: string | undefined;
  /** Channel-side user; whose conversation it is once it is opened. */
  readonly user?: string | undefined;
  readonly title?: string | undefined;
  readonly entries: readonly WriteEntry[];
  /** Marks the conversation ready to compact; it stays open. */
  readonly finalize?: boolean | undefined;
}

export interface WrittenRow {
  /** Of the row that is stored under the key: this entry's, or the earlier one's. */
  readonly id: string;
  readonly key: string;
  /** False when a row of this key was there already. */
  readonly inserted: boolean;
  /** Whether content or tool_result of the entry as given was too long. */
  readonly truncated: boolean;
  readonly fullContentLength?: number;
  readonly fullToolResultLength?: number;
}

export interface WriteReport {
  readonly conversationId: string;
  /** Whether the conversation was opened by this batch. */
  readonly created: boolean;
  /** One for each entry, in order. */
  readonly rows: readonly WrittenRow[];
}

/** What the caller of `writeIn` owes: to call `afterCommit` once its transaction has committed. */
export interface PendingReport extends WriteReport {
  /** Announces the rows and queues their follow-up work; returns at once and never throws. */
  readonly afterCommit: () => void;
}
