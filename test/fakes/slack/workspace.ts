/** What the platform keeps of an app in a workspace: its conversations, what was written in them, and what it has called. */

import { createHolds, type Holds } from "../shared/holds.ts";
import type { SocketState } from "./sockets.ts";

export const OWNER = "U0OWNER01";
export const STRANGER = "U0STRANGER";

export interface StoredMessage {
  readonly ts: string;
  readonly channel: string;
  readonly user: string;
  /** As it was sent, with its escapes. */
  text: string;
  readonly thread: string | undefined;
  blocks: readonly Block[];
  readonly files: readonly { readonly id: string; readonly name: string; readonly bytes: Buffer }[];
  /** Names of emoji. */
  readonly reactions: string[];
  /** Further keys of it. */
  readonly more: object;
  edits: number;
  deleted: boolean;
}

export interface Block {
  readonly type: string;
  readonly elements?: readonly { readonly value?: string; readonly text?: { readonly text: string } }[];
}

export interface StoredChannel {
  readonly id: string;
  /** As `channel_type` in events. */
  readonly kind: "im" | "channel" | "group" | "mpim";
  readonly messages: StoredMessage[];
  isArchived: boolean;
  /** The bot is one. */
  isMember: boolean;
}

export interface Upload {
  readonly name: string;
  readonly length: number;
  bytes: Buffer | undefined;
}

export interface Call {
  readonly method: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Workspace {
  readonly bot: string;
  readonly app: string;
  readonly token: string;
  readonly appToken: string;
  /** As Slack's `error` for a token that it does not take any more. */
  readonly refusedTokens: Map<string, string>;
  readonly channels: Map<string, StoredChannel>;
  readonly calls: Call[];
  readonly uploads: Map<string, Upload>;
  /** Shown to one user alone. */
  readonly whispers: { readonly user: string; readonly channel: string; readonly text: string }[];
  /** Calls of a method within `windowMs`; what is more is refused, and counted. */
  readonly limits: { updates: number; windowMs: number; refused: number };
  readonly recent: Map<string, number[]>;
  /** Scopes that the app was not given. */
  readonly missingScopes: Set<string>;
  /** Of the answers to requests for files. */
  fileStatus: number;
  /** Requests for files, or of uploads, with a token that has no business there. */
  leaks: number;
  readonly sockets: SocketState;
  /** Of calls, which end there; an acknowledgement is one of the method `acknowledge`. */
  readonly holds: Holds<Call>;
  /** A call that it names is refused. */
  refuse: ((call: Call) => Refusal | undefined) | undefined;
  /** Not earlier than those before. */
  newTs(): string;
  newId(kind: string): string;
}

/** An answer of the platform that is no success: mostly with status 200. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly more: object;

  constructor(error: string, more: object = {}, status = 200, headers: Readonly<Record<string, string>> = {}) {
    super(error);
    this.status = status;
    this.more = more;
    this.headers = headers;
  }

  document(): object {
    return { ok: false, error: this.message, ...this.more };
  }
}

export function tooMany(retryAfterS: number): Refusal {
  return new Refusal("ratelimited", {}, 429, { "retry-after": String(retryAfterS) });
}

export function missingScope(needed: string): Refusal {
  return new Refusal("missing_scope", { needed, provided: "chat:write" });
}

export function createWorkspace(number: number): Workspace {
  let last = 0;
  let ids = 0;
  return {
    bot: `U0BOT${number}`,
    app: `A0APP${number}`,
    token: `xoxb-1234567890-${"tokenOfTests".repeat(2)}${number}`,
    appToken: `xapp-1-A0APP${number}-${"appTokenOfTests".repeat(2)}${number}`,
    refusedTokens: new Map(),
    channels: new Map(),
    calls: [],
    uploads: new Map(),
    whispers: [],
    limits: { updates: 50, windowMs: 60_000, refused: 0 },
    recent: new Map(),
    missingScopes: new Set(),
    fileStatus: 200,
    leaks: 0,
    sockets: {
      tickets: new Set(),
      open: new Set(),
      pending: new Map(),
      ackMs: 3_000,
      opened: 0,
      most: 0,
      acknowledged: 0,
      strayAcknowledgements: 0,
      redelivered: 0,
      lost: 0,
      pongs: 0,
    },
    holds: createHolds(),
    refuse: undefined,
    newTs() {
      last = Math.max(last + 1, Date.now() * 1_000);
      return `${Math.floor(last / 1_000_000)}.${String(last % 1_000_000).padStart(6, "0")}`;
    },
    newId: (kind) => `${kind}0${String(number).padStart(3, "0")}${String(++ids).padStart(4, "0")}`,
  };
}
