/** Stored records as they are shown, with the specification's field names (section "Resources and their fields"). */

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

export type SummaryKind = "leaf" | "branch" | "root";

/** Something that an agent has to do. */
export interface TodoItem {
  readonly text: string;
  readonly state: "pending" | "in_progress" | "done";
}

/** Per-session settings; carried over by /new, kept across restarts. */
export interface SessionSettings {
  /** The agent's list, which ends with its conversation: /new does not carry it over. */
  readonly todo?: readonly TodoItem[];
  readonly thinking?: "off" | "low" | "medium" | "high";
  readonly reasoning?: boolean;
  /** `model`, or `provider:model`. */
  readonly model?: string;
}
