/** How the node is: what it hosts, what it can reach, and whether it accepts messages. */

import { type Channel, type ChannelState, isWell } from "../contracts/channel.ts";
import type { Database } from "../contracts/database.ts";
import type { BudgetReport, HealthReport, HealthStatus, MeshReport } from "../contracts/health-report.ts";
import type { PluginReport } from "../contracts/plugin.ts";
import type { Clock } from "../contracts/ports.ts";
import type { Provider } from "../contracts/provider.ts";
import type { Backups, Health, Schedules } from "./api.ts";
import type { Approvals } from "./approvals.ts";
import type { McpServers } from "./mcp-servers.ts";
import type { QueueAdmin } from "./queue-admin.ts";
import type { Receivers } from "./receivers.ts";
import { readServerReport } from "./server-report.ts";
import type { SkillLibrary } from "./skills/library.ts";
import type { Agent } from "./turn/agents.ts";
import type { Dispatcher } from "./turn/dispatcher.ts";
import type { ProviderCircuits } from "./turn/provider-circuits.ts";
import type { TurnStore } from "./turn/turn-store.ts";
import type { Budgets } from "./usage/budgets.ts";
import type { WorkerState } from "./worker-state.ts";

export interface HealthDeps {
  readonly version: string;
  readonly node: { readonly id: string; readonly name: string };
  readonly database: Database;
  readonly store: TurnStore;
  readonly dispatcher: Dispatcher;
  readonly jobs: Pick<QueueAdmin, "states">;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly circuits: Pick<ProviderCircuits, "report">;
  readonly budgets: Pick<Budgets, "report">;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly receivers: Pick<Receivers, "state">;
  readonly mesh: () => Promise<MeshReport>;
  audit(): HealthReport["audit"];
  readonly clock: Clock;
  readonly startedAt: Date;
  state(): NodeState;
  schemaVersion(): number | null;
  /** Workers of the memory that need a model, by their names. */
  workers(): Readonly<Record<string, WorkerState>>;
  readonly backups: Pick<Backups, "status">;
  readonly schedules: Pick<Schedules, "list">;
  readonly approvals: Pick<Approvals, "waiting">;
  readonly mcpServers: Pick<McpServers, "report">;
  readonly skills: Pick<SkillLibrary, "report">;
  plugins(): readonly PluginReport[];
}

export type NodeState = "starting" | "running" | "draining" | "stopped";

/** A provider is asked anew only this often: health is polled, providers are slow. */
const PROVIDER_ANSWER_MS = 30_000;
const PROVIDER_DEADLINE_MS = 2_000;
const SERVER_DEADLINE_MS = 2_000;
const MAX_SKIPPED = 20;
/** Where the store does not answer. */
const NO_MESH: MeshReport = { enabled: false, standing: null, members: 0, problem: null };
/** Where the disk does not answer. */
const NO_SKILLS: HealthReport["skills"] = { usable: 0, skipped: [] };

export function createHealth(deps: HealthDeps): Health {
  const { clock, database } = deps;
  const answers = new Map<string, { readonly at: number; readonly available: Promise<boolean> }>();

  function isAvailable(id: string, provider: Provider): Promise<boolean> {
    const cached = answers.get(id);
    if (cached && clock.monotonic() - cached.at < PROVIDER_ANSWER_MS) return cached.available;
    const available = withDeadline(
      provider.isAvailable().catch(() => false),
      PROVIDER_DEADLINE_MS,
      false,
    );
    answers.set(id, { at: clock.monotonic(), available });
    return available;
  }

  async function providers(): Promise<HealthReport["providers"]> {
    const entries = [...deps.providers].map(async ([id, provider]) => {
      const available = await isAvailable(id, provider);
      return [id, { available, model: provider.getModel(), circuits: deps.circuits.report(id) }] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  async function agents(): Promise<HealthReport["agents"]> {
    const [open, budgets] = await Promise.all([
      deps.store.open().catch(() => []),
      deps.budgets.report().catch((): ReadonlyMap<string, BudgetReport> => new Map()),
    ]);
    return Object.fromEntries(
      [...deps.agents.values()].map((agent) => {
        const turns = open.find((row) => row.agent === agent.name);
        const model = agent.model ?? deps.providers.get(agent.provider)?.getModel() ?? "";
        return [
          agent.name,
          {
            provider: agent.provider,
            model,
            active_turns: deps.dispatcher.activeByAgent(agent.name),
            waiting: turns?.waiting ?? 0,
            queued: turns?.queued ?? 0,
            budget: budgets.get(agent.name) ?? null,
          },
        ];
      }),
    );
  }

  async function problemSchedules(): Promise<HealthReport["schedules"]> {
    const all = await deps.schedules.list();
    return all.flatMap(({ agent, name, problem }) => (problem === null ? [] : [{ agent, name, problem }]));
  }

  async function skills(): Promise<HealthReport["skills"]> {
    const { usable, skipped } = await deps.skills.report();
    return { usable, skipped: skipped.slice(0, MAX_SKIPPED).map(({ path, problem }) => ({ path, problem })) };
  }

  function channels(): HealthReport["channels"] {
    return Object.fromEntries(
      [...deps.channels].map(([id, channel]) => [
        id,
        { platform: channel.platform, ...(deps.receivers.state(id) ?? stateOf(channel)) },
      ]),
    );
  }

  /** The audit log is written, and every plugin is there, one that is to refuse calls among them. */
  function wellKept(): boolean {
    return deps.audit().failing === null && deps.plugins().every(({ state }) => state !== "failed");
  }

  function statusOf(
    state: NodeState,
    reachable: boolean,
    available: HealthReport["providers"],
    connected: boolean,
  ): HealthStatus {
    if (!reachable || state === "stopped") return "unhealthy";
    const inUse = [...deps.agents.values()].map((agent) => agent.provider);
    const down = inUse.some((id) => {
      const provider = available[id];
      return provider?.available === false || provider?.circuits.some((circuit) => circuit.state !== "closed");
    });
    return state === "running" && !down && connected && wellKept() ? "healthy" : "degraded";
  }

  return {
    async report() {
      const [memory, server, backup, schedules, approvals, available, agentStates, queues, mesh, skillReport] =
        await Promise.all([
          database.status(),
          withDeadline(readServerReport(database, clock), SERVER_DEADLINE_MS, null),
          withDeadline(
            deps.backups.status().catch(() => null),
            SERVER_DEADLINE_MS,
            null,
          ),
          withDeadline(
            problemSchedules().catch(() => null),
            SERVER_DEADLINE_MS,
            null,
          ),
          withDeadline(
            deps.approvals.waiting().catch(() => null),
            SERVER_DEADLINE_MS,
            null,
          ),
          providers(),
          agents(),
          deps.jobs.states().catch(() => []),
          withDeadline(
            deps.mesh().catch(() => NO_MESH),
            SERVER_DEADLINE_MS,
            NO_MESH,
          ),
          withDeadline(
            skills().catch(() => NO_SKILLS),
            SERVER_DEADLINE_MS,
            NO_SKILLS,
          ),
        ]);
      const state = deps.state();
      const channelStates = channels();
      const connected = Object.values(channelStates).every((channel) => isWell(channel.state));
      return {
        status: statusOf(state, memory.reachable, available, connected && mesh.problem === null),
        version: deps.version,
        node: deps.node,
        uptime_s: Math.floor((clock.now().getTime() - deps.startedAt.getTime()) / 1000),
        started_at: deps.startedAt.toISOString(),
        draining: state === "draining",
        agents: agentStates,
        providers: available,
        channels: channelStates,
        mcp: deps.mcpServers.report(),
        plugins: deps.plugins(),
        memory: { ...memory, ...(server === null ? {} : { server }), workers: deps.workers() },
        queues,
        mesh,
        backup,
        schedules,
        approvals,
        audit: deps.audit(),
        skills: skillReport,
        schema_version: deps.schemaVersion(),
      };
    },
    async ready() {
      const state = deps.state();
      if (state !== "running") return { ready: false, reason: `the node is ${state}` };
      const { reachable } = await database.status();
      return reachable ? { ready: true } : { ready: false, reason: "the database cannot be reached" };
    },
  };
}

/** A channel that cannot say how it is counts as down: health answers all the same. */
function stateOf(channel: Channel): ChannelState {
  try {
    return channel.state?.() ?? { state: "up", reason: null };
  } catch {
    return { state: "down", reason: "it cannot say how it is" };
  }
}

async function withDeadline<T>(work: Promise<T>, ms: number, fallback: T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(fallback), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
