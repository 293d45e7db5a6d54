/** Puts the turn code together: inbox, dispatcher, runner, outbox, and the two use cases that channels call. */

import { createApprovals } from "../app/approvals.ts";
import type { AttachmentStore } from "../app/attachments/store.ts";
import { createConversations } from "../app/conversations.ts";
import type { HookPipeline } from "../app/hooks.ts";
import { createLeaseTable } from "../app/leases.ts";
import { createAgentPlaces } from "../app/mesh/agent-places.ts";
import type { Pairings } from "../app/pairings.ts";
import type { Receivers } from "../app/receivers.ts";
import type { ToolRegistry } from "../app/tool-registry.ts";
import type { Writer } from "../app/transcript/writer.ts";
import type { Agent, TurnLimits } from "../app/turn/agents.ts";
import { createCommands } from "../app/turn/commands.ts";
import { Dispatcher } from "../app/turn/dispatcher.ts";
import { createForwardedStreams } from "../app/turn/forwarded-streams.ts";
import { createInbox } from "../app/turn/inbox.ts";
import { createModelCaller } from "../app/turn/model-caller.ts";
import { createOutbox } from "../app/turn/outbox.ts";
import { createPlacement } from "../app/turn/placement.ts";
import { createPromptBuilder } from "../app/turn/prompt.ts";
import { createProviderCircuits } from "../app/turn/provider-circuits.ts";
import { createReceipts } from "../app/turn/receipts.ts";
import { createRemoteTaskStore } from "../app/turn/remote-task-store.ts";
import { RemoteTasks } from "../app/turn/remote-tasks.ts";
import { StreamHub } from "../app/turn/stream-hub.ts";
import { createTaskProgress } from "../app/turn/task-progress.ts";
import { createToolRunner } from "../app/turn/tool-runner.ts";
import { createToolWeights } from "../app/turn/tool-weights.ts";
import type { TurnCompaction } from "../app/turn/turn-compaction.ts";
import { createTurnDisplay } from "../app/turn/turn-display.ts";
import { TURN_CHANNEL } from "../app/turn/turn-fence.ts";
import { createTurnRunner, type TurnRunnerDeps } from "../app/turn/turn-runner.ts";
import { TurnStore } from "../app/turn/turn-store.ts";
import { createTurns } from "../app/turn/turns.ts";
import type { Budgets } from "../app/usage/budgets.ts";
import type { Channel } from "../contracts/channel.ts";
import type { Database } from "../contracts/database.ts";
import type { PeerAgents } from "../contracts/delegation.ts";
import type { Memory } from "../contracts/memory.ts";
import type { Member } from "../contracts/node-entry.ts";
import type { Clock, Logger, NewId } from "../contracts/ports.ts";
import type { Provider } from "../contracts/provider.ts";
import type { SecurityLog } from "../contracts/security-log.ts";
import type { ModelWindow } from "../domain/model-window.ts";
import type { ChannelRouting } from "../domain/routing.ts";
import { isoDay } from "../domain/time-window.ts";
import type { Prices } from "../domain/usage.ts";
import type { AuditLog } from "../plugins/hooks/safety/index.ts";
import type { Service } from "./services.ts";
import type { SkillParts } from "./skills.ts";
import { createTestTurn, testAgent, testProvider } from "./test-turn.ts";

export interface TurnParts {
  readonly database: Database;
  readonly writer: Writer;
  readonly memory: Required<Memory>;
  readonly compaction: TurnCompaction;
  readonly attachments: AttachmentStore;
  readonly agents: ReadonlyMap<string, Agent>;
  /** Directory for the workspaces of users who are not the owner. */
  readonly workspacesOfOthers: string;
  readonly tools: ToolRegistry;
  readonly providers: ReadonlyMap<string, Provider>;
  /** By provider. */
  readonly windows: ReadonlyMap<string, ModelWindow>;
  /** By provider. */
  readonly prices: ReadonlyMap<string, Prices>;
  readonly budgets: Budgets;
  readonly channels: ReadonlyMap<string, Channel>;
  /** One that sends nothing by itself: the node tests itself over it. */
  readonly testChannel: string;
  readonly hooks: HookPipeline;
  /** Of tool calls; null where it is switched off. */
  readonly audit: AuditLog | null;
  readonly skills: SkillParts;
  readonly limits: TurnLimits;
  readonly node: { readonly id: string; readonly name: string };
  /** One start of the process. */
  readonly boot: string;
  /** Where at most one process of this node can be alive. */
  readonly place: string;
  readonly countTokens: (text: string) => number;
  /** Takes the service's own secrets out of what providers are sent. */
  readonly redactValues: (text: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly newId: NewId;
  readonly routing: (channel: string) => ChannelRouting;
  /** How long turns that run may take to end when the node stops. */
  readonly drainDeadlineMs: number;
  isDraining(): boolean;
  readonly pairings: Pick<Pairings, "approve">;
  readonly security: SecurityLog;
  /** Agents of other nodes; null: they are not asked. */
  readonly peers: PeerAgents | null;
  /** Of the registry of nodes. */
  readonly members: () => Promise<readonly Member[]>;
  /** See PlacementDeps. */
  onReturn(): Promise<void>;
  /** Made after the turns, and asked while they run. */
  receivers(): Pick<Receivers, "retryNow" | "connectedMs">;
  /** For metrics. */
  onEnded: TurnRunnerDeps["onEnded"];
}

export type TurnWork = ReturnType<typeof composeTurns>;

export function composeTurns(parts: TurnParts) {
  const { database, memory, agents, providers, channels, hooks, limits, node, clock, logger, newId, isDraining } =
    parts;
  const own = testAgent(node, parts.workspacesOfOthers);
  const withOwn = {
    agents: new Map([...agents, [own.name, own]]),
    providers: new Map([...providers, [testProvider.id, testProvider]]),
  };
  const store = new TurnStore({ database, owner: { node: node.id, boot: parts.boot }, leaseMs: limits.leaseMs, newId });
  const hub = new StreamHub(clock.monotonic);
  const inbox = createInbox({ database, limits, newId });
  const outbox = createOutbox({
    database,
    channels,
    attachments: parts.attachments,
    connectedMs: (channel) => parts.receivers().connectedMs(channel),
    logger,
  });
  const notify = async (payload: string): Promise<void> => {
    await database.query("select pg_notify($1, $2)", [TURN_CHANNEL, payload]);
  };
  const announceRelease = () => notify("released");
  const placement = createPlacement({
    agents,
    leases: createLeaseTable(database),
    node,
    boot: parts.boot,
    place: parts.place,
    leaseMs: limits.leaseMs,
    clock,
    logger,
    onGained: () => dispatcher.kick(),
    onReturn: parts.onReturn,
    announceRelease,
  });
  const places = createAgentPlaces({ database, members: parts.members, agents, node });
  const remoteTasks =
    parts.peers === null
      ? null
      : new RemoteTasks({
          store: createRemoteTaskStore(database),
          places,
          peers: parts.peers,
          placement,
          hub,
          newId,
          logger,
        });
  const approvals = createApprovals({
    database,
    newId,
    security: parts.security,
    async wake() {
      dispatcher.kick();
      await notify("queued");
    },
  });
  const circuits = createProviderCircuits({ clock, logger });
  const conversations = createConversations({ database, hooks, writer: parts.writer });
  const run = createTurnRunner({
    ...parts,
    ...withOwn,
    store,
    places,
    conversations,
    approvals,
    prompts: createPromptBuilder({ logger }),
    weighTools: createToolWeights(parts.countTokens),
    skills: parts.skills.use,
    callModel: createModelCaller({
      providers: withOwn.providers,
      hooks,
      redact: parts.redactValues,
      prices: parts.prices,
      circuits,
      today: () => isoDay(clock.now(), limits.timezone),
      logger,
    }),
    budgets: parts.budgets,
    toolRunner: createToolRunner({
      hooks,
      clock,
      logger,
      recordRefusal: async (context, { code, message }) =>
        parts.audit?.record("refused", context, { code, reason: message }),
    }),
    display: createTurnDisplay({ channels, store, logger }),
    onDelivered: () => outbox.kick(),
    onWaiting: () => {
      outbox.kick();
      remoteTasks?.kick();
    },
    onEnded: (agent, state, durationS) => {
      outbox.kick();
      remoteTasks?.turnEnded();
      parts.onEnded(agent, state, durationS);
    },
  });
  // Its own tests need no lease beside that of its identity: the name is nobody else's.
  const withTests = { ...placement, hosted: () => [...placement.hosted(), own.name] };
  const taskProgress = createTaskProgress({ database, placement: withTests, hub, logger });
  const dispatcher = new Dispatcher({
    database,
    store,
    placement: withTests,
    onReleased: () => {
      placement.renewNow();
      parts.receivers().retryNow();
    },
    run: (turn, signals, emit) => run(turn, signals, taskProgress.reporting(turn, emit)),
    hub,
    limits,
    clock,
    logger,
  });
  const turns = createTurns({
    database,
    agents: new Set(agents.keys()),
    inbox,
    store,
    hub,
    dispatcher,
    placement: withTests,
    receipts: createReceipts({ channels, store, dispatcher, placement: withTests, logger }),
    forwarded: parts.peers === null ? null : createForwardedStreams({ places, peers: parts.peers, hub, logger }),
    routing: parts.routing,
    isDraining,
  });
  const commands = createCommands({
    agents,
    providers,
    store,
    inbox,
    dispatcher,
    memory,
    conversations,
    limits,
    newId,
    routing: parts.routing,
    timezone: limits.timezone,
    pairings: parts.pairings,
    approvals,
    security: parts.security,
    announceAnswer: () => notify("queued"),
    announceAbort: (turnId) => notify(`abort:${turnId}`),
    isDraining,
  });
  return {
    store,
    circuits,
    turns,
    testTurn: createTestTurn({ agent: own, channel: parts.testChannel, inbox, turns, dispatcher, newId }),
    commands,
    approvals,
    dispatcher,
    placement,
    places,
    announceRelease,
    onConnected: (channel: string) => void outbox.connected(channel),
    services: {
      placement: { name: "placement", start: (signal) => placement.start(signal), stop: () => placement.stop() },
      dispatcher: {
        name: "dispatcher",
        start: () => dispatcher.start(),
        drain: () => dispatcher.drain(parts.drainDeadlineMs),
        stop: () => dispatcher.stop(),
      },
      taskProgress: {
        name: "progress of tasks",
        start: () => taskProgress.start(),
        stop: () => taskProgress.stop(),
      },
      remoteTasks: {
        name: "tasks of other nodes",
        start: () => remoteTasks?.start(),
        stop: () => remoteTasks?.stop(),
      },
      outbox: {
        name: "outbox",
        start: () => outbox.start(),
        drain: () => outbox.drain(),
        stop: () => outbox.stop(),
      },
    } satisfies Record<string, Service>,
  };
}
