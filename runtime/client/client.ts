/** The routes of a node as functions. */

import type { CertificatePin } from "../contracts/certificates.ts";
import type { CommandReply } from "../contracts/channel.ts";
import { CairnError } from "../contracts/errors.ts";
import type { ForgetPreview, ForgetReport, Selection } from "../contracts/forgetting.ts";
import type { StreamEvent, TurnResult } from "../contracts/stream.ts";
import { type AccessCalls, accessCalls } from "./access.ts";
import { agentCalls, type PendingTurn } from "./agents.ts";
import {
  asConnectionError,
  type Connection,
  call,
  connectionTo,
  queryOf,
  type RequestOptions,
  request,
} from "./http.ts";
import { jobCalls } from "./jobs.ts";
import { type LoginCalls, loginCalls } from "./logins.ts";
import { postMcp } from "./mcp.ts";
import { meshCalls } from "./mesh.ts";
import { type ReadingCalls, readingCalls } from "./reading.ts";
import { type RolloutCalls, rolloutCalls } from "./rollouts.ts";
import { type ScheduleCalls, scheduleCalls } from "./schedules.ts";
import type {
  BackfillResult,
  BackupList,
  CallOptions,
  Departure,
  FollowOptions,
  Health,
  JoinResult,
  JoinTokenResult,
  MeshNode,
  MessageRequest,
  PeerPing,
  Ping,
  QueueStatus,
  RestoreReport,
  RetryResult,
  SendOptions,
  UsageQuery,
  UsageReport,
} from "./types.ts";
import { type VoiceCalls, voiceCalls } from "./voice.ts";

export type { PendingTurn } from "./agents.ts";

export interface ClientOptions {
  /** For example `http://127.0.0.1:7433`. */
  readonly baseUrl: string;
  readonly token?: string;
  /**
   * The only certificate that the node may show, or several: SHA-256 fingerprints, "AB:CD:..." (contracts/certificates.ts).
   * Without them the authorities of this machine decide.
   */
  readonly certificate?: CertificatePin | undefined;
  /** Milliseconds until a node must have begun to answer; default 30,000. */
  readonly timeoutMs?: number;
  /** What to do where nothing answers: hint of the errors that say so. */
  readonly unreachableHint?: string | undefined;
  readonly fetch?: typeof fetch;
}

export interface PingPeersOptions {
  /** Name or id of the only one that is asked. */
  readonly node?: string | undefined;
  /** Milliseconds that each node gets; default 5,000. */
  readonly eachMs?: number | undefined;
}

export interface DrainOptions {
  /** Seconds that active turns get; default: the configured ones. */
  readonly deadlineS?: number;
  /** Seconds after which the node accepts messages again by itself. */
  readonly resumeAfterS?: number;
  /** Resolves when the node is drained, not at once. */
  readonly wait?: boolean;
  /** Of a rollout: INFRA_LOCKED when a later lease was granted. */
  readonly lease?: number;
}

/**
 * Failures are CairnErrors, as the node raised them, or RUNTIME_NOT_RUNNING, CHANNEL_CONNECTION_LOST, RUNTIME_NOT_READY,
 * RUNTIME_CERTIFICATE_REFUSED of the way there.
 */
export interface Client extends AccessCalls, LoginCalls, ReadingCalls, RolloutCalls, ScheduleCalls, VoiceCalls {
  live(options?: CallOptions): Promise<void>;
  /** False while the node is starting, draining, without database, or not there at all. */
  ready(options?: CallOptions): Promise<boolean>;
  /** Also the report of an unhealthy node. */
  health(options?: CallOptions): Promise<Health>;
  /** The nodes that share the store and the members of the mesh, by name. */
  mesh(options?: CallOptions): Promise<readonly MeshNode[]>;
  /** Lets the node ask the others, or the one of this name or id, who they are. RUNTIME_NOT_FOUND. */
  pingPeers(options?: CallOptions & PingPeersOptions): Promise<readonly PeerPing[]>;
  /** Whether it lives, and who it is. */
  ping(options?: CallOptions): Promise<Ping>;

  /** The turn's events, its final one last; a broken connection is taken up again. Ending the iteration never ends the turn. */
  stream(agent: string, message: MessageRequest, options?: SendOptions): AsyncGenerator<StreamEvent>;
  /** Sends and waits for the turn's end, however long it takes; a turn that failed throws its error. */
  send(agent: string, message: MessageRequest, options?: SendOptions): Promise<TurnResult>;
  follow(
    agent: string,
    turnId: string,
    options?: FollowOptions & { readonly lastEventId?: string },
  ): AsyncGenerator<StreamEvent>;
  /** The result, or the state of a turn that has not ended. */
  turn(agent: string, turnId: string, options?: CallOptions): Promise<TurnResult | PendingTurn>;
  /** The bytes of a file that the turn has sent, by its `sha256`. */
  attachment(agent: string, turnId: string, sha256: string, options?: CallOptions): Promise<Uint8Array>;
  /** The first answer counts; CHANNEL_CONNECTION_LOST may be tried again with the same text. */
  answer(
    agent: string,
    turnId: string,
    answer: { readonly text: string; readonly questionId?: string },
    options?: CallOptions,
  ): Promise<void>;
  command(
    agent: string,
    command: { session: string; line: string; user?: string },
    options?: CallOptions,
  ): Promise<CommandReply>;

  /** A search with an answer (`synthesize`) gets a minute more than `timeoutMs`. */
  memoryTool<Result = unknown>(name: string, args: object, options?: CallOptions): Promise<Result>;

  /** One message of the Model Context Protocol and its answer; null for a message that has none. */
  mcp(message: object, options?: CallOptions): Promise<object | null>;

  /** What turns have used of models. */
  usage(query: UsageQuery, options?: CallOptions): Promise<UsageReport>;
  queueStatus(options?: CallOptions): Promise<readonly QueueStatus[]>;
  /** Takes as long as there are tool calls without content. */
  backfillToolSynth(options?: CallOptions & { readonly dryRun?: boolean }): Promise<BackfillResult>;
  /** `error`: a regular expression over the jobs' errors. MEMORY_INVALID_ARGUMENT when it is none. */
  retryFailed(
    task: string,
    options?: CallOptions & { readonly error?: string | undefined; readonly dryRun?: boolean },
  ): Promise<RetryResult>;

  drain(options?: CallOptions & DrainOptions): Promise<void>;
  resume(options?: CallOptions): Promise<void>;
  /** A turn that this very node runs, and asks no model; errors as of any turn. */
  testTurn(options?: CallOptions): Promise<{ readonly turn_id: string; readonly text: string }>;
  /** The archive's bytes; throws CHANNEL_CONNECTION_LOST when it is not complete. */
  backup(options?: { signal?: AbortSignal }): AsyncGenerator<Uint8Array>;
  /** Scheduled ones on the node's disk, newest first. With `verify` the node reads each to its end: as long as that takes. */
  backups(options?: CallOptions & { verify?: boolean }): Promise<BackupList>;
  /** As `backup`, of a scheduled one. */
  scheduledBackup(name: string, options?: { signal?: AbortSignal }): AsyncGenerator<Uint8Array>;
  restore(
    archive: AsyncIterable<Uint8Array>,
    options?: { signal?: AbortSignal; tokens?: boolean },
  ): Promise<RestoreReport>;
  exportJsonl(options?: { signal?: AbortSignal }): AsyncGenerator<Uint8Array>;
  importJsonl(
    lines: AsyncIterable<Uint8Array>,
    options?: { signal?: AbortSignal },
  ): Promise<{ readonly imported: number; readonly skipped: number }>;
  /** What an erasure of the selection would take. */
  previewForget(selection: Selection, options?: CallOptions): Promise<ForgetPreview>;
  /** Takes as long as there are messages; the node goes on when this client ends. MEMORY_CONFLICT where it is not `expected` messages. */
  forget(
    selection: Selection,
    given: { readonly expected: number; readonly reason: string },
    options?: CallOptions,
  ): Promise<ForgetReport>;
  /** For one node, within an hour. */
  createJoinToken(options?: CallOptions): Promise<JoinTokenResult>;
  /** `url`: where the node that has made the token is reached from here, in place of what the token says. */
  joinMesh(token: string, options?: CallOptions & { readonly url?: string | undefined }): Promise<JoinResult>;
  /** RUNTIME_CONFLICT where no member can be told, unless it is forced. */
  leaveMesh(options?: CallOptions & { readonly force?: boolean }): Promise<Departure>;
  /** By id or name. */
  revokeNode(node: string, options?: CallOptions): Promise<Departure>;
}

/** Longer than a node lets the language model take. */
const ANSWER_MS = 60_000;
/** A node gives each of the others five seconds, and asks a large fleet in groups. */
const PEERS_MS = 60_000;

export function createClient(options: ClientOptions): Client {
  return createClientOn(connectionTo(options));
}

export function createClientOn(connection: Connection): Client {
  return {
    ...healthCalls(connection),
    ...accessCalls(connection),
    ...loginCalls(connection),
    ...agentCalls(connection),
    ...adminCalls(connection),
    ...jobCalls(connection),
    ...meshCalls(connection),
    ...readingCalls(connection),
    ...rolloutCalls(connection),
    ...scheduleCalls(connection),
    ...voiceCalls(connection),
    usage: (query, given) => call(connection, `/api/usage${queryOf({ ...query })}`, given),
    mcp: (message, given) => postMcp(connection, message, given),
    memoryTool: (name, args, given) =>
      call(connection, `/api/memory/tool/${encodeURIComponent(name)}`, {
        method: "POST",
        json: args,
        timeoutMs: connection.timeoutMs + ("synthesize" in args && connection.timeoutMs > 0 ? ANSWER_MS : 0),
        ...given,
      }),
  };
}

function healthCalls(connection: Connection) {
  return {
    async live(given?: CallOptions): Promise<void> {
      await call(connection, "/health/live", given);
    },
    async ready(given?: CallOptions): Promise<boolean> {
      try {
        await call(connection, "/health/ready", given);
        return true;
      } catch (error) {
        given?.signal?.throwIfAborted();
        if (isUnavailable(error)) return false;
        throw error;
      }
    },
    health: (given?: CallOptions) => call<Health>(connection, "/health", { ...given, accept: [503] }),
    mesh: async (given?: CallOptions) =>
      (await call<{ nodes: readonly MeshNode[] }>(connection, "/api/mesh", given)).nodes,
    pingPeers: async ({ node, eachMs, ...given }: CallOptions & PingPeersOptions = {}) => {
      const path = `/api/mesh/peers${queryOf({ node, timeout_ms: eachMs?.toString() })}`;
      const options = { timeoutMs: PEERS_MS, ...given };
      return (await call<{ pings: readonly PeerPing[] }>(connection, path, options)).pings;
    },
    ping: (given?: CallOptions) => call<Ping>(connection, "/api/mesh/ping", given),
  };
}

function adminCalls(connection: Connection) {
  const download = (path: string) =>
    async function* (given: { signal?: AbortSignal } = {}): AsyncGenerator<Uint8Array> {
      const response = await request(connection, path, { signal: given.signal });
      try {
        yield* response.body ?? [];
      } catch (error) {
        given.signal?.throwIfAborted();
        throw asConnectionError(error, connection);
      }
    };
  async function upload<Result>(
    path: string,
    type: string,
    bytes: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<Result> {
    let failure: { readonly error: unknown } | undefined;
    async function* source() {
      try {
        yield* bytes;
      } catch (error) {
        failure = { error };
        throw error;
      }
    }
    try {
      // As long as it takes: the node itself ends an upload that makes no progress.
      const body = ReadableStream.from(source());
      const headers = { "content-type": type };
      return await call<Result>(connection, path, { method: "POST", headers, body, signal, timeoutMs: 0 });
    } catch (error) {
      // fetch would call it a broken connection.
      throw failure ? failure.error : error;
    }
  }
  const post = (path: string, json: object, given?: RequestOptions) =>
    call<unknown>(connection, path, { method: "POST", json, ...given });

  return {
    previewForget: (selection: Selection, given?: CallOptions) =>
      call<ForgetPreview>(connection, "/api/admin/memory/forget/preview", {
        method: "POST",
        json: { selection },
        timeoutMs: 0,
        ...given,
      }),
    forget: (
      selection: Selection,
      confirmed: { readonly expected: number; readonly reason: string },
      given?: CallOptions,
    ) =>
      call<ForgetReport>(connection, "/api/admin/memory/forget", {
        method: "POST",
        json: { selection, ...confirmed },
        timeoutMs: 0,
        ...given,
      }),
    async drain(given: CallOptions & DrainOptions = {}): Promise<void> {
      const { deadlineS, resumeAfterS, wait, lease, ...rest } = given;
      const json = {
        ...(deadlineS === undefined ? {} : { deadline_s: deadlineS }),
        ...(resumeAfterS === undefined ? {} : { resume_after_s: resumeAfterS }),
        ...(wait === undefined ? {} : { wait }),
        ...(lease === undefined ? {} : { lease }),
      };
      await post("/api/admin/drain", json, rest);
    },
    testTurn: (given?: CallOptions) =>
      call<{ turn_id: string; text: string }>(connection, "/api/admin/test-turn", {
        method: "POST",
        json: {},
        ...given,
      }),
    async resume(given?: CallOptions): Promise<void> {
      await post("/api/admin/resume", {}, given);
    },
    backup: download("/api/admin/memory/backup"),
    backups: ({ verify = false, ...given }: CallOptions & { verify?: boolean } = {}) =>
      call<BackupList>(connection, `/api/admin/memory/backups${verify ? "?verify=true" : ""}`, {
        ...(verify ? { timeoutMs: 0 } : {}),
        ...given,
      }),
    scheduledBackup: (name: string, given: { signal?: AbortSignal } = {}) =>
      download(`/api/admin/memory/backups/${encodeURIComponent(name)}`)(given),
    exportJsonl: download("/api/admin/memory/export"),
    /** With `tokens` also those of the archive; the report says what became of them. */
    restore: (archive: AsyncIterable<Uint8Array>, given: { signal?: AbortSignal; tokens?: boolean } = {}) =>
      upload<RestoreReport>(
        `/api/admin/memory/restore${given.tokens ? "?tokens=true" : ""}`,
        "application/octet-stream",
        archive,
        given.signal,
      ),
    importJsonl: (lines: AsyncIterable<Uint8Array>, given: { signal?: AbortSignal } = {}) =>
      upload<{ imported: number; skipped: number }>(
        "/api/admin/memory/import",
        "application/x-ndjson",
        lines,
        given.signal,
      ),
  };
}

/** Whether trying again later is what helps: the node starts, drains, or is not there. */
function isUnavailable(error: unknown): boolean {
  return error instanceof CairnError && (error.retryable || error.code === "RUNTIME_NOT_RUNNING");
}
