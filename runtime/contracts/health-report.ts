/** How a node is, as /health, `cairn status` and doctor show it. */

import type { WaitingApprovals } from "./approvals.ts";
import type { BackupStatus } from "./backups.ts";
import type { ChannelState } from "./channel.ts";
import type { PluginReport } from "./plugin.ts";

export type HealthStatus = "healthy" | "degraded" | "unhealthy";

export interface HealthReport {
  readonly status: HealthStatus;
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
        /** For an answer. */
        readonly waiting: number;
        readonly queued: number;
        /** Null where it has none, or the store does not answer. */
        readonly budget: BudgetReport | null;
      }
    >
  >;
  readonly providers: Readonly<
    Record<
      string,
      {
        readonly available: boolean;
        readonly model: string;
        /** Circuit breakers of models whose calls have failed lately. */
        readonly circuits: readonly CircuitReport[];
      }
    >
  >;
  readonly channels: Readonly<Record<string, ChannelState & { readonly platform: string }>>;
  /** MCP servers of the configuration, by their ids. */
  readonly mcp: Readonly<Record<string, McpServerReport>>;
  /** Of other people, in the order of `plugin_dirs`. */
  readonly plugins: readonly PluginReport[];
  readonly memory: Readonly<Record<string, unknown>>;
  readonly queues: readonly object[];
  readonly mesh: MeshReport;
  /** Null where the store does not answer. */
  readonly backup: BackupStatus | null;
  /** Those that somebody should see to; null where the store does not answer. */
  readonly schedules: readonly { readonly agent: string; readonly name: string; readonly problem: string }[] | null;
  readonly approvals: WaitingApprovals | null;
  readonly audit: { readonly failing: string | null; readonly lost: number };
  readonly skills: {
    /** Of all agents. */
    readonly usable: number;
    /** At most 20. */
    readonly skipped: readonly { readonly path: string; readonly problem: string }[];
  };
  readonly schema_version: number | null;
}

export interface MeshReport {
  readonly enabled: boolean;
  /** Null where the mesh is off. */
  readonly standing: Standing | null;
  /** This node among them. */
  readonly members: number;
  /** What an operator should know of it; null: nothing. */
  readonly problem: string | null;
}

/**
 * `alone`: it may admit others, and has not yet. `waiting`: another node of its database has to countersign it. `left` and
 * `revoked` hold for its key for ever.
 */
export type Standing = "alone" | "member" | "waiting" | "left" | "revoked";

/** An MCP server whose tools agents get. */
export interface McpServerReport {
  readonly transport: "stdio" | "http";
  readonly state: "connecting" | "up" | "down";
  /** Why it is not up. */
  readonly reason: string | null;
  /** Tools that are offered. */
  readonly tools: number;
  /** Tools that are withheld because what they say of themselves has changed; at most 20. */
  readonly changed: readonly string[];
  /** Of the present form of all that have changed: what an approval names. Null where none has. */
  readonly changed_digest: string | null;
  /** Tools that cannot be offered; at most 20. */
  readonly left_out: readonly { readonly name: string; readonly reason: string }[];
}

export interface CircuitReport {
  readonly model: string;
  readonly state: "closed" | "open" | "half_open";
  /** Failed calls of the last minute; 0 where it is not closed. */
  readonly failures: number;
  /** Seconds until the probe; null where it is not open. */
  readonly retry_after_s: number | null;
  /** Code of the failure that was counted last. */
  readonly last_error: string;
}

/** Names of the limits, as in `agents.<name>.budget`. */
export const LIMITS = ["daily_tokens", "monthly_tokens", "daily_usd", "monthly_usd"] as const;
export type LimitName = (typeof LIMITS)[number];

export interface BudgetReport {
  readonly on_limit: "stop" | "warn";
  readonly state: "ok" | "near" | "reached";
  readonly limits: readonly LimitUse[];
}

export interface LimitUse {
  readonly limit: LimitName;
  readonly used: number;
  readonly max: number;
  /** 1 and more: reached. */
  readonly share: number;
  /** ISO 8601: when the period ends and nothing is used any more. */
  readonly resets_at: string;
}
