/** An Application in memory: turns run a script given by the test, and what reached it is there to be asserted on. */

import type {
  Application,
  ForgetOptions,
  MemoryCaller,
  NumberedEvent,
  Principal,
  Scope,
  TurnState,
} from "../../runtime/app/api.ts";
import { SCOPES } from "../../runtime/app/api.ts";
import { createPeers } from "../../runtime/app/mesh/peers.ts";
import type { OpenedFile } from "../../runtime/app/turn/sent-files.ts";
import type { BackupStatus } from "../../runtime/contracts/backups.ts";
import type { CaptureBatch } from "../../runtime/contracts/capture.ts";
import type { CommandRequest, InboundMessage, Webhook } from "../../runtime/contracts/channel.ts";
import { CairnError, fromErrorBody, MemoryError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { Selection } from "../../runtime/contracts/forgetting.ts";
import type { HealthReport } from "../../runtime/contracts/health-report.ts";
import type { GivenLogin } from "../../runtime/contracts/logins.ts";
import { NO_USAGE } from "../../runtime/contracts/message.ts";
import type { Member, NodeEntry } from "../../runtime/contracts/node-entry.ts";
import type { ScheduleStatus } from "../../runtime/contracts/schedules.ts";
import { isFinal, type StreamEvent, type TurnResult, type WaitingQuestion } from "../../runtime/contracts/stream.ts";
import type { UsageCounts } from "../../runtime/contracts/usage.ts";
import { createFakeReading } from "./fake-reading.ts";

export const OWNER_TOKEN = "owner-token-that-is-long-enough";

/** Says what the turn says; resolves with its text, or rejects with what it fails with. */
export type Script = (turn: {
  readonly turnId: string;
  readonly message: InboundMessage;
  readonly say: (event: StreamEvent) => void;
}) => Promise<Pick<TurnResult, "text" | "notice" | "attachments">>;

type Final = Extract<TurnState, { state: "finished" }>["final"];

interface FakeTurn {
  readonly turnId: string;
  readonly message: InboundMessage;
  readonly events: NumberedEvent[];
  readonly waiting: Set<() => void>;
  final: Final | null;
}

export interface FakeApplication extends Application {
  readonly accepted: InboundMessage[];
  readonly commandsSeen: CommandRequest[];
  readonly answers: Parameters<Application["turns"]["answer"]>[0][];
  readonly memoryCalls: { name: string; args: unknown; caller: MemoryCaller }[];
  /** What turns have sent, by their hashes. */
  readonly files: Map<string, OpenedFile>;
  /** Ids of turns. */
  readonly stopped: string[];
  readonly captured: CaptureBatch[];
  readonly forgotten: { readonly selection: Selection; readonly given: ForgetOptions }[];
  readonly drains: (number | undefined)[];
  readonly restored: Buffer[];
  /** Whether each restore was to bring tokens along. */
  readonly restoredTokens: boolean[];
  readonly givenLogins: GivenLogin[];
  /** Whether each import might write to agents' own sessions. */
  readonly importedTurnSessions: boolean[];
  /** Subscriptions to events that are open now. */
  readonly subscriptions: { open: number };
  script: Script;
  /** Of the channel `telegram`. */
  webhook: Webhook["handle"];
  ready: () => Promise<{ ready: boolean; reason?: string }>;
  report: () => Promise<HealthReport>;
  backupChunks: () => AsyncIterable<Uint8Array>;
  authenticate: (token: string) => Promise<Principal | null>;
  /** Its registry. */
  findPeer: (id: string) => Promise<NodeEntry | null>;
  /** By which tokens of peers are checked. */
  now: () => Date;
  failed: (turnId: string) => boolean;
  finished: (turnId: string) => boolean;
}

const LOGIN = {
  provider: "anthropic",
  logged_in: true,
  expires_at: "2030-01-31T12:00:00.000Z",
  renewable: true,
  scopes: ["user:inference"],
  key_comes_first: false,
  client_id: "client-of-the-operator",
  token_url: "https://login.example.org/token",
  server_url: null,
  problem: null,
};

const PAIRING = {
  channel: "telegram",
  user: "7",
  name: "Eve",
  requested_at: "2026-01-01T00:00:00.000Z",
  expires_at: null,
  approved_at: "2026-01-01T00:10:00.000Z",
};

export const echo: Script = async ({ turnId, message, say }) => {
  const text = `You said: ${message.text}`;
  for (const word of text.split(/(?<= )/)) say({ type: "text.delta", turn_id: turnId, text: word });
  return { text };
};

export function principal(name: string, scopes: readonly Scope[]): Principal {
  return { id: `id-of-${name}`, name, scopes: new Set(scopes), owner: false };
}

export function createFakeApplication(): FakeApplication {
  const turns = new Map<string, FakeTurn>();
  const byKey = new Map<string, FakeTurn>();
  let draining = false;
  let counter = 0;

  function find(agent: string, turnId: string): FakeTurn {
    const turn = turns.get(turnId);
    if (turn?.message.agent !== agent) throw new RuntimeError("RUNTIME_TURN_UNKNOWN", "There is no such turn.");
    return turn;
  }

  function say(turn: FakeTurn, event: StreamEvent): void {
    turn.events.push({ id: turn.events.length + 1, event });
    if (event.type === "turn.finished" || event.type === "turn.failed") turn.final = event;
    for (const wake of turn.waiting) wake();
    turn.waiting.clear();
  }

  async function run(turn: FakeTurn): Promise<void> {
    const { turnId, message } = turn;
    const session = message.address.conversation;
    say(turn, { type: "turn.started", turn_id: turnId, session, agent: message.agent, attempt: 1 });
    try {
      const reply = await app.script({ turnId, message, say: (event) => say(turn, event) });
      const usage = { inputTokens: 10, outputTokens: 5 };
      const interrupted = reply.notice !== undefined;
      say(turn, { type: "turn.finished", turn_id: turnId, session, usage, interrupted, ...reply });
    } catch (error) {
      const failure = error instanceof CairnError ? error : new RuntimeError("RUNTIME_INTERNAL", "failed");
      say(turn, { type: "turn.failed", turn_id: turnId, session, error: failure.toBody() });
    }
  }

  async function nextChange(turn: FakeTurn, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => reject(signal?.reason);
    turn.waiting.add(resolve);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", onAbort);
    try {
      await promise;
    } finally {
      turn.waiting.delete(resolve);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  function openQuestion(turn: FakeTurn): WaitingQuestion | null {
    const last = turn.events.at(-1)?.event;
    return last?.type === "turn.waiting" ? last.question : null;
  }

  async function ended(agent: string, turnId: string, signal?: AbortSignal): Promise<TurnResult> {
    const turn = find(agent, turnId);
    while (!turn.final) await nextChange(turn, signal);
    if (turn.final.type === "turn.failed") throw fromErrorBody(turn.final.error);
    const { type: _, ...result } = turn.final;
    return result;
  }

  const inNoMesh = async (): Promise<never> => {
    throw new RuntimeError("RUNTIME_CONFLICT", "This node is in no mesh: mesh.enabled is off.");
  };
  const app: FakeApplication = {
    version: "0.1.0",
    node: { id: "node-1", name: "first" },
    members: async () => [member()],
    testTurn: async () => ({ turn_id: "t", session: "s", text: "ok", usage: NO_USAGE, interrupted: false }),
    rollouts: {
      acquire: async () => ({ fleet: "fleet", number: 1, ttlMs: 30_000 }),
      renew: async () => undefined,
      release: async () => undefined,
      requireNewest: async () => undefined,
      list: async () => [],
      write: async () => undefined,
    },
    reachability: {
      async ping({ node: nameOrId }) {
        const answered = { id: "node-2", name: "second", ms: 1.5, clock_ahead_s: 0.1, error: null };
        if (nameOrId === undefined || nameOrId === "second") return [answered];
        throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no other node of this name.");
      },
    },
    mesh: {
      report: async () => ({ enabled: false, standing: null, members: 0, problem: null }),
      createToken: inNoMesh,
      admit: inNoMesh,
      join: inNoMesh,
      leave: inNoMesh,
      revoke: inNoMesh,
      gossip: inNoMesh,
      revocationOf: async () => null,
    },
    agents: () => [
      { name: "main", model: "offline" },
      { name: "other", model: "offline" },
    ],
    accepted: [],
    commandsSeen: [],
    answers: [],
    memoryCalls: [],
    captured: [],
    files: new Map(),
    stopped: [],
    forgotten: [],
    drains: [],
    restored: [],
    restoredTokens: [],
    givenLogins: [],
    importedTurnSessions: [],
    subscriptions: { open: 0 },
    script: echo,
    webhook: async () => ({ status: 200 }),
    ready: async () => ({ ready: true }),
    report: async () => healthy(),
    async *backupChunks() {
      yield Buffer.from("first ");
      yield Buffer.from("second");
    },
    authenticate: async () => null,
    findPeer: async () => null,
    now: () => new Date(),
    sharesDatabase: async () => false,
    peers: createPeers({
      id: "node-1",
      find: (id) => app.findPeer(id),
      clock: { now: () => app.now(), monotonic: () => performance.now() },
    }),
    finished: (turnId) => turns.get(turnId)?.final?.type === "turn.finished",
    failed: (turnId) => turns.get(turnId)?.final?.type === "turn.failed",
    turns: {
      async accept(message) {
        const key = JSON.stringify([
          message.address.channel,
          message.agent,
          message.address.conversation,
          message.externalId,
        ]);
        const earlier = byKey.get(key);
        if (earlier && earlier.message.text !== message.text) {
          throw new RuntimeError("RUNTIME_CONFLICT", "Another message was accepted under this key.");
        }
        if (earlier) return { turnId: earlier.turnId, agent: message.agent, fresh: false };
        const turn: FakeTurn = { turnId: `turn-${++counter}`, message, events: [], waiting: new Set(), final: null };
        turns.set(turn.turnId, turn);
        byKey.set(key, turn);
        app.accepted.push(message);
        void run(turn);
        return { turnId: turn.turnId, agent: message.agent, fresh: true };
      },
      find: async () => null,
      async read(agent, turnId) {
        const turn = find(agent, turnId);
        const { user } = turn.message.address;
        const question = openQuestion(turn);
        if (turn.final) return { state: "finished", turnId, agent, user, final: turn.final };
        if (!question) return { state: "running", turnId, agent, user };
        return { state: "waiting", turnId, agent, user, conversation: turn.message.address.conversation, question };
      },
      async answer(given) {
        const question = openQuestion(find(given.agent, given.turnId));
        if (!question) throw new RuntimeError("RUNTIME_CONFLICT", "The turn does not wait for an answer any more.");
        app.answers.push(given);
        return { questionId: question.id };
      },
      async openAttachment(agent, turnId, sha256) {
        find(agent, turnId);
        const file = app.files.get(sha256);
        if (!file) throw new RuntimeError("RUNTIME_NOT_FOUND", "The turn has sent no such file.");
        return file;
      },
      async stop(agent, turnId) {
        const isOpen = find(agent, turnId).final === null;
        if (isOpen) app.stopped.push(turnId);
        return isOpen;
      },
      wait: (agent, turnId, signal) => ended(agent, turnId, signal),
      async waitForEndOrQuestion(agent, turnId, signal) {
        const turn = find(agent, turnId);
        while (!turn.final && !openQuestion(turn)) await nextChange(turn, signal);
        return turn.final ? ended(agent, turnId, signal) : null;
      },
      async *events(agent, turnId, lastEventId = 0, signal) {
        const turn = find(agent, turnId);
        app.subscriptions.open++;
        try {
          for (let at = lastEventId; ; ) {
            for (const numbered of turn.events.slice(at)) {
              at = numbered.id;
              yield numbered;
              if (isFinal(numbered.event)) return;
            }
            if (turn.events.length <= at) await nextChange(turn, signal);
          }
        } finally {
          app.subscriptions.open--;
        }
      },
    },
    commands: {
      async run(request) {
        app.commandsSeen.push(request);
        if (!request.line.startsWith("/")) throw new RuntimeError("RUNTIME_COMMAND_UNKNOWN", "That is no command.");
        return { text: `did ${request.line}`, data: { owner: request.owner } };
      },
    },
    reading: createFakeReading(),
    memoryTools: {
      names: () => ["memory_search", "memory_stats"],
      async call(name, args, caller) {
        app.memoryCalls.push({ name, args, caller });
        if (name === "memory_search" && typeof (args as { query?: unknown }).query !== "string") {
          const issues = [{ path: "query", message: "is required" }];
          throw new MemoryError("MEMORY_INVALID_ARGUMENT", "query: is required", { issues });
        }
        return { name, args };
      },
    },
    capture: {
      async store(batch) {
        app.captured.push(batch);
        const finalized = batch.finalize === true;
        return { conversation_id: "c", inserted: batch.events.length, deduplicated: 0, truncated: 0, finalized };
      },
    },
    health: { ready: () => app.ready(), report: () => app.report() },
    tokens: {
      async authenticate(token) {
        if (token === OWNER_TOKEN) return { id: "owner", name: "owner", scopes: new Set(SCOPES), owner: true };
        return app.authenticate(token);
      },
      create: async (name) => ({ id: `id-of-${name}`, token: "cairn_value" }),
      list: async () => [
        {
          id: "1",
          name: "hook",
          scopes: ["capture"],
          created_at: "2026-01-01T00:00:00.000Z",
          revoked_at: null,
          expires_at: null,
          last_used_at: null,
        },
      ],
      async rotate(id, { expiresAt, permit } = {}) {
        if (id !== "1" && id !== "hook") throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no such token.");
        permit?.(["capture"], expiresAt);
        const expires_at = expiresAt?.toISOString() ?? null;
        return { id: "1", name: "hook", scopes: ["capture"], expires_at, token: "cairn_value" };
      },
      async revoke(id) {
        if (id !== "1" && id !== "hook") throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no such token.");
        return { id: "1", name: "hook" };
      },
    },
    webhooks: new Map([
      [
        "telegram",
        {
          isAuthentic: (headers) => headers["x-telegram-bot-api-secret-token"] === "s",
          handle: async (request) => app.webhook(request),
        },
      ],
    ]),
    pairings: {
      list: async () => [PAIRING],
      async approve(code) {
        if (code !== "ABCD-EFGH") throw new RuntimeError("RUNTIME_NOT_FOUND", "Nobody has this code.");
        return PAIRING;
      },
      revoke: async () => PAIRING,
    },
    approvals: {
      pending: async () => ({ approvals: [], next: null }),
      async decide() {
        throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no approval with this id.");
      },
      standing: async () => ({ approvals: [], next: null }),
      async revoke() {
        throw new RuntimeError("RUNTIME_NOT_FOUND", "No approval stands with this id.");
      },
    },
    logins: {
      list: async () => [LOGIN],
      async store(provider, login) {
        if (provider !== "anthropic") throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no such provider.");
        app.givenLogins.push(login);
        return LOGIN;
      },
      remove: async () => true,
    },
    archives: {
      backup: () => app.backupChunks(),
      async restore(archive, { withTokens = false } = {}) {
        app.restoredTokens.push(withTokens);
        const chunks: Uint8Array[] = [];
        for await (const chunk of archive) chunks.push(chunk);
        app.restored.push(Buffer.concat(chunks));
        return { counts: { messages: 3 }, tokens: { left_out: 1, restored: [] } };
      },
      verify: async () => undefined,
      exportJsonl: () => app.backupChunks(),
      async importJsonl(lines, { turnSessions = false } = {}) {
        app.importedTurnSessions.push(turnSessions);
        let imported = 0;
        for await (const chunk of lines) imported += Buffer.from(chunk).toString().split("\n").length - 1;
        return { imported, skipped: 0 };
      },
    },
    backups: {
      status: async () => NO_BACKUP,
      list: async ({ verify = false } = {}) => [{ ...SCHEDULED, verified: !verify }],
      async *read(name) {
        if (name !== SCHEDULED.name) throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no such backup.");
        yield* app.backupChunks();
      },
    },
    forgetting: {
      preview: async () => ({
        messages: 1,
        conversations: 1,
        summaries: 0,
        first: [{ id: "m", role: "user", agent: "main", created_at: "2026-01-01T00:00:00.000Z", text: "secret" }],
        unfinished: null,
      }),
      async forget(selection, given) {
        app.forgotten.push({ selection, given });
        return { id: "e", messages: given.expected, summaries: 0, turns: 0, attachments: 0 };
      },
      finish: async () => undefined,
    },
    queues: {
      states: async () => [
        {
          queue: "embed",
          waiting: 2,
          active: 1,
          failed: 1,
          completed: 4,
          last_error: "the model is unavailable",
          oldest_waiting_ms: 1_500,
        },
      ],
      backfillToolSynth: async () => ({ candidates: 9, enqueued: 5, queued: 3, failed: 1 }),
      retryFailed: async (_task, { errorPattern }) => {
        if (errorPattern === "(") throw new MemoryError("MEMORY_INVALID_ARGUMENT", "The pattern is none.");
        return { matched: 3, retried: 2, skipped: 1 };
      },
    },
    mcpServers: {
      changes(id) {
        if (id !== "files") throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no such MCP server here.");
        return { digest: "d1", tools: [{ name: "echo", description: "Says it.", parameters: { type: "object" } }] };
      },
      async approve(id, digest) {
        if (id !== "files") throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no such MCP server here.");
        if (digest !== "d1") throw new RuntimeError("RUNTIME_CONFLICT", "They are not those that were seen.");
        return 2;
      },
    },
    schedules: {
      list: async () => [SCHEDULE],
      run: async (agent, name) => ({ agent, name: scheduleNamed(name), turn_id: "t-1", started: true }),
      pause: async (_agent, name) => ({ ...SCHEDULE, name: scheduleNamed(name), state: "paused", next_at: null }),
      resume: async (_agent, name) => ({ ...SCHEDULE, name: scheduleNamed(name) }),
    },
    usage: {
      report: async ({ from = "2026-01-01", to = "2026-01-31", by = "day" }) => ({
        from,
        to,
        by,
        rows: [{ key: "2026-01-05", ...USED }],
        total: USED,
      }),
    },
    lifecycle: {
      get draining() {
        return draining;
      },
      async drain(deadlineMs) {
        draining = true;
        app.drains.push(deadlineMs);
      },
      async resume() {
        draining = false;
      },
    },
  };
  return app;
}

const SCHEDULE: ScheduleStatus = {
  agent: "main",
  name: "morning",
  cron: "0 8 * * 1-5",
  timezone: "UTC",
  channel: null,
  conversation: null,
  state: "active",
  next_at: "2026-01-05T08:00:00.000Z",
  last: { turn_id: "t-0", at: "2026-01-02T08:00:01.000Z", state: "done", error: null },
  problem: null,
};

function scheduleNamed(name: string): string {
  if (name !== SCHEDULE.name) throw new RuntimeError("RUNTIME_NOT_FOUND", "There is no such schedule.");
  return name;
}

const USED: UsageCounts = {
  calls: 3,
  input_tokens: 30,
  cached_input_tokens: 4,
  cache_write_input_tokens: 2,
  output_tokens: 15,
  cost_usd: null,
  unpriced_calls: 3,
};

/** The one scheduled backup; reading it again finds that it is not whole. */
const SCHEDULED = { name: "cairn-20260101T020304Z.backup", created_at: "2026-01-01T02:03:04.000Z", bytes: 12 };

const NO_BACKUP: BackupStatus = {
  state: "waiting",
  every_s: 86_400,
  keep: 7,
  now: "2026-01-01T02:03:04.000Z",
  next_at: "2026-01-01T02:03:04.000Z",
  last: null,
  failure: null,
};

/** This node, in the registry. */
function member(): Member {
  return {
    entry: {
      id: "node-1",
      name: "first",
      public_key: "",
      version: 3,
      release: "0.1.0",
      schema: 22,
      address: null,
      certificate_sha256: null,
      next_certificate_sha256: null,
      agents: ["main", "other"],
      status: "online",
      made_at: "2026-01-01T00:00:00.000Z",
      signature: "",
    },
    state: "online",
    heard_at: "2026-01-01T00:00:00.000Z",
    hosts: ["main"],
    shares_database: true,
  };
}

export function healthy(): HealthReport {
  return {
    status: "healthy",
    version: "0.1.0",
    node: { id: "node-1", name: "first" },
    uptime_s: 1,
    started_at: "2026-01-01T00:00:00.000Z",
    draining: false,
    agents: { main: { provider: "offline", model: "offline", active_turns: 0, waiting: 0, queued: 0, budget: null } },
    providers: { offline: { available: true, model: "offline", circuits: [] } },
    channels: { agent: { platform: "agent", state: "up", reason: null } },
    mcp: {},
    plugins: [],
    memory: { backend: "embedded", reachable: true },
    queues: [],
    mesh: { enabled: false, standing: null, members: 0, problem: null },
    backup: NO_BACKUP,
    audit: { failing: null, lost: 0 },
    skills: { usable: 0, skipped: [] },
    schedules: [],
    approvals: { waiting: 0, oldest_waiting_ms: null },
    schema_version: 3,
  };
}
