/** The four stored records, with the specification's field names (section "Resources and their fields"). */

import type { Role } from "./message.ts";

export type Metadata = Readonly<Record<string, unknown>>;

/** Immutable transcript row. Timestamps are ISO 8601 in UTC; the embedding is read apart, it is not part of a listing. */
export interface MessageRecord {
  readonly id: string;
  readonly conversation_id: string;
  readonly agent: string;
  readonly channel: string;
  readonly role: Role;
  readonly content: string;
  readonly tool_name: string | null;
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  readonly metadata: Metadata;
  readonly created_at: string;
}

export interface ConversationRecord {
  readonly id: string;
  readonly session_key: string;
  readonly agent: string;
  readonly channel: string;
  readonly channel_id: string | null;
  readonly bot_identity: string | null;
  /** Channel-side user whose conversation it is; empty where the channel has none. */
  readonly user_id: string;
  readonly title: string | null;
  readonly settings: SessionSettings;
  readonly active: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

export type SummaryKind = "leaf" | "branch" | "root";

export interface SummaryRecord {
  readonly id: string;
  readonly conversation_id: string | null;
  readonly parent_id: string | null;
  readonly depth: number;
  readonly content: string;
  readonly kind: SummaryKind;
  readonly message_count: number;
  readonly earliest_at: string | null;
  readonly latest_at: string | null;
  readonly model: string | null;
  readonly created_at: string;
}

export interface SummarySourceRecord {
  readonly summary_id: string;
  readonly message_id: string;
  readonly ordinal: number;
}

/** Per-session settings; carried over by /new, kept across restarts. */
export interface SessionSettings {
  readonly thinking?: "off" | "low" | "medium" | "high";
  readonly reasoning?: boolean;
  /** `model`, or `provider:model`. */
  readonly model?: string;
}
