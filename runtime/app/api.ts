/** The use cases as their callers (HTTP routes, channels, commands) see them. The composition root builds them. */

import type { BackupEntry, BackupStatus } from "../contracts/backups.ts";
import type {
  AcceptedMessage,
  CommandReply,
  CommandRequest,
  EarlierMessage,
  InboundMessage,
  MessageIdentity,
  Webhook,
} from "../contracts/channel.ts";
import type { ForgetPreview, ForgetReport, Selection } from "../contracts/forgetting.ts";
import type { HealthReport, MeshReport } from "../contracts/health-report.ts";
import type { Logins } from "../contracts/logins.ts";
import type { Gossip, Revocation } from "../contracts/membership.ts";
import type { Visibility } from "../contracts/memory.ts";
import type { Member, NodeEntry } from "../contracts/node-entry.ts";
import type { ScheduleRun, ScheduleStatus } from "../contracts/schedules.ts";
import type { NumberedEvent, StreamEvent, TurnResult, WaitingQuestion } from "../contracts/stream.ts";
import type { RestoreReport, Scope, TokenRecord } from "../contracts/tokens.ts";
import type { Approvals } from "./approvals.ts";
import type { Capture } from "./capture/capture.ts";
import type { McpServers } from "./mcp-servers.ts";
import type { Joining } from "./mesh/joining.ts";
import type { Leaving } from "./mesh/leaving.ts";
import type { Peers } from "./mesh/peers.ts";
import type { Reachability } from "./mesh/reachability.ts";
import type { Pairings } from "./pairings.ts";
import type { QueueAdmin } from "./queue-admin.ts";
import type { MemoryReading } from "./reading.ts";
import type { Rollouts } from "./rollouts.ts";
import type { OpenedFile } from "./turn/sent-files.ts";
import type { UsageLedger } from "./usage/report.ts";

export type { NumberedEvent } from "../contracts/stream.ts";

export type TurnState =
  | {
      readonly state: "queued" | "running";
      readonly turnId: string;
      readonly agent: string;
      /** Channel-side user whose message it answers. */
      readonly user: string;
    }
  | {
      readonly state: "waiting";
      readonly turnId: string;
      readonly agent: string;
      readonly user: string;
      /** Channel-side. */
      readonly conversation: string;
      readonly question: WaitingQuestion;
    }
  | {
      readonly state: "finished";
      readonly turnId: string;
      readonly agent: string;
      readonly user: string;
      readonly final: StreamEvent & { type: "turn.finished" | "turn.failed" };
    };

export interface Health {
  report(): Promise<HealthReport>;
  /** Whether messages are accepted: started, not draining, database there. */
  ready(): Promise<{ readonly ready: boolean; readonly reason?: string }>;
}

export interface Turns {
  /** Durable when it resolves. RUNTIME_CONFLICT for the same key with another body, RUNTIME_DRAINING, RUNTIME_AGENT_UNKNOWN. */
  accept(message: InboundMessage): Promise<AcceptedMessage>;
  /** The message that was accepted under this key, or null. RUNTIME_CONFLICT where that was another one. */
  find(identity: MessageIdentity): Promise<EarlierMessage | null>;
  /** RUNTIME_TURN_UNKNOWN when the agent has no such turn. */
  read(agent: string, turnId: string): Promise<TurnState>;
  /** Waits for the end of the turn; a turn that failed rejects with its error. Ending the wait never ends the turn. */
  wait(agent: string, turnId: string, signal?: AbortSignal): Promise<TurnResult>;
  /** The same, but null as soon as the turn waits for an answer. */
  waitForEndOrQuestion(agent: string, turnId: string, signal?: AbortSignal): Promise<TurnResult | null>;
  /**
   * Answers what the turn waits for; durable when it resolves. The first answer counts. RUNTIME_CONFLICT for another one, for a
   * question whose time is over and for a turn that does not wait, RUNTIME_TURN_UNKNOWN.
   */
  answer(given: {
    readonly agent: string;
    readonly turnId: string;
    /** Absent: the turn's newest question. */
    readonly questionId?: string;
    readonly text: string;
    /** Channel-side user who answers. */
    readonly by: string;
  }): Promise<{ readonly questionId: string }>;
  /**
   * Events of the turn from after `lastEventId` (default: from the start), ending with the final one. Events that are no
   * longer held (an earlier process had them) are skipped: the final event holds the whole text. Those of a turn that another node
   * runs are forwarded from there, unless `here`.
   */
  events(
    agent: string,
    turnId: string,
    lastEventId?: number,
    signal?: AbortSignal,
    here?: boolean,
  ): AsyncIterable<NumberedEvent>;
  /** A file that the turn has sent. RUNTIME_TURN_UNKNOWN, RUNTIME_NOT_FOUND. */
  openAttachment(agent: string, turnId: string, sha256: string): Promise<OpenedFile>;
  /** Ends the turn as /stop does, and what it has handed on; false: it has ended before. RUNTIME_TURN_UNKNOWN. */
  stop(agent: string, turnId: string): Promise<boolean>;
}

export interface Commands {
  /** Answers at once, whatever is queued. RUNTIME_COMMAND_UNKNOWN for a line that is no known command. */
  run(request: CommandRequest): Promise<CommandReply>;
}

/** The caller: what the memory tools may see and whether the write tools are there. */
export interface MemoryCaller {
  readonly visibility: Visibility;
  /** Whether a model reads the answer: then each row of it says where it comes from. */
  readonly forModel?: boolean;
  /** The caller for bounds on single callers, such as a token's name; without it, that of the visibility. */
  readonly name?: string;
  readonly signal?: AbortSignal;
}

export interface MemoryTools {
  /** Names of the tools that this node offers; write tools only when they are enabled. */
  names(): readonly string[];
  /** MEMORY_TOOL_UNKNOWN before anything else, then MEMORY_INVALID_ARGUMENT with issues. The tool's own return value. */
  call(name: string, args: unknown, caller: MemoryCaller): Promise<unknown>;
}

export type { RestoreReport } from "../contracts/tokens.ts";
export { SCOPES, type Scope } from "../contracts/tokens.ts";
export type { Peers, PeerVerdict } from "./mesh/peers.ts";
export type { PeerPing, Reachability } from "./mesh/reachability.ts";

export interface Principal {
  /** Of this very token: one that is made later under the same name has another. */
  readonly id: string;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The owner's token: all scopes, sees every conversation. */
  readonly owner: boolean;
  /** Absent: the token does not expire. */
  readonly expiresAt?: Date;
  /** The node that calls, which has no scopes; absent: the caller has a token of this service. */
  readonly peer?: NodeEntry;
}

export interface RotateOptions {
  /** Absent: as it was. */
  readonly expiresAt?: Date | undefined;
  /** Asked before anything changes; throws where the caller may not have such a token. */
  readonly permit?: (scopes: readonly Scope[], expiresAt: Date | undefined) => void;
}

export interface RotatedToken {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** ISO 8601; null: it does not expire. */
  readonly expires_at: string | null;
  /** The only time that it is to be seen. */
  readonly token: string;
}

export interface Tokens {
  /** Constant-time comparison; null when the token is unknown or revoked. RUNTIME_TOKEN_EXPIRED when its time is over. */
  authenticate(token: string): Promise<Principal | null>;
  /** Without `expiresAt` the token does not expire. RUNTIME_CONFLICT where another token has the name. */
  create(
    name: string,
    scopes: readonly Scope[],
    expiresAt?: Date,
  ): Promise<{ readonly id: string; readonly token: string }>;
  list(): Promise<readonly TokenRecord[]>;
  /**
   * Another value for the token of this id or name, with its id and scopes; the former one ends as if it were revoked.
   * RUNTIME_CONFLICT where it is revoked, or where it has expired and gets no other expiry; whatever `permit` throws.
   */
  rotate(idOrName: string, options?: RotateOptions): Promise<RotatedToken>;
  /** By id, or by the name of a token that is not revoked yet. RUNTIME_CONFLICT, with the ids, where several have the name. */
  revoke(idOrName: string): Promise<{ readonly id: string; readonly name: string }>;
}

export interface RestoreOptions {
  /** Also the tokens, with what they may do; default none of them. One that is revoked, here or there, stays revoked. */
  readonly withTokens?: boolean;
}

export interface ImportOptions {
  /** Also into the sessions in which this service's own agents have their turns; default none of them. */
  readonly turnSessions?: boolean;
}

/** Backup and restore as one archive that either backend reads; see app/archive for its format. */
export interface Archives {
  /** The archive's bytes, from one consistent snapshot. */
  backup(signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** MEMORY_STORE_NOT_EMPTY unless the store is empty, MEMORY_ARCHIVE_INVALID when hashes or counts do not match: all or nothing. */
  restore(archive: AsyncIterable<Uint8Array>, options?: RestoreOptions): Promise<RestoreReport>;
  /** Reads the file at the path to its end; MEMORY_ARCHIVE_INVALID unless `restore` of this version can take it. */
  verify(path: string): Promise<void>;
  /** One JSON line a message, oldest first. */
  exportJsonl(signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** Lines of export, through the writer: existing event ids are skipped. */
  importJsonl(
    lines: AsyncIterable<Uint8Array>,
    options?: ImportOptions,
  ): Promise<{ readonly imported: number; readonly skipped: number }>;
}

/** The owner's erasure of messages; see app/forgetting. */
export interface Forgetting {
  preview(selection: Selection): Promise<ForgetPreview>;
  /**
   * MEMORY_CONFLICT where the selection is not `expected` messages, RUNTIME_CONFLICT while a turn of the sessions has not ended.
   * An interrupted erasure of the same selection is finished first, and is then the answer.
   */
  forget(selection: Selection, given: ForgetOptions): Promise<ForgetReport>;
  /** Finishes what a killed process has left, and takes what was erased out of this node's wikis. */
  finish(signal?: AbortSignal): Promise<void>;
}

export interface ForgetOptions {
  /** Messages that the preview has counted. */
  readonly expected: number;
  readonly reason: string;
  readonly by: string;
}

/** Scheduled backups. */
export interface Backups {
  /** Rejects without the database. */
  status(): Promise<BackupStatus>;
  /** Those on this node's disk, newest first. With `verify` each is read to its end. */
  list(options?: { readonly verify?: boolean; readonly signal?: AbortSignal }): Promise<readonly BackupEntry[]>;
  /** RUNTIME_NOT_FOUND before the first byte. */
  read(name: string, signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Turns that start by the clock. */
export interface Schedules {
  /** By agent and name. Rejects without the database. */
  list(): Promise<readonly ScheduleStatus[]>;
  /** Starts one now, whatever its plan and state. RUNTIME_NOT_FOUND; the errors of a message. */
  run(agent: string, name: string): Promise<ScheduleRun>;
  /** On all nodes, until it is resumed. RUNTIME_NOT_FOUND. */
  pause(agent: string, name: string): Promise<ScheduleStatus>;
  /** What was planned meanwhile is not made up for. RUNTIME_NOT_FOUND. */
  resume(agent: string, name: string): Promise<ScheduleStatus>;
}

export interface Lifecycle {
  readonly draining: boolean;
  /**
   * Stops accepting, lets active turns run to the deadline, then checkpoints them. With `resumeAfterMs` it accepts again by
   * itself after that time: the client that drained it may be gone.
   */
  drain(deadlineMs?: number, resumeAfterMs?: number): Promise<void>;
  resume(): Promise<void>;
}

/** This node as a member of a mesh; see app/mesh. RUNTIME_CONFLICT where the mesh is off. */
export interface MeshMembership extends Joining, Leaving {
  report(): Promise<MeshReport>;
  /** The answer to what another member tells. */
  gossip(received: Gossip): Promise<Gossip>;
  /** Null where this node knows of none. */
  revocationOf(node: string): Promise<Revocation | null>;
}

/** Everything that the HTTP server needs of the application. */
export interface Application {
  readonly version: string;
  readonly node: { readonly id: string; readonly name: string };
  readonly agents: () => readonly { readonly name: string; readonly model: string }[];
  readonly turns: Turns;
  readonly commands: Commands;
  /** A turn that this very node runs, and asks no model. Resolves with its end; errors as of any turn. */
  readonly testTurn: (signal: AbortSignal) => Promise<TurnResult>;
  readonly memoryTools: MemoryTools;
  readonly reading: MemoryReading;
  readonly capture: Capture;
  readonly health: Health;
  readonly tokens: Tokens;
  /** By the ids of their channels. */
  readonly webhooks: ReadonlyMap<string, Webhook>;
  readonly pairings: Pick<Pairings, "list" | "approve" | "revoke">;
  readonly approvals: Pick<Approvals, "pending" | "decide" | "standing" | "revoke">;
  readonly logins: Logins;
  readonly peers: Peers;
  /** Whether the node with this id has the same database. */
  sharesDatabase(node: string): Promise<boolean>;
  readonly archives: Archives;
  readonly forgetting: Forgetting;
  readonly backups: Backups;
  readonly queues: QueueAdmin;
  readonly usage: UsageLedger;
  readonly schedules: Schedules;
  readonly mcpServers: Pick<McpServers, "changes" | "approve">;
  readonly lifecycle: Lifecycle;
  /** The nodes that share the store, and the members of the mesh that have one of their own. */
  readonly members: () => Promise<readonly Member[]>;
  readonly rollouts: Rollouts;
  readonly reachability: Reachability;
  readonly mesh: MeshMembership;
}
