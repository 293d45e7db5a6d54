import type { Role } from "./message.ts";
import type { Metadata, SessionSettings, SummaryKind } from "./records.ts";

/** The memory as plugins and tools see it (specification, "Plugin contracts"); implemented once, in app/recall. */

/** One message to store. All messages are stored by the one writer (app/transcript). */
export interface MemoryEntry {
  readonly sessionKey: string;
  readonly agent: string;
  readonly channel: string;
  readonly role: Role;
  readonly content: string;
  readonly toolName?: string;
  readonly toolArgs?: unknown;
  readonly toolResult?: string;
  readonly metadata?: Metadata;
  readonly createdAt?: string;
  readonly eventId?: string;
}

export interface ScoreParts {
  readonly fts: number;
  readonly semantic: number;
  readonly temporal: number;
  readonly importance: number;
}

export interface MemoryHit {
  readonly kind: "message" | "summary";
  readonly id: string;
  readonly conversation_id: string | null;
  /** The channel's name of its session, else the session's key; null of several sessions. Only what people are shown has it. */
  readonly session?: string | null;
  readonly agent: string | null;
  readonly channel: string | null;
  readonly role?: Role;
  readonly content: string;
  readonly created_at: string;
  readonly score: number;
  readonly scores: ScoreParts;
  readonly access_count: number;
  readonly depth?: number;
  readonly summary_kind?: SummaryKind;
  readonly children?: readonly MemoryHit[];
  readonly sources?: readonly MemoryHit[];
}

export type SearchScope = "messages" | "summaries" | "both";
export type SearchMode = "hybrid" | "fts" | "trigram" | "regex" | "vector";

/** Whose conversations are seen: everything (owner), or those of one channel-side user on one channel. */
export type Visibility = { readonly all: true } | { readonly channel: string; readonly user: string };

export interface SearchOptions {
  readonly agent?: string;
  readonly limit?: number;
  readonly scope?: SearchScope;
  readonly mode?: SearchMode;
  /** ISO 8601. */
  readonly since?: string;
  readonly before?: string;
  readonly expand?: boolean;
  /** The caller, for bounds on single callers; without it the visibility is used. */
  readonly caller?: string | undefined;
  readonly visibility?: Visibility;
  readonly signal?: AbortSignal;
  /** Called where a hybrid search has no vector of its query: there are none, or their model does not answer. */
  readonly onTextOnly?: () => void;
}

export interface ContextOptions {
  /** Budget of the returned text in tokens; default 4,000. */
  readonly maxTokens?: number;
  readonly visibility?: Visibility;
  /** Message ids that the prompt already holds: left out. */
  readonly exclude?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
}

export interface HistoryEntry {
  readonly id: string;
  readonly role: Role;
  readonly content: string;
  readonly tool_name: string | null;
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  readonly metadata: Metadata;
  readonly created_at: string;
}

export interface Memory {
  append(entry: MemoryEntry): Promise<string>;
  search(query: string, options?: SearchOptions): Promise<readonly MemoryHit[]>;
  /**
   * Text for the prompt, best first by the specification's formula, within the budget: in a fence, with where each row comes
   * from. It is data, whatever it says, and belongs into no text of the system's. Empty when nothing fits.
   */
  getContextForTurn(query: string, agent: string, options?: ContextOptions): Promise<string>;
  /** Oldest first, of the session's active conversation: the newest `limit` rows, no further back than `bytes` of text reach. */
  getSessionHistory(
    sessionId: string,
    options?: { readonly limit?: number; readonly bytes?: number },
  ): Promise<readonly HistoryEntry[]>;
  saveSessionSettings?(sessionId: string, settings: SessionSettings): Promise<void>;
  loadSessionSettings?(sessionId: string): Promise<SessionSettings | null>;
}
