/** What the platform keeps of a bot: its channels, its sessions, and what it has sent. */

import { createHolds, type Holds } from "../shared/holds.ts";
import type { Session } from "./sessions.ts";

export const OWNER = "100000000000000001";
export const STRANGER = "100000000000000002";

export interface StoredMessage {
  readonly id: string;
  readonly channel_id: string;
  readonly author: { readonly id: string; readonly username: string; readonly bot: boolean };
  content: string;
  readonly timestamp: string;
  readonly type: number;
  readonly attachments: readonly object[];
  readonly files: readonly { readonly name: string; readonly bytes: Buffer }[];
  readonly replyTo?: string;
  readonly nonce?: string;
  components: readonly object[];
  readonly reactions: string[];
  edits: number;
  deleted: boolean;
}

export interface StoredChannel {
  readonly id: string;
  /** 0: of a server; 1: in private; 11: a thread. */
  readonly type: 0 | 1 | 11;
  readonly messages: StoredMessage[];
  /** The bot may not see it. */
  isClosed: boolean;
}

export interface StoredInteraction {
  readonly id: string;
  readonly token: string;
  readonly channel: string;
  /** What the owner was shown; undefined: nothing, "": that it is being worked on. */
  answer: string | undefined;
}

export interface BotCall {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
  readonly files: readonly { readonly name: string; readonly bytes: Buffer }[];
}

export interface BotState {
  readonly me: { readonly id: string; readonly username: string; readonly bot: true };
  readonly application: string;
  readonly channels: Map<string, StoredChannel>;
  readonly sessions: Map<string, Session>;
  readonly calls: BotCall[];
  /** Channels in which it was shown as typing. */
  readonly typing: string[];
  readonly interactions: StoredInteraction[];
  commands: readonly Readonly<Record<string, unknown>>[];
  /** Requests of one route and channel within `windowMs`; what is more is refused, and counted. */
  readonly limit: { count: number; windowMs: number; refused: number };
  readonly buckets: Map<string, { count: number; resetAt: number }>;
  readonly gateway: GatewayState;
  /** Sessions that may begin today. */
  starts: number;
  /** Of requests, which end there. */
  readonly holds: Holds<BotCall>;
  /** Milliseconds for which a nonce is known. */
  nonceMs: number;
  /** A request that it names is refused. */
  refuse: ((call: BotCall) => Refusal | undefined) | undefined;
  /** Not earlier than those before. */
  newId(): string;
}

export interface GatewayState {
  heartbeatMs: number;
  /** Heartbeats are not acknowledged any more. */
  isZombie: boolean;
  /** Intents that the developer portal has not switched on. */
  refusedIntents: number;
  /** Connections with a session: those that are open, and the most that were open at once. */
  open: number;
  most: number;
  identified: number;
  /** Milliseconds, by the monotonic clock, from which a session may begin. */
  identifyFrom: number;
  resumed: number;
  heartbeats: number;
}

/** An answer of the platform that is no success. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly more: object;

  constructor(
    status: number,
    code: number,
    message: string,
    more: object = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.more = more;
    this.headers = headers;
  }

  document(): object {
    return { message: this.message, code: this.code, ...this.more };
  }
}

/** As where too much was sent: `scope` is the route's, or everything's. */
export function tooMany(retryAfterS: number, isGlobal = false): Refusal {
  return new Refusal(
    429,
    0,
    "You are being rate limited.",
    { retry_after: retryAfterS, global: isGlobal },
    { "retry-after": String(Math.ceil(retryAfterS)), ...(isGlobal ? { "x-ratelimit-global": "true" } : {}) },
  );
}

export function invalidForm(field: string, code: string, message: string): Refusal {
  return new Refusal(400, 50_035, "Invalid Form Body", { errors: { [field]: { _errors: [{ code, message }] } } });
}

export function botState(number: number, username: string): BotState {
  const id = String(200_000_000_000_000_000n + BigInt(number));
  let lastId = 0n;
  return {
    me: { id, username, bot: true },
    application: String(300_000_000_000_000_000n + BigInt(number)),
    channels: new Map(),
    sessions: new Map(),
    calls: [],
    typing: [],
    interactions: [],
    commands: [],
    limit: { count: 5, windowMs: 100, refused: 0 },
    buckets: new Map(),
    gateway: {
      heartbeatMs: 41_250,
      isZombie: false,
      refusedIntents: 0,
      open: 0,
      most: 0,
      identified: 0,
      identifyFrom: 0,
      resumed: 0,
      heartbeats: 0,
    },
    starts: 1_000,
    holds: createHolds(),
    nonceMs: 300_000,
    refuse: undefined,
    newId() {
      const now = BigInt(Date.now() - 1_420_070_400_000) << 22n;
      lastId = now > lastId ? now : lastId + 1n;
      return String(lastId);
    },
  };
}
