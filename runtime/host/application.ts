/** The node's use cases, for routes and commands. */

import { randomBytes } from "node:crypto";
import type { Application, MeshMembership, Schedules } from "../app/api.ts";
import { createHealth } from "../app/health.ts";
import { createLeaseTable } from "../app/leases.ts";
import type { McpServers } from "../app/mcp-servers.ts";
import { createPeers } from "../app/mesh/peers.ts";
import { createReachability, type ReachabilityDeps } from "../app/mesh/reachability.ts";
import type { NodeRegistry } from "../app/mesh/registry.ts";
import type { Pairings } from "../app/pairings.ts";
import type { Receivers } from "../app/receivers.ts";
import { createRollouts } from "../app/rollouts.ts";
import { createTokens } from "../app/tokens.ts";
import type { Budgets } from "../app/usage/budgets.ts";
import { createUsageLedger } from "../app/usage/report.ts";
import type { LoadedConfig } from "../config/index.ts";
import type { Channel } from "../contracts/channel.ts";
import type { Database } from "../contracts/database.ts";
import type { Logins } from "../contracts/logins.ts";
import type { Clock, NewId } from "../contracts/ports.ts";
import type { AuditStatus } from "../plugins/hooks/safety/index.ts";
import type { AgentParts } from "./agents.ts";
import type { BackupParts } from "./backups.ts";
import type { NodeLifecycle } from "./lifecycle.ts";
import type { MemoryParts } from "./memory.ts";
import type { TurnWork } from "./turns.ts";

export interface ApplicationParts {
  readonly loaded: LoadedConfig;
  readonly version: string;
  readonly node: { readonly id: string; readonly name: string };
  readonly startedAt: Date;
  readonly database: Database;
  readonly memory: MemoryParts;
  readonly backups: BackupParts;
  readonly schedules: Schedules;
  readonly mcpServers: McpServers;
  readonly agents: AgentParts;
  readonly turns: TurnWork;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly receivers: Pick<Receivers, "state">;
  readonly pairings: Pairings;
  readonly logins: Logins;
  readonly lifecycle: NodeLifecycle;
  readonly registry: Pick<NodeRegistry, "members" | "find">;
  /** Asks another node who it is. */
  readonly askPeer: ReachabilityDeps["ask"];
  readonly mesh: MeshMembership;
  readonly budgets: Budgets;
  readonly audit: () => AuditStatus;
  /** Null until the schema is known. */
  readonly schemaVersion: () => number | null;
  readonly clock: Clock;
  readonly newId: NewId;
}

export function composeApplication(parts: ApplicationParts): Application {
  const { loaded, version, node, startedAt, database, memory, turns, lifecycle, clock, newId } = parts;
  const { agents, providers } = parts.agents;
  const ownerToken = loaded.env["SERVICE_API_TOKEN"];
  return {
    version,
    node,
    agents: () =>
      [...agents.values()].map(({ name, provider, model }) => ({
        name,
        model: model ?? providers.get(provider)?.getModel() ?? "",
      })),
    turns: turns.turns,
    testTurn: turns.testTurn,
    commands: turns.commands,
    memoryTools: memory.tools,
    reading: memory.reading,
    capture: memory.capture,
    health: createHealth({
      version,
      node,
      database,
      store: turns.store,
      dispatcher: turns.dispatcher,
      jobs: memory.queues,
      agents,
      providers,
      circuits: turns.circuits,
      budgets: parts.budgets,
      channels: parts.channels,
      receivers: parts.receivers,
      mesh: parts.mesh.report,
      audit: parts.audit,
      clock,
      startedAt,
      state: lifecycle.state,
      schemaVersion: parts.schemaVersion,
      workers: memory.workers,
      backups: parts.backups.backups,
      schedules: parts.schedules,
      approvals: turns.approvals,
      mcpServers: parts.mcpServers,
      skills: parts.agents.skills.library,
      plugins: parts.agents.plugins.report,
    }),
    tokens: createTokens({ database, newId, clock, randomBytes, ...(ownerToken ? { ownerToken } : {}) }),
    webhooks: new Map(
      [...parts.channels].flatMap(([id, { webhook }]) => (webhook === undefined ? [] : [[id, webhook] as const])),
    ),
    pairings: parts.pairings,
    approvals: turns.approvals,
    logins: parts.logins,
    peers: createPeers({ id: node.id, find: parts.registry.find, clock }),
    sharesDatabase: turns.places.shares,
    archives: parts.backups.archives,
    forgetting: memory.forgetting,
    backups: parts.backups.backups,
    queues: memory.queues,
    usage: createUsageLedger({ database, clock, timezone: loaded.config.runtime.timezone }),
    schedules: parts.schedules,
    mcpServers: parts.mcpServers,
    lifecycle,
    members: parts.registry.members,
    rollouts: createRollouts({ database, leases: createLeaseTable(database), newId }),
    reachability: createReachability({ id: node.id, members: parts.registry.members, ask: parts.askPeer, clock }),
    mesh: parts.mesh,
  };
}
