/**
 * The composition root: the one place that knows which plugins exist. Builds the node of a configuration, starts it
 * (also while its database is still unavailable) and ends it in order: drain, reply, close.
 */

import { randomBytes } from "node:crypto";
import { v7 as newId } from "uuid";
import { createAttachmentStore } from "./app/attachments/store.ts";
import { createLeaseTable } from "./app/leases.ts";
import { createPairings } from "./app/pairings.ts";
import { createReceivers } from "./app/receivers.ts";
import { createSecurityTrail } from "./app/security-trail.ts";
import { createTodoLists } from "./app/todo-lists.ts";
import { createBudgets } from "./app/usage/budgets.ts";
import { createPeerAgents } from "./client/peer-agents.ts";
import type { Database } from "./contracts/database.ts";
import type { Clock } from "./contracts/ports.ts";
import { createTokenizer } from "./domain/tokens.ts";
import { composeAgents } from "./host/agents.ts";
import { composeApplication } from "./host/application.ts";
import { composeBackups } from "./host/backups.ts";
import { createChannels } from "./host/channels.ts";
import { recordConfigurationChange } from "./host/configuration-change.ts";
import { openDatabase } from "./host/database.ts";
import { type HeldHome, holdHome } from "./host/home.ts";
import { loadIdentity } from "./host/identity.ts";
import { createLifecycle } from "./host/lifecycle.ts";
import { createLogins } from "./host/logins.ts";
import { composeMcpServers } from "./host/mcp-servers.ts";
import { composeMemory } from "./host/memory.ts";
import { composeMesh } from "./host/mesh.ts";
import { createMetrics, workIn } from "./host/metrics.ts";
import type { HostOptions } from "./host/options.ts";
import { pricesOf } from "./host/providers.ts";
import { composeSchedules } from "./host/schedules.ts";
import { createSchemaService } from "./host/schema.ts";
import { createHttpService } from "./host/serve.ts";
import { type Service, Services } from "./host/services.ts";
import { channelRouting, turnLimits, workspaceSeed } from "./host/settings.ts";
import { composeTurns } from "./host/turns.ts";
import { seedWorkspaces } from "./host/workspace-seed.ts";
import { createAuditFile, rotateAudit } from "./plugins/hooks/safety/index.ts";
import { createHousekeeping } from "./workers/housekeeping.ts";
import { createTickers } from "./workers/ticker.ts";

export type { HostOptions } from "./host/options.ts";

export interface Host {
  readonly url: string;
  /** Resolves once messages are accepted; rejects when that can never be (a schema that does not fit, for instance). */
  readonly ready: Promise<void>;
  /** Rejects when a node that was ready must not go on; pending else. */
  readonly unfit: Promise<never>;
  /** Drains and closes everything, in order. */
  stop(): Promise<void>;
}

const systemClock: Clock = { now: () => new Date(), monotonic: () => performance.now() };

/** Holds the home directory, opens the store and listens; the other services start behind `ready`. */
export async function startHost(options: HostOptions): Promise<Host> {
  const { loaded, log, maintenance } = options;
  const services = new Services(log.logger);
  try {
    const home = await holdHome(loaded.home, loaded.dir, options.moving);
    services.add({ name: "home", stop: () => home.release() });
    const seeded = workspaceSeed(loaded);
    if (seeded && !maintenance) await seedWorkspaces({ ...seeded, logger: log.logger });
    const database = await openDatabase(loaded.config, log.logger);
    services.add({ name: "database", stop: () => database.close() });
    const { listening, working, url, unfit } = await compose(options, home, database, services.stopping);
    await services.start(listening);
    return {
      url: url(),
      ready: services.start(working),
      unfit,
      async stop() {
        await services.stop();
        log.logger.info({}, "stopped");
      },
    };
  } catch (error) {
    await services.stop().catch(() => undefined);
    throw error;
  }
}

interface ComposedNode {
  /** What a node needs to answer requests, be its database there or not. */
  readonly listening: readonly Service[];
  /** What follows when it is there. */
  readonly working: readonly Service[];
  /** Once it listens. */
  url(): string;
  readonly unfit: Promise<never>;
}

async function compose(
  options: HostOptions,
  home: HeldHome,
  database: Database,
  stopping: AbortSignal,
): Promise<ComposedNode> {
  const { loaded, version, boot, log, maintenance, hide } = options;
  const { config, dir } = loaded;
  const { logger } = log;
  const { paths } = home;
  const clock = systemClock;
  const startedAt = clock.now();
  const identity = await loadIdentity(paths.nodeKey, config.mesh.name);
  const node = { id: identity.id, name: identity.name };
  const schema = createSchemaService({ database, node: node.id, release: version, logger });

  const countTokens = createTokenizer();
  const tickers = createTickers();
  const memoryParts = await composeMemory({
    loaded,
    database,
    tickers,
    node,
    working: !maintenance,
    countTokens,
    clock,
    newId,
    newMark: () => randomBytes(12).toString("hex"),
    redact: options.redact,
    redactValues: options.redactValues,
    logger,
  });
  const { writer, memory, workers } = memoryParts;
  const attachments = createAttachmentStore({ database, directory: paths.attachments, logger });
  const auditFile = createAuditFile({ directory: paths.audit, clock, logger });
  const security = createSecurityTrail({ append: (entry) => auditFile.append(entry), clock });
  const agentParts = await composeAgents({
    options,
    stopping,
    memory: memoryParts,
    todoLists: createTodoLists(database),
    workspacesOfOthers: paths.workspacesOfOthers,
    auditFile,
    clock,
    newId,
  });

  const { tools } = agentParts;
  const mcpServers = await composeMcpServers({ loaded, tools, paths, hide, version, clock, newId, logger });

  const pairings = createPairings({ database, randomBytes });
  const channels = await createChannels(config, { pairings, brought: agentParts.plugins.channels, newId, logger });
  const drainDeadlineMs = config.runtime.drain_deadline;
  const lifecycle = createLifecycle({
    dispatcher: () => turnWork.dispatcher,
    hasPeers: () => turnWork.placement.hasPeers(),
    drainDeadlineMs,
    stopping,
    logger,
    onChange: () => {
      membership.notify();
      if (lifecycle.draining) void receivers.handOver();
      else receivers.takeBack();
    },
  });
  const { peers, discovery, membership } = composeMesh({
    loaded,
    version,
    identity,
    database,
    agents: agentParts.agents,
    paths,
    isDraining: () => lifecycle.draining,
    url: () => http.url(),
    clock,
    newId,
    logger,
  });
  // Nobody else can have an embedded store open.
  const place = database.backend === "embedded" ? "store" : home.place;
  const backups = composeBackups({
    config,
    database,
    writer,
    attachments,
    paths,
    node,
    place,
    clock,
    version,
    isDraining: lifecycle.refusesMessages,
    logger,
  });
  const limits = turnLimits(loaded);
  const budgets = createBudgets({ database, agents: agentParts.agents, timezone: limits.timezone, clock, logger });
  const metrics = createMetrics({
    openTurns: () => turnWork.store.open(),
    jobs: memoryParts.queues,
    workers,
    backups: backups.backups,
    budgets,
    mcpServers: mcpServers.servers.report,
    audit: auditFile.status,
    ...workIn(database),
  });
  const turnWork = composeTurns({
    database,
    writer,
    memory,
    compaction: memoryParts.compaction,
    attachments,
    ...agentParts,
    workspacesOfOthers: paths.workspacesOfOthers,
    prices: pricesOf(config),
    channels: channels.byId,
    testChannel: channels.agent.id,
    limits,
    budgets,
    node,
    boot,
    place,
    countTokens,
    redactValues: options.redactValues,
    clock,
    logger,
    newId,
    routing: channelRouting(loaded),
    drainDeadlineMs,
    isDraining: lifecycle.refusesMessages,
    pairings,
    security,
    peers: createPeerAgents(peers),
    members: () => membership.registry.members(),
    onReturn: membership.onReturn,
    receivers: () => receivers,
    onEnded: (agent, turnState, durationS) => metrics.turnEnded(agent, turnState, durationS),
  });
  channels.connect(turnWork);
  const schedules = composeSchedules({
    config,
    database,
    turns: turnWork,
    storingChannel: channels.agent.id,
    isDraining: lifecycle.refusesMessages,
    clock,
    newId,
    logger,
  });
  const receivers = createReceivers({
    channels: channels.receiving,
    leases: createLeaseTable(database),
    node,
    boot,
    place,
    leaseMs: config.runtime.lease,
    clock,
    logger,
    announceRelease: turnWork.announceRelease,
    onConnected: turnWork.onConnected,
  });
  const housekeeping = createHousekeeping({
    database,
    tickers,
    logger,
    tasks: {
      "audit logs": () => rotateAudit(paths.audit, clock.now(), config.runtime.safety, logger),
      attachments: (signal) => attachments.moveHomeFiles(signal),
      nodes: () => membership.prune(),
      pairings: () => pairings.prune(),
      ...memoryParts.tasks,
    },
  });

  const app = composeApplication({
    loaded,
    version,
    node,
    startedAt,
    database,
    memory: memoryParts,
    backups,
    schedules: schedules.schedules,
    mcpServers: mcpServers.servers,
    agents: agentParts,
    turns: turnWork,
    budgets,
    channels: channels.byId,
    receivers,
    pairings,
    logins: createLogins({ config, home: paths.home, clock, hide }),
    lifecycle,
    registry: membership.registry,
    askPeer: async (entry, { timeoutMs, signal }) => peers.to(entry).ping({ timeoutMs, ...(signal ? { signal } : {}) }),
    mesh: membership.control,
    audit: auditFile.status,
    schemaVersion: schema.version,
    clock,
    newId,
  });
  const http = createHttpService({
    loaded,
    maintenance,
    certificateFiles: paths,
    app,
    agentChannel: channels.agent,
    voice: channels.voice,
    logger,
    metrics: metrics.registry,
    security,
    clock,
    newId,
    announce: ({ url, host, port, pin, nextPin }) => {
      membership.shows(pin, nextPin);
      return home.announce({
        pid: process.pid,
        boot,
        listen: `${host}:${port}`,
        url,
        certificate_sha256: pin,
        next_certificate_sha256: nextPin,
        started_at: startedAt.toISOString(),
        dir,
        version,
        maintenance,
      });
    },
  });

  const unfit = Promise.race([membership.unfit, receivers.unfit]);
  unfit.catch(() => undefined);
  return {
    url: http.url,
    unfit,
    listening: [
      { name: "plugins", stop: () => agentParts.plugins.close() },
      memoryParts.encoder,
      { name: "security log", stop: () => security.close() },
      http,
      {
        name: "configuration change",
        async start() {
          if (!maintenance)
            await recordConfigurationChange(loaded.file, paths.configuration, identity.privateKey, security);
        },
      },
    ],
    working: [
      schema.service,
      ...memoryParts.services,
      ...(maintenance
        ? []
        : [
            // Requests are answered until then, also from the memory; what is behind it hands over before.
            lifecycle.notice,
            { name: "housekeeping", start: housekeeping.start, stop: housekeeping.stop },
            turnWork.services.placement,
            ...(discovery ? [discovery.service] : []),
            membership.service,
            // It holds its lease under the identity that placement has made sure of.
            ...backups.services,
            // The outbox after the channels that it sends through, so that it is stopped first and the replies of a drain get out.
            ...channels.services,
            turnWork.services.outbox,
            turnWork.services.taskProgress,
            turnWork.services.remoteTasks,
            mcpServers.service,
            agentParts.service,
            turnWork.services.dispatcher,
            schedules.service,
            { name: "receivers", start: receivers.start, drain: receivers.handOver, stop: receivers.stop },
          ]),
      lifecycle.service({ node: node.id, backend: database.backend, agents: [...agentParts.agents.keys()] }),
    ],
  };
}
