/** What a node counts besides the process's and the server's own metrics: turns, jobs by queue and state, and rows at work. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Backups } from "../app/api.ts";
import { compactionStatus } from "../app/compaction/status.ts";
import { embeddingRows } from "../app/embedding/models.ts";
import type { QueueAdmin } from "../app/queue-admin.ts";
import type { TurnEnd } from "../app/turn/turn-rows.ts";
import type { OpenTurns } from "../app/turn/turn-store.ts";
import type { Budgets } from "../app/usage/budgets.ts";
import type { WorkerState } from "../app/worker-state.ts";
import type { BackupStatus } from "../contracts/backups.ts";
import type { Database } from "../contracts/database.ts";
import type { BudgetReport, LimitUse } from "../contracts/health-report.ts";

export interface NodeMetrics {
  readonly registry: Registry;
  turnEnded(agent: string, state: TurnEnd["state"], durationS: number): void;
}

export interface MetricSources {
  openTurns(): Promise<readonly OpenTurns[]>;
  readonly jobs: Pick<QueueAdmin, "states">;
  embeddings(): Promise<readonly { readonly model: string; readonly state: string; readonly rows: number }[]>;
  compaction(): Promise<{ readonly due: number; readonly failing: number; readonly given_up: number }>;
  /** Workers of the memory that need a model, by their names. */
  workers?(): Readonly<Record<string, WorkerState>>;
  readonly backups?: Pick<Backups, "status">;
  readonly budgets?: Pick<Budgets, "report">;
  mcpServers?(): Readonly<Record<string, { readonly state: string; readonly tools: number }>>;
  audit?(): { readonly failing: string | null; readonly lost: number };
}

/** What is read from the store's own tables of work. */
export function workIn(database: Database): Pick<MetricSources, "embeddings" | "compaction"> {
  return { embeddings: () => embeddingRows(database), compaction: () => compactionStatus(database) };
}

/** The watch over the event loop wakes an idle node so often; the library's own 10 ms are a hundred times a second. */
const LAG_PRECISION_MS = 100;

/** Gauges are read from the store when they are scraped; without the store they are left out. */
export function createMetrics(sources: MetricSources): NodeMetrics {
  const { openTurns, jobs, embeddings, compaction, workers, backups, budgets, mcpServers, audit } = sources;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS });
  const ended = new Counter({
    name: "cairn_turns_total",
    help: "Turns that have ended on this node.",
    labelNames: ["agent", "state"],
    registers: [registry],
  });
  const duration = new Histogram({
    name: "cairn_turn_duration_seconds",
    help: "From the claim of a turn to its end.",
    labelNames: ["agent"],
    buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900],
    registers: [registry],
  });
  new Gauge({
    name: "cairn_turns_open",
    help: "Turns that are queued, run, or wait for an answer, in the whole store.",
    labelNames: ["agent", "state"],
    registers: [registry],
    async collect() {
      this.reset();
      for (const { agent, running, waiting, queued } of await openTurns().catch(() => [])) {
        this.set({ agent, state: "running" }, running);
        this.set({ agent, state: "waiting" }, waiting);
        this.set({ agent, state: "queued" }, queued);
      }
    },
  });
  new Gauge({
    name: "cairn_jobs",
    help: "Background jobs by queue and state.",
    labelNames: ["queue", "state"],
    registers: [registry],
    async collect() {
      this.reset();
      for (const { queue, waiting, active, failed } of await jobs.states().catch(() => [])) {
        this.set({ queue, state: "waiting" }, waiting);
        this.set({ queue, state: "active" }, active);
        this.set({ queue, state: "failed" }, failed);
      }
    },
  });
  new Gauge({
    name: "cairn_embedding_rows",
    help: "Messages and summaries that a worker has or that have failed, by embedding model and state.",
    labelNames: ["model", "state"],
    registers: [registry],
    async collect() {
      this.reset();
      for (const { model, state, rows } of await embeddings().catch(() => [])) this.set({ model, state }, rows);
    },
  });
  new Gauge({
    name: "cairn_compaction_conversations",
    help: "Conversations that wait for a summary, that are tried again, and that were given up.",
    labelNames: ["state"],
    registers: [registry],
    async collect() {
      this.reset();
      const found = await compaction().catch(() => null);
      if (found === null) return;
      for (const state of ["due", "failing", "given_up"] as const) this.set({ state }, found[state]);
    },
  });
  new Gauge({
    name: "cairn_memory_worker_up",
    help: "Whether a worker of the memory could use its model when it last asked; 0 also where none is configured.",
    labelNames: ["worker"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [worker, { state }] of Object.entries(workers?.() ?? {})) this.set({ worker }, state === "on" ? 1 : 0);
    },
  });
  if (backups) addBackups(registry, backups);
  if (budgets) addBudgets(registry, budgets);
  if (mcpServers) addMcpServers(registry, mcpServers);
  if (audit) {
    new Gauge({
      name: "cairn_audit_log_up",
      help: "Whether the last line of the audit log could be written.",
      registers: [registry],
      collect() {
        this.set(audit().failing === null ? 1 : 0);
      },
    });
    new Gauge({
      name: "cairn_audit_log_lost_lines",
      help: "Lines of the audit log that could not be written since the start.",
      registers: [registry],
      collect() {
        this.set(audit().lost);
      },
    });
  }
  return {
    registry,
    turnEnded(agent, state, durationS) {
      ended.inc({ agent, state });
      duration.observe({ agent }, durationS);
    },
  };
}

/** Of the agents of this node; the sums are those of all nodes. */
function addBudgets(registry: Registry, budgets: Pick<Budgets, "report">): void {
  const gauge = (name: string, help: string, read: (use: LimitUse) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ["agent", "limit"],
      registers: [registry],
      async collect() {
        this.reset();
        const reports = await budgets.report().catch(() => new Map<string, BudgetReport>());
        for (const [agent, { limits }] of reports)
          for (const use of limits) this.set({ agent, limit: use.limit }, read(use));
      },
    });
  gauge(
    "cairn_budget_used",
    "Tokens or US dollars that an agent has used in the period of a limit.",
    ({ used }) => used,
  );
  gauge("cairn_budget_limit", "Tokens or US dollars that an agent may use in the period of a limit.", ({ max }) => max);
}

function addMcpServers(registry: Registry, servers: NonNullable<MetricSources["mcpServers"]>): void {
  new Gauge({
    name: "cairn_mcp_server_up",
    help: "Whether an MCP server is connected.",
    labelNames: ["server"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [server, { state }] of Object.entries(servers())) this.set({ server }, state === "up" ? 1 : 0);
    },
  });
  new Gauge({
    name: "cairn_mcp_server_tools",
    help: "Tools of an MCP server that agents are offered.",
    labelNames: ["server"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [server, { tools }] of Object.entries(servers())) this.set({ server }, tools);
    },
  });
}

/** Of the whole store, whichever node has them. */
function addBackups(registry: Registry, backups: Pick<Backups, "status">): void {
  const gauge = (name: string, help: string, read: (status: BackupStatus) => number | null) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.remove();
        const status = await backups.status().catch(() => null);
        const value = status === null ? null : read(status);
        if (value !== null) this.set(value);
      },
    });
  gauge("cairn_backup_age_seconds", "Age of the newest scheduled backup; absent where there is none.", ({ last }) =>
    last === null ? null : Math.max(0, (Date.now() - Date.parse(last.created_at)) / 1_000),
  );
  gauge("cairn_backup_size_bytes", "Size of the newest scheduled backup.", ({ last }) => last?.bytes ?? null);
  gauge(
    "cairn_backup_failed_attempts",
    "Scheduled backups that failed since the newest one.",
    ({ failure }) => failure?.attempts ?? 0,
  );
}
