/**
 * The composition root: the one place that knows which plugins exist. Builds the node of a configuration, starts it
 * (also while its database is still away) and ends it in order: drain, reply, close.
 */

import { randomBytes } from "node:crypto";
import { v7 as newId } from "uuid";
import type { Application } from "./app/api.ts";
import { createArchives } from "./app/archive/archives.ts";
import { createAttachmentStore } from "./app/attachments.ts";
import { createHealth, type NodeState } from "./app/health.ts";
import { createSecurityTrail } from "./app/security-trail.ts";
import { createTokens } from "./app/tokens.ts";
import type { LoadedConfig } from "./config/index.ts";
import type { Channel } from "./contracts/channel.ts";
import type { Database } from "./contracts/database.ts";
import type { Clock } from "./contracts/ports.ts";
import { createTokenizer } from "./domain/tokens.ts";
import { composeAgents } from "./host/agents.ts";
import { bringUp } from "./host/bring-up.ts";
import { recordConfigurationChange } from "./host/configuration-change.ts";
import { MIGRATIONS, openDatabase } from "./host/database.ts";
import { type HeldHome, holdHome } from "./host/home.ts";
import { loadIdentity } from "./host/identity.ts";
import type { ServiceLog } from "./host/logger.ts";
import { composeMemory } from "./host/memory.ts";
import { createMetrics, workIn } from "./host/metrics.ts";
import { serve } from "./host/serve.ts";
import { channelRouting, ownerId, turnLimits, workspaceSeed } from "./host/settings.ts";
import { composeTurns } from "./host/turns.ts";
import { seedWorkspaces } from "./host/workspace-seed.ts";
import { createAgentChannel } from "./plugins/channels/agent/index.ts";
import { createAuditFile, rotateAudit } from "./plugins/hooks/safety/index.ts";
import { createHousekeeping } from "./workers/housekeeping.ts";

export interface HostOptions {
  readonly loaded: LoadedConfig;
  readonly version: string;
  /** One start of the process. */
  readonly boot: string;
  readonly log: ServiceLog;
  /** Takes secrets out of texts that leave the process elsewhere than by the log. */
  readonly redact: (text: string) => string;
  /** Takes secrets that are known by value, and nothing else, out of what providers are sent. */
  readonly redactValues: (text: string) => string;
  /** Secrets that were not known at the start: from now on the log takes them out, too. */
  readonly hide: (secrets: readonly string[]) => void;
  /** Short-lived, for commands that need the store: loopback on a free port; no channels, no turns, no workers. */
  readonly maintenance: boolean;
}

export interface Host {
  readonly url: string;
  /** Resolves once messages are accepted; rejects when that can never be (a schema that does not fit, for instance). */
  readonly ready: Promise<void>;
  /** Drains and closes everything, in order. */
  stop(): Promise<void>;
}

const systemClock: Clock = { now: () => new Date(), monotonic: () => performance.now() };
/** Jobs that run get this long to end when the node stops. */
const JOBS_DEADLINE_MS = 5_000;

/** Holds the home directory, opens the store and listens; the rest comes up behind `ready`. */
export async function startHost(options: HostOptions): Promise<Host> {
  const home = await holdHome(options.loaded.home);
  let database: Database | null = null;
  try {
    const seeded = workspaceSeed(options.loaded);
    if (seeded && !options.maintenance) await seedWorkspaces({ ...seeded, logger: options.log.logger });
    database = await openDatabase(options.loaded.config, options.log.logger);
    return await compose(options, home, database);
  } catch (error) {
    await database?.close();
    await home.release();
    throw error;
  }
}

async function compose(options: HostOptions, home: HeldHome, database: Database): Promise<Host> {
  const { loaded, version, boot, log, maintenance } = options;
  const { config, dir, env } = loaded;
  const { logger } = log;
  const { paths } = home;
  const clock = systemClock;
  const startedAt = clock.now();
  const identity = await loadIdentity(paths.nodeKey, config.mesh.name);
  const node = { id: identity.id, name: identity.name };
  let state: NodeState = "starting";
  let schemaVersion: number | null = null;

  const singleNode = config.deployment.nodes.length <= 1;
  const countTokens = createTokenizer();
  const memoryParts = composeMemory({
    loaded,
    database,
    boot,
    node,
    migrate: singleNode,
    countTokens,
    clock,
    newId,
    newMark: () => randomBytes(12).toString("hex"),
    redact: options.redact,
    redactValues: options.redactValues,
    logger,
  });
  const { jobs, writer, memory, queues, workers } = memoryParts;
  const attachments = createAttachmentStore(paths.attachments, newId);
  const archives = createArchives({
    database,
    writer,
    agents: new Set(Object.keys(config.agents)),
    attachments: paths.attachments,
    clock,
    version,
  });

  const auditFile = createAuditFile({ directory: paths.audit, clock, logger });
  const security = createSecurityTrail({ append: (entry) => auditFile.append(entry), clock });

  const { providers, hooks, agents } = composeAgents({
    loaded,
    memory,
    memoryTools: memoryParts.tools,
    workspacesOfOthers: paths.workspacesOfOthers,
    auditFile,
    redact: options.redact,
    hide: options.hide,
    clock,
    newId,
    logger,
  });

  // Turns: inbox to outbox.
  const agentChannel = createAgentChannel({ id: "agent", newId, ...ownerId(loaded) });
  const channels = new Map<string, Channel>([[agentChannel.id, agentChannel]]);
  const metrics = createMetrics({
    openTurns: () => store.open(),
    jobs,
    workers,
    audit: auditFile.status,
    ...workIn(database),
  });
  const { store, turns, commands, dispatcher, ...turnWork } = composeTurns({
    database,
    writer,
    memory,
    attachments,
    agents,
    providers,
    channels,
    hooks,
    limits: turnLimits(loaded),
    node,
    boot,
    // Nobody else can have an embedded store open.
    place: database.backend === "embedded" ? "store" : home.place,
    countTokens,
    redactValues: options.redactValues,
    clock,
    logger,
    newId,
    routing: channelRouting(loaded),
    isDraining: () => state === "draining" || state === "stopped",
    onEnded: (agent, turnState, durationS) => metrics.turnEnded(agent, turnState, durationS),
  });
  agentChannel.onMessage((message) => turns.accept(message));
  agentChannel.onCommand((command) => commands.run(command));
  const housekeeping = createHousekeeping({
    database,
    jobs,
    logger,
    tasks: memoryParts.tasks,
    local: () => rotateAudit(paths.audit, clock.now(), config.runtime.safety, logger),
  });

  const ownerToken = env["SERVICE_API_TOKEN"];
  const app: Application = {
    version,
    node,
    agents: () =>
      [...agents.values()].map(({ name, provider, model }) => ({
        name,
        model: model ?? providers.get(provider)?.getModel() ?? "",
      })),
    turns,
    commands,
    memoryTools: memoryParts.tools,
    capture: memoryParts.capture,
    health: createHealth({
      version,
      node,
      database,
      store,
      dispatcher,
      jobs: queues,
      agents,
      providers,
      channels,
      meshEnabled: config.mesh.enabled,
      audit: auditFile.status,
      clock,
      startedAt,
      state: () => state,
      schemaVersion: () => schemaVersion,
      workers,
    }),
    tokens: createTokens({ database, newId, clock, randomBytes, ...(ownerToken ? { ownerToken } : {}) }),
    archives,
    queues,
    lifecycle: {
      get draining() {
        return state === "draining";
      },
      drain,
      async resume() {
        // Once the process is on its way out there is no way back.
        if (state !== "draining" || stopping.signal.aborted) return;
        state = "running";
        dispatcher.resume();
      },
    },
  };

  const { server, url, host, port } = await serve({
    loaded,
    maintenance,
    app,
    agentChannel,
    logger,
    metrics: metrics.registry,
    security,
    clock,
    newId,
  });
  await home.announce({
    pid: process.pid,
    boot,
    listen: `${host}:${port}`,
    url,
    started_at: startedAt.toISOString(),
    dir,
    version,
    maintenance,
  });

  if (!maintenance) await recordConfigurationChange(loaded.file, paths.configuration, identity.privateKey, security);

  const stopping = new AbortController();
  const ready = bringUp({
    database,
    migrations: MIGRATIONS,
    migrate: singleNode,
    logger,
    signal: stopping.signal,
  }).then(async (found) => {
    schemaVersion = found;
    if (!maintenance) {
      await memoryParts.start();
      await housekeeping.start();
      await turnWork.start(stopping.signal);
      await agentChannel.start();
    }
    state = "running";
    logger.info({ url, node: node.id, backend: database.backend, agents: [...agents.keys()] }, "the node is ready");
  });

  async function drain(deadlineMs = config.runtime.drain_deadline): Promise<void> {
    if (state === "stopped") return;
    state = "draining";
    logger.info({ active: dispatcher.activeTurns, deadline_ms: deadlineMs }, "draining");
    await dispatcher.drain(deadlineMs);
  }

  return {
    url,
    ready,
    async stop() {
      stopping.abort();
      await ready.catch(() => undefined);
      await drain();
      state = "stopped";
      memoryParts.hush();
      await agentChannel.stop();
      await server.close();
      await security.close();
      housekeeping.stop();
      memoryParts.rest();
      await turnWork.stop();
      await memoryParts.close(JOBS_DEADLINE_MS);
      await database.close();
      await home.release();
      logger.info({}, "stopped");
    },
  };
}
