/**
 * The turn code over a real store, with a scripted model in place of a provider. Every harness has an agent of its own, so
 * that many can share a store; `restart` stands for the next start of the same node after the process has died.
 */

import { randomBytes, randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as newId } from "uuid";
import { createApprovals } from "../../runtime/app/approvals.ts";
import { createAttachmentStore } from "../../runtime/app/attachments/store.ts";
import { createConversations } from "../../runtime/app/conversations.ts";
import { createHookPipeline } from "../../runtime/app/hooks.ts";
import { createLeaseTable } from "../../runtime/app/leases.ts";
import { createAgentPlaces } from "../../runtime/app/mesh/agent-places.ts";
import { createPairings } from "../../runtime/app/pairings.ts";
import { createMemory } from "../../runtime/app/recall/memory.ts";
import type { SkillUse } from "../../runtime/app/skills/skill-use.ts";
import { ToolRegistry } from "../../runtime/app/tool-registry.ts";
import { createWriter } from "../../runtime/app/transcript/writer.ts";
import type { Agent, TurnLimits } from "../../runtime/app/turn/agents.ts";
import { createCommands } from "../../runtime/app/turn/commands.ts";
import { Dispatcher } from "../../runtime/app/turn/dispatcher.ts";
import { createForwardedStreams } from "../../runtime/app/turn/forwarded-streams.ts";
import { createInbox } from "../../runtime/app/turn/inbox.ts";
import { createModelCaller } from "../../runtime/app/turn/model-caller.ts";
import { createOutbox } from "../../runtime/app/turn/outbox.ts";
import { createPlacement } from "../../runtime/app/turn/placement.ts";
import { createPromptBuilder } from "../../runtime/app/turn/prompt.ts";
import { createProviderCircuits } from "../../runtime/app/turn/provider-circuits.ts";
import { createReceipts } from "../../runtime/app/turn/receipts.ts";
import { createRemoteTaskStore } from "../../runtime/app/turn/remote-task-store.ts";
import { RemoteTasks } from "../../runtime/app/turn/remote-tasks.ts";
import { StreamHub } from "../../runtime/app/turn/stream-hub.ts";
import { createTaskProgress } from "../../runtime/app/turn/task-progress.ts";
import { createToolRunner } from "../../runtime/app/turn/tool-runner.ts";
import { createToolWeights } from "../../runtime/app/turn/tool-weights.ts";
import { createTurnCompaction, type TurnCompactionDeps } from "../../runtime/app/turn/turn-compaction.ts";
import { createTurnDisplay } from "../../runtime/app/turn/turn-display.ts";
import { TURN_CHANNEL } from "../../runtime/app/turn/turn-fence.ts";
import { createTurnRunner } from "../../runtime/app/turn/turn-runner.ts";
import { TurnStore } from "../../runtime/app/turn/turn-store.ts";
import { createTurns } from "../../runtime/app/turn/turns.ts";
import { createBudgets } from "../../runtime/app/usage/budgets.ts";
import type { Channel, InboundMessage, OutboundMessage } from "../../runtime/contracts/channel.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import type { PeerAgents } from "../../runtime/contracts/delegation.ts";
import type { AnyHook } from "../../runtime/contracts/hooks.ts";
import type { Message } from "../../runtime/contracts/message.ts";
import type { Clock, Logger } from "../../runtime/contracts/ports.ts";
import type { ChatChunk, ChatOptions, Provider } from "../../runtime/contracts/provider.ts";
import type { SecurityEvent } from "../../runtime/contracts/security-log.ts";
import type { StreamEvent } from "../../runtime/contracts/stream.ts";
import type { Tool } from "../../runtime/contracts/tool.ts";
import { isoDay } from "../../runtime/domain/time-window.ts";
import type { Prices } from "../../runtime/domain/usage.ts";
import { quietLogger } from "./databases.ts";
import { newMark } from "./memory.ts";
import { registryOf } from "./node-entries.ts";

/** What the model says to a request; the chunks before `end` are made of it. */
export type Script = (
  request: { readonly messages: readonly Message[]; readonly options: ChatOptions },
  call: number,
) => AsyncIterable<ChatChunk> | readonly ChatChunk[] | Promise<readonly ChatChunk[]>;

export interface HarnessOptions {
  readonly database: Database;
  readonly script: Script;
  /** By provider: the only models that it has. */
  readonly models?: Readonly<Record<string, readonly string[]>>;
  /** Default: UTC. */
  readonly timezone?: string;
  /** Of every provider. */
  readonly listModels?: NonNullable<Provider["listModels"]>;
  /** Of providers; `scripted` is the id of the one that runs `script`. */
  readonly prices?: Readonly<Record<string, Prices>>;
  /** Of `scripted`; default: a language model. */
  readonly hasModel?: boolean;
  /** Further providers by id, for fallbacks. */
  readonly others?: Readonly<Record<string, Script>>;
  readonly tools?: readonly Tool[];
  readonly hooks?: readonly AnyHook[];
  /** Default: there are none. */
  readonly skills?: Pick<SkillUse, "prompt">;
  readonly agent?: Partial<Agent>;
  /** By provider, in tokens; default: 128,000. */
  readonly windows?: Readonly<Record<string, number>>;
  /** Further agents like it, named `<agent>-<name>`. */
  readonly moreAgents?: readonly string[];
  readonly limits?: Partial<TurnLimits>;
  readonly node?: string;
  /** Another one with the same node is a copy of its home directory. */
  readonly place?: string;
  readonly clock?: Clock;
  /** Of what providers are sent; default: nothing is a secret. */
  readonly redact?: (text: string) => string;
  /** Of the turns, and of the prompts' files. */
  readonly logger?: Logger;
  readonly send?: Channel["send"];
  /** How it reaches agents of other nodes; without it asks none. */
  readonly peers?: PeerAgents;
  /** Beside `bound`. */
  readonly channelBindings?: Readonly<Record<string, string>>;
  /** `memory.summarizer`, the deadline of a summary, and what is done before one is made; default: the agent's own model. */
  readonly compaction?: Partial<TurnCompactionDeps>;
  /** In place of one that notes what it sends. */
  readonly channel?: Channel;
}

export const text = (value: string): ChatChunk => ({ type: "text", text: value });
export const toolCall = (id: string, name: string, args: Record<string, unknown> = {}): ChatChunk => ({
  type: "tool_call",
  call: { id, name, arguments: args },
});
export const end = (stopReason: "end" | "tool_calls" | "length" = "end"): ChatChunk => ({
  type: "end",
  stopReason,
  usage: { inputTokens: 10, outputTokens: 5 },
  model: "scripted-1",
});

/** Never resolves by itself; rejects when the signal aborts. */
export function hang(signal?: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

export const realClock: Clock = { now: () => new Date(), monotonic: () => performance.now() };

export type Harness = Awaited<ReturnType<typeof startHarness>>;

export async function startHarness(options: HarnessOptions) {
  const { database, clock = realClock } = options;
  const agentName = options.agent?.name ?? `agent-${randomUUID().slice(0, 8)}`;
  const node = { id: options.node ?? `node-${agentName}`, name: "test" };
  const boot = randomUUID();
  const limits: TurnLimits = {
    maxToolIterations: 5,
    turnTimeoutMs: 600_000,
    leaseMs: 600_000,
    contextTokens: 1_000,
    timezone: "UTC",
    maxActiveTurns: 16,
    maxTurnsOfOthers: 16,
    maxTurnsOfOneUser: 16,
    maxOpenOfOthers: 1_000,
    maxOpenOfOneUser: 100,
    maxTextOfOthers: 65_536,
    maxTextsOfOthers: 524_288,
    maxAttachedOfOthers: 4_194_304,
    maxSteersOfOthers: 20,
    ...options.limits,
  };
  const agent: Agent = {
    name: agentName,
    provider: "scripted",
    fallbacks: [],
    thinking: "off",
    workspace: tmpdir(),
    workspacesOfOthers: join(tmpdir(), `cairn-workspaces-${agentName}`),
    ...options.agent,
  };
  const names = [agentName, ...(options.moreAgents ?? []).map((name) => `${agentName}-${name}`)];
  const agents = new Map(names.map((name) => [name, { ...agent, name }]));
  const requests: { readonly messages: readonly Message[]; readonly options: ChatOptions }[] = [];
  const providers = new Map(
    Object.entries({ scripted: options.script, ...options.others }).map(([id, script]) => [
      id,
      {
        ...scripted(id, script, requests),
        ...(options.models?.[id] ? { models: options.models[id] } : {}),
        ...(options.hasModel === undefined ? {} : { hasModel: options.hasModel }),
        ...(options.listModels ? { listModels: options.listModels } : {}),
      },
    ]),
  );
  const hooks = createHookPipeline(options.hooks ?? [], quietLogger);
  const writer = createWriter({ database, newId, clock });
  const memory = createMemory({
    database,
    writer,
    clock,
    logger: quietLogger,
    countTokens: (value) => Math.ceil(value.length / 4),
    newMark,
  });
  const store = new TurnStore({
    database,
    owner: { node: node.id, boot },
    leaseMs: limits.leaseMs,
    newId,
  });
  const hub = new StreamHub(clock.monotonic);
  // Where an earlier version would have kept attachments; most tests have none.
  const attached = join(tmpdir(), `cairn-attachments-${randomUUID()}`);
  const attachments = createAttachmentStore({ database, directory: attached, logger: options.logger ?? quietLogger });
  const inbox = createInbox({ database, limits, newId });
  const sent: OutboundMessage[] = [];
  const securityEvents: SecurityEvent[] = [];
  const channel: Channel = options.channel ?? {
    id: `channel-${agentName}`,
    platform: "test",
    start: async () => {},
    stop: async () => {},
    state: () => ({ state: "up", reason: null }),
    send: async (message) => {
      sent.push(message);
      return (await options.send?.(message)) ?? { primary: `platform-${sent.length}`, overflow: [] };
    },
    onMessage: () => {},
    onCommand: () => {},
  };
  const channels = new Map([[channel.id, channel]]);
  const outbox = createOutbox({
    database,
    channels,
    attachments,
    connectedMs: () => 0,
    logger: quietLogger,
  });
  let dead = false;
  const leases = createLeaseTable(database);
  const notify = async (payload: string): Promise<void> => {
    await database.query("select pg_notify($1, $2)", [TURN_CHANNEL, payload]);
  };
  const placement = createPlacement({
    agents,
    leases: { ...leases, acquire: async (...args) => (dead ? null : leases.acquire(...args)) },
    node,
    boot,
    place: options.place ?? `place of ${node.id}`,
    leaseMs: limits.leaseMs,
    clock,
    logger: quietLogger,
    onGained: () => dispatcher.kick(),
    onReturn: async () => undefined,
    announceRelease: () => notify("released"),
  });
  const tools = new ToolRegistry(options.tools);
  const places = createAgentPlaces({ database, members: registryOf(database).members, agents, node });
  const { peers } = options;
  const remoteTasks = peers
    ? new RemoteTasks({
        store: createRemoteTaskStore(database),
        places,
        peers,
        placement,
        hub,
        newId,
        logger: options.logger ?? quietLogger,
      })
    : null;
  const conversations = createConversations({ database, hooks, writer });
  const approvals = createApprovals({
    database,
    newId,
    security: { record: (event) => void securityEvents.push(event) },
    async wake() {
      dispatcher.kick();
      await notify("queued");
    },
  });
  const run = createTurnRunner({
    conversations,
    agents,
    places,
    approvals,
    redactValues: options.redact ?? ((value) => value),
    tools,
    providers,
    store,
    writer,
    memory,
    attachments,
    compaction: createTurnCompaction({
      database,
      countTokens: (value) => Math.ceil(value.length / 4),
      redact: options.redact ?? ((value) => value),
      summarizer: null,
      flush: async () => undefined,
      today: () => new Date().toISOString().slice(0, 10),
      logger: options.logger ?? quietLogger,
      ...options.compaction,
    }),
    prompts: createPromptBuilder({ logger: options.logger ?? quietLogger }),
    windows: new Map(
      [...providers.keys()].map((id) => [id, { contextTokens: options.windows?.[id] ?? 128_000, replyTokens: 1_000 }]),
    ),
    weighTools: createToolWeights((value) => Math.ceil(value.length / 4)),
    skills: options.skills ?? { prompt: async () => ({ list: "", triggered: "" }) },
    callModel: createModelCaller({
      providers,
      hooks,
      redact: options.redact ?? ((value) => value),
      prices: new Map(Object.entries(options.prices ?? {})),
      circuits: createProviderCircuits({ clock, logger: quietLogger }),
      today: () => isoDay(clock.now(), limits.timezone),
      logger: quietLogger,
    }),
    budgets: createBudgets({
      database,
      agents,
      timezone: limits.timezone,
      clock,
      logger: options.logger ?? quietLogger,
    }),
    toolRunner: createToolRunner({ hooks, clock, logger: quietLogger }),
    display: createTurnDisplay({ channels, store, logger: quietLogger }),
    hooks,
    limits,
    countTokens: (value) => Math.ceil(value.length / 4),
    clock,
    logger: options.logger ?? quietLogger,
    newId,
    channels,
    onDelivered: () => outbox.kick(),
    onWaiting: () => {
      outbox.kick();
      remoteTasks?.kick();
    },
    onEnded: () => {
      outbox.kick();
      remoteTasks?.turnEnded();
    },
  });
  const taskProgress = createTaskProgress({ database, placement, hub, logger: quietLogger });
  const dispatcher = new Dispatcher({
    database,
    store,
    placement,
    run: (turn, signals, emit) => run(turn, signals, taskProgress.reporting(turn, emit)),
    hub,
    limits,
    clock,
    onReleased: () => placement.renewNow(),
    logger: quietLogger,
  });
  let draining = false;
  const isDraining = () => draining;
  const routing = () => ({
    channelBindings: { bound: agentName, ...options.channelBindings },
    defaultAgent: "nobody",
  });
  const turns = createTurns({
    database,
    agents: new Set(names),
    inbox,
    store,
    hub,
    dispatcher,
    placement,
    receipts: createReceipts({ channels, store, dispatcher, placement, logger: options.logger ?? quietLogger }),
    forwarded: peers ? createForwardedStreams({ places, peers, hub, logger: options.logger ?? quietLogger }) : null,
    routing,
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
    routing,
    timezone: options.timezone ?? limits.timezone,
    pairings: createPairings({ database, randomBytes }),
    approvals,
    security: { record: (event) => void securityEvents.push(event) },
    announceAnswer: () => notify("queued"),
    announceAbort: (turnId) => notify(`abort:${turnId}`),
    isDraining,
  });
  channel.onMessage((message) => turns.accept(message));
  await placement.start();
  await dispatcher.start();
  outbox.start();
  remoteTasks?.start();

  const message = (content: string, extra: Partial<InboundMessage> & { session?: string } = {}): InboundMessage => {
    const { session = "s1", ...rest } = extra;
    return {
      address: { channel: channel.id, conversation: session, user: "" },
      agent: agentName,
      externalId: randomUUID(),
      text: content,
      owner: true,
      ...rest,
    };
  };
  return {
    agentName,
    node,
    channel,
    sent,
    securityEvents,
    approvals,
    requests,
    tools,
    attachments,
    /** Directory of the files that an earlier version of the node has left. */
    attached,
    store,
    hub,
    inbox,
    turns,
    commands,
    dispatcher,
    placement,
    memory,
    message,
    async say(content: string, extra?: Parameters<typeof message>[1]) {
      const { turnId } = await turns.accept(message(content, extra));
      return turns.wait(agentName, turnId);
    },
    /** The owner's, or with `user` another one's. */
    command: (line: string, session = "s1", user = "", question?: string) =>
      commands.run({
        address: { channel: channel.id, conversation: session, user },
        agent: agentName,
        line,
        owner: user === "",
        ...(question === undefined ? {} : { question }),
      }),
    async events(turnId: string): Promise<StreamEvent[]> {
      const collected: StreamEvent[] = [];
      for await (const { event } of turns.events(agentName, turnId)) collected.push(event);
      return collected;
    },
    /** Roles, contents and tool names of the session's rows, oldest first, over all its conversations. */
    async transcript() {
      const { rows } = await database.query<{
        role: string;
        content: string;
        tool_name: string | null;
        tool_result: string | null;
        metadata: Record<string, unknown>;
        conversation_id: string;
      }>(
        "select role, content, tool_name, tool_result, metadata, conversation_id from messages where agent = $1 order by seq",
        [agentName],
      );
      return rows;
    },
    async drain(deadlineMs: number) {
      draining = true;
      await dispatcher.drain(deadlineMs);
    },
    /** Stops claiming, sending and renewing without ending what runs: what a dead process does. */
    async die() {
      dead = true;
      await remoteTasks?.stop();
      await dispatcher.stop();
      await outbox.stop();
      await rm(attached, { recursive: true, force: true });
    },
    async stop() {
      await dispatcher.drain(0);
      await remoteTasks?.stop();
      await dispatcher.stop();
      await outbox.stop();
      await placement.stop();
      await rm(attached, { recursive: true, force: true });
    },
    /** Options under which another harness is the next start of this node. */
    next: { agent: { ...options.agent, name: agentName }, node: node.id },
  };
}

function scripted(
  id: string,
  script: Script,
  requests: { messages: readonly Message[]; options: ChatOptions }[],
): Provider {
  let calls = 0;
  return {
    id,
    name: id,
    async *chatStream(messages, chatOptions = {}) {
      const request = { messages: [...messages], options: chatOptions };
      requests.push(request);
      yield* await script(request, ++calls);
    },
    isAvailable: async () => true,
    getModel: () => "scripted-1",
    setModel: () => {},
  };
}
