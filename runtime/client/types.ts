/** What goes to a node and what comes back, as its routes describe them (/openapi.json). */

import type { WaitingApprovals } from "../contracts/approvals.ts";
import type { BackupEntry, BackupStatus } from "../contracts/backups.ts";
import type { Attachment } from "../contracts/channel.ts";
import type { ErrorBody } from "../contracts/errors.ts";
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

export interface Health {
  readonly status: "healthy" | "degraded" | "unhealthy";
  readonly version: string;
  readonly node: { readonly id: string; readonly name: string };
  readonly uptime_s: number;
  readonly started_at: string;
  readonly draining: boolean;
  readonly agents: Readonly<
    Record<
      string,
      {
        readonly provider: string;
        readonly model: string;
        readonly active_turns: number;
        /** For an answer; absent before it was counted. */
        readonly waiting?: number;
        readonly queued: number;
        /** Null where it has none; absent before there were budgets. */
        readonly budget?: {
          readonly on_limit: "stop" | "warn";
          readonly state: "ok" | "near" | "reached";
          readonly limits: readonly {
            readonly limit: string;
            readonly used: number;
            readonly max: number;
            readonly share: number;
            readonly resets_at: string;
          }[];
        } | null;
      }
    >
  >;
  readonly providers: Readonly<
    Record<
      string,
      {
        readonly available: boolean;
        readonly model: string;
        /** Of models whose calls have failed lately; absent before there were circuit breakers. */
        readonly circuits?: readonly {
          readonly model: string;
          readonly state: "closed" | "open" | "half_open";
          readonly failures: number;
          readonly retry_after_s: number | null;
          readonly last_error: string;
        }[];
      }
    >
  >;
  readonly channels: Readonly<
    Record<string, { readonly platform: string; readonly state: string; readonly reason?: string | null }>
  >;
  /** MCP servers of the node; absent of an older node. */
  readonly mcp?: Readonly<
    Record<
      string,
      {
        readonly transport: string;
        readonly state: string;
        readonly reason: string | null;
        readonly tools: number;
        readonly changed: readonly string[];
        readonly changed_digest?: string | null;
        readonly left_out: readonly { readonly name: string; readonly reason: string }[];
      }
    >
  >;
  /** Plugins of plugin_dirs; absent of an older node. */
  readonly plugins?: readonly {
    readonly id: string | null;
    readonly kind: string | null;
    readonly version: string | null;
    readonly path: string;
    readonly state: "loaded" | "failed" | "off";
    readonly reason: string | null;
  }[];
  readonly memory: Readonly<Record<string, unknown>>;
  readonly queues: readonly Readonly<Record<string, unknown>>[];
  readonly mesh: {
    readonly enabled: boolean;
    /** Absent of an older node, as the rest; null where the mesh is off. */
    readonly standing?: "alone" | "member" | "waiting" | "left" | "revoked" | null;
    /** This node among them. */
    readonly members?: number;
    /** What an operator should know of it; null: nothing. */
    readonly problem?: string | null;
  };
  /** Null where the store does not answer; an older node does not report it. */
  readonly backup?: BackupStatus | null;
  /** Schedules that somebody should see to; null where the store does not answer. An older node does not report it. */
  readonly schedules?: readonly { readonly agent: string; readonly name: string; readonly problem: string }[] | null;
  /** Calls that wait for the owner's word; null where the store does not answer. An older node does not report them. */
  readonly approvals?: WaitingApprovals | null;
  /** Skills that agents get, and folders that they do not get; absent of an older node. */
  readonly skills?: {
    readonly usable: number;
    readonly skipped: readonly { readonly path: string; readonly problem: string }[];
  };
  /** Why lines of the audit log are being lost, null where none are, and how many since the start. An older node does not report it. */
  readonly audit?: { readonly failing: string | null; readonly lost: number };
  readonly schema_version: number | null;
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
