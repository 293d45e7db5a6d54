/** How a node is, as /health, `cairn status` and doctor show it. */

import type { BackupStatus } from "../contracts/backups.ts";
import type { ChannelState } from "../contracts/channel.ts";
import type { PluginReport } from "../contracts/plugin.ts";
import type { WaitingApprovals } from "./approvals.ts";
import type { McpServerReport } from "./mcp-servers.ts";
import type { Standing } from "./mesh/mesh-view.ts";
import type { CircuitReport } from "./turn/provider-circuits.ts";
import type { BudgetReport } from "./usage/budgets.ts";

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

export interface Health {
  report(): Promise<HealthReport>;
  /** Whether messages are accepted: started, not draining, database there. */
  ready(): Promise<{ readonly ready: boolean; readonly reason?: string }>;
}
