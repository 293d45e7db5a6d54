/** What an operator reads of the memory: lists of sessions, one row with what stands around it, the pages of a wiki. */

import type { MessageRecord, SummaryKind } from "./records.ts";

/** `session`: those of agents' turns, each once with all its conversations. `conversation`: every one, captured ones too. */
export const SESSION_KINDS = ["session", "conversation"] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** Names of the sessions of `cairn test` begin with it; lists of agents' sessions leave them out. */
export const SELF_TEST_SESSION = "self-test-";

export interface SessionRecord {
  readonly session_key: string;
  /** The newest conversation of the session, or the one that is listed. */
  readonly conversation_id: string;
  /** The channel's name of the session; null where none was given, as in captured ones. */
  readonly name: string | null;
  readonly agent: string;
  readonly channel: string;
  /** Channel-side; empty is the owner. */
  readonly user: string;
  /** What it is about: its title, else the first words of a user; null where there are none. */
  readonly title: string | null;
  /** What `/model` has given it, as `provider:name`; null: the agent's own. A node of an earlier version does not tell. */
  readonly model?: string | null;
  readonly opened_by: "turn" | "capture" | "append" | "import";
  readonly conversations: number;
  readonly messages: number;
  /** Times are ISO 8601, UTC. */
  readonly created_at: string;
  /** Time of the last message, else of the session's last change. */
  readonly last_at: string;
}

export interface SessionsQuery {
  readonly of: SessionKind;
  readonly agent?: string | undefined;
  readonly limit: number;
}

/** Where a row stands. */
export type RowSession = Pick<
  SessionRecord,
  "session_key" | "conversation_id" | "name" | "agent" | "channel" | "user" | "opened_by"
>;

export interface SummaryRecord {
  readonly id: string;
  readonly conversation_id: string | null;
  readonly parent_id: string | null;
  readonly depth: number;
  readonly summary_kind: SummaryKind;
  readonly content: string;
  /** Messages that it covers. */
  readonly message_count: number;
  readonly earliest_at: string | null;
  readonly latest_at: string | null;
  readonly model: string | null;
  readonly created_at: string;
}

export type ShownRow =
  | {
      readonly kind: "message";
      readonly session: RowSession;
      /** Whole, as far as a full copy of what was cut is known. */
      readonly message: MessageRecord;
      /** Null where nothing is missing; else why. */
      readonly missing: string | null;
      /** Neighbours in the conversation, in order of time. */
      readonly before: readonly MessageRecord[];
      readonly after: readonly MessageRecord[];
    }
  | {
      readonly kind: "summary";
      /** Null for a summary of several conversations. */
      readonly session: RowSession | null;
      readonly summary: SummaryRecord;
      /** Summaries below it, oldest first. */
      readonly children: readonly SummaryRecord[];
      /** The first of its messages, in their order. */
      readonly sources: readonly MessageRecord[];
    };

export interface WikiPageRecord {
  /** Name of the page's file, without its ending. */
  readonly slug: string;
  readonly title: string;
  /** ISO 8601; empty where the page does not say. */
  readonly updated: string;
  readonly statements: number;
}

export interface WikiList {
  readonly agent: string;
  /** Whether the node writes to it. */
  readonly enabled: boolean;
  /** Changed last first. */
  readonly pages: readonly WikiPageRecord[];
}

export interface WikiPage extends WikiPageRecord {
  readonly agent: string;
  /** The file: Markdown with front matter. */
  readonly text: string;
}
