/** What goes to a node and what comes back, as its routes describe them (/openapi.json). */

import type { BackupEntry } from "../contracts/backups.ts";
import type { Attachment } from "../contracts/channel.ts";
import type { ErrorBody } from "../contracts/errors.ts";
import type { HealthReport, McpServerReport, MeshReport } from "../contracts/health-report.ts";
import type { MemberState } from "../contracts/node-entry.ts";

export type { BackupEntry, BackupStatus } from "../contracts/backups.ts";
export type {
  SessionKind,
  SessionRecord,
  ShownRow,
  WikiList,
  WikiPage,
} from "../contracts/reading.ts";
export type { ScheduleRun, ScheduleStatus } from "../contracts/schedules.ts";
export type { RestoreReport, TokenRecord } from "../contracts/tokens.ts";
export type { UsageCounts, UsageQuery, UsageReport } from "../contracts/usage.ts";

export interface MessageRequest {
  /** The caller's name of the conversation. */
  readonly session: string;
  readonly text: string;
  /** The user on whose behalf the caller sends; absent: the token's own. */
  readonly user?: string;
  readonly attachments?: readonly Attachment[];
}

/** `accepted`: the node has the message; `lost`, `back`: the connection of a turn's events broke, and was taken up again. */
export type ConnectionState = "accepted" | "lost" | "back";

export interface FollowOptions {
  readonly signal?: AbortSignal;
  /** Told as it happens; `lost` once until the connection is `back`. */
  readonly onConnection?: (state: ConnectionState) => void;
}

export interface SendOptions extends FollowOptions {
  /** Without it the client makes one, so that its own repeats are never a second turn. */
  readonly idempotencyKey?: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds until the answer must be there. */
  readonly timeoutMs?: number;
}

export interface BackupList {
  /** Name of the node that has them. */
  readonly node: string;
  readonly backups: readonly BackupEntry[];
}

/** What came later is absent of an older node. */
type Older<Report, Later extends keyof Report> = Omit<Report, Later> & Partial<Pick<Report, Later>>;

type AgentHealth = HealthReport["agents"][string];
type ProviderHealth = HealthReport["providers"][string];

export interface Health
  extends Older<
    Omit<HealthReport, "agents" | "providers" | "channels" | "mcp" | "queues" | "mesh">,
    "plugins" | "backup" | "schedules" | "approvals" | "skills" | "audit"
  > {
  readonly agents: Readonly<Record<string, Older<AgentHealth, "waiting" | "budget">>>;
  readonly providers: Readonly<Record<string, Older<ProviderHealth, "circuits">>>;
  readonly channels: Readonly<
    Record<string, { readonly platform: string; readonly state: string; readonly reason?: string | null }>
  >;
  readonly mcp?: Readonly<Record<string, Older<McpServerReport, "changed_digest">>>;
  readonly queues: readonly Readonly<Record<string, unknown>>[];
  readonly mesh: Older<MeshReport, "standing" | "members" | "problem">;
}

export interface QueueStatus {
  readonly queue: string;
  readonly waiting: number;
  readonly active: number;
  /** Work that has used up its attempts and stays until it is retried: dead jobs, and rows that got no vector. */
  readonly failed: number;
  readonly completed: number;
  /** Of the one that failed last. */
  readonly last_error: string | null;
  /** Milliseconds for which the oldest waiting job has been due; null where none is. An older node does not report it. */
  readonly oldest_waiting_ms?: number | null;
}

export interface BackfillResult {
  readonly dry_run: boolean;
  /** Tool calls without content. */
  readonly candidates: number;
  /** Jobs that were added; in a dry run, that would be. */
  readonly enqueued: number;
  /** Candidates whose job waits or runs. */
  readonly queued: number;
  /** Candidates whose job has failed for good. */
  readonly failed: number;
}

export interface RetryResult {
  readonly task: string;
  readonly dry_run: boolean;
  /** Dead jobs that the pattern matched. */
  readonly matched: number;
  /** Jobs that wait again; in a dry run, that would. */
  readonly retried: number;
  /** Left as they are: a job of the same key waits or runs. */
  readonly skipped: number;
}

/** Who a node says that it is. */
export interface Ping {
  readonly node_id: string;
  readonly name: string;
  /** Of Cairn. */
  readonly version: string;
  /** An older node does not report it, nor its time. */
  readonly state?: "online" | "draining";
  /** ISO 8601, by its clock. */
  readonly time?: string;
}

/** Whether the node that was asked reaches another one. */
export interface PeerPing {
  readonly id: string;
  readonly name: string;
  /** Until it had answered; null where it has not. */
  readonly ms: number | null;
  /** Seconds by which its clock is ahead; null where it does not tell its time. */
  readonly clock_ahead_s: number | null;
  /** Why it has not answered. */
  readonly error: ErrorBody | null;
}

/** A node of the fleet. */
/** A token that lets one node join. */
export interface JoinTokenResult {
  /** Shown only once. */
  readonly token: string;
  /** Where it is good. */
  readonly url: string;
  /** ISO 8601. */
  readonly expires_at: string;
}

export interface JoinResult {
  readonly node_id: string;
  /** Names of the other members. */
  readonly members: readonly string[];
}

/** A node that is no member any more. */
export interface Departure {
  readonly id: string;
  /** Null: the node that answered does not know it. */
  readonly name: string | null;
  /** Members that know of it by now; the others hear of it from them. */
  readonly notified: number;
  /** Names of members that the node had admitted: they stay. */
  readonly admitted: readonly string[];
}

export interface MeshNode {
  readonly id: string;
  readonly name: string;
  /** Of Cairn. */
  readonly version: string;
  /** The latest migration that it knows. */
  readonly schema: number;
  readonly address: string | null;
  readonly certificate_sha256: string | null;
  readonly next_certificate_sha256: string | null;
  /** Those that it is configured to host. */
  readonly agents: readonly string[];
  /** Those whose turns it runs now. */
  readonly hosts: readonly string[];
  /** When it is known to have lived last, ISO 8601; an older node does not report it. */
  readonly heard_at?: string | null;
  readonly status: MemberState;
  /** Whether it works on the same database as the node that answered. */
  readonly shares_database: boolean;
  /** Whether it is the node that answered. */
  readonly self: boolean;
}
