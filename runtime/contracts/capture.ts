/** What capture clients send and what they are answered: `POST /api/capture`. */

import type { Role } from "./message.ts";
import type { Metadata } from "./records.ts";

export const MAX_CAPTURE_EVENTS = 1_000;

export interface CaptureEvent {
  /** The same id is stored once in a conversation. */
  readonly event_id: string;
  readonly role: Role;
  /** May be empty only with `tool_name` or `tool_result`. Stored up to 16,000 UTF-16 code units, as `tool_result` is. */
  readonly content?: string | null | undefined;
  readonly tool_name?: string | null | undefined;
  /** Any JSON, never cut. */
  readonly tool_args?: unknown;
  readonly tool_result?: string | null | undefined;
  /** ISO 8601; default now. */
  readonly created_at?: string | null | undefined;
  readonly metadata?: Metadata | null | undefined;
}

export interface CaptureBatch {
  readonly session_key: string;
  readonly agent: string;
  readonly channel: string;
  /** What captured it; kept in the metadata of each row. */
  readonly source?: string | null | undefined;
  /** Of the conversation, where it has none yet. */
  readonly title?: string | null | undefined;
  /** In the order in which they happened. */
  readonly events: readonly CaptureEvent[];
  /** Marks the conversation ready to compact; it stays open. */
  readonly finalize?: boolean | null | undefined;
}

export interface CaptureResult {
  readonly conversation_id: string;
  /** Events that are stored now. */
  readonly inserted: number;
  /** Events that were stored before, or stand in the batch twice. */
  readonly deduplicated: number;
  /** Of the stored events, those of which content or tool_result was cut. */
  readonly truncated: number;
  readonly finalized: boolean;
}
