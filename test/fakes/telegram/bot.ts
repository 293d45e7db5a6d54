/** What the platform keeps of a bot. */

import type { MessageEntity, Update, User } from "grammy/types";
import { createHolds, type Holds } from "../shared/holds.ts";
import type { Delivery } from "./webhook.ts";

export type Entity = Pick<MessageEntity, "type" | "offset" | "length">;

export interface SentMessage {
  readonly id: number;
  readonly chat: number;
  text: string;
  entities: readonly Entity[];
  readonly thread?: number;
  readonly replyTo?: number;
  readonly files: { readonly method: string; readonly name: string; readonly bytes: Buffer }[];
  readonly reactions: string[];
  edits: number;
  /** Milliseconds of the last edits. */
  readonly editedAt: number[];
  deleted: boolean;
}

export interface StoredFile {
  readonly path: string;
  readonly size?: number;
  content(): AsyncIterable<Buffer> | Iterable<Buffer>;
}

export interface BotCall {
  readonly body: Readonly<Record<string, unknown>>;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

export interface HeldCall {
  readonly method: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface BotState {
  readonly me: User;
  /** Not confirmed yet. */
  readonly updates: Update[];
  readonly chats: Set<number>;
  /** Groups that became supergroups: their new numbers. */
  readonly moved: Map<number, number>;
  readonly sent: SentMessage[];
  /** Of the bot to messages of people, as `1 7 👀`: chat, message and emoji. */
  readonly reactions: string[];
  /** Messages of people, as `1 7`. */
  readonly said: Set<string>;
  /** Chat actions, as `1 typing`. */
  readonly actions: string[];
  readonly calls: { readonly method: string; readonly body: Readonly<Record<string, unknown>> }[];
  /** By file_id. */
  readonly files: Map<string, StoredFile>;
  commands: readonly { readonly command: string; readonly description: string }[];
  webhook: string;
  webhookSecret: string;
  webhookConnections: number;
  webhookError: { readonly at: number; readonly message: string } | null;
  /** How what is at the webhook's address answers: its status. Undefined: nothing is delivered. */
  post: ((delivery: Delivery) => Promise<number>) | undefined;
  /** The number of a new message: a supergroup that was a group counts its own. */
  nextMessageIn(chat: number): number;
  /** Polls: those that are open, the most that were open at once, and those that another one has ended. */
  readonly polls: { open: number; most: number; terminated: number };
  /** Ends the long poll that is open. */
  terminate: (() => void) | undefined;
  /** Ids of updates that were confirmed, in order. */
  readonly confirmed: number[];
  /** Of calls, which end there. */
  readonly holds: Holds<HeldCall>;
  /** A call that it names is refused. */
  refuse: ((method: string, body: Readonly<Record<string, unknown>>) => Refusal | undefined) | undefined;
  put(update: object): void;
  /** Resolves when there is an update, or the time is over, or the signal aborts. */
  changed(ms: number, signal: AbortSignal): Promise<void>;
}

/** An answer of the platform that is no success. */
export class Refusal extends Error {
  readonly code: number;
  readonly parameters: object | undefined;

  constructor(code: number, description: string, parameters?: object) {
    super(description);
    this.code = code;
    this.parameters = parameters;
  }

  document(): object {
    const { code, message, parameters } = this;
    return { ok: false, error_code: code, description: message, ...(parameters === undefined ? {} : { parameters }) };
  }
}

export const tooMany = (retryAfterS: number): Refusal =>
  new Refusal(429, `Too Many Requests: retry after ${retryAfterS}`, { retry_after: retryAfterS });

export function botState(me: User): BotState {
  let wake = Promise.withResolvers<void>();
  let nextUpdate = 1;
  let nextMessage = 1;
  const counts = new Map<number, number>();
  return {
    me,
    updates: [],
    chats: new Set(),
    moved: new Map(),
    sent: [],
    reactions: [],
    said: new Set(),
    actions: [],
    calls: [],
    files: new Map(),
    commands: [],
    webhook: "",
    webhookSecret: "",
    webhookConnections: 40,
    webhookError: null,
    post: undefined,
    nextMessageIn(chat) {
      if (![...this.moved.values()].includes(chat)) return nextMessage++;
      const next = (counts.get(chat) ?? 0) + 1;
      counts.set(chat, next);
      return next;
    },
    polls: { open: 0, most: 0, terminated: 0 },
    terminate: undefined,
    confirmed: [],
    holds: createHolds(),
    refuse: undefined,
    put(update) {
      this.updates.push({ update_id: nextUpdate++, ...update });
      wake.resolve();
      wake = Promise.withResolvers();
    },
    async changed(ms, signal) {
      if (this.updates.length > 0 || ms === 0 || signal.aborted) return;
      const over = Promise.withResolvers<void>();
      const timer = setTimeout(over.resolve, ms);
      signal.addEventListener("abort", () => over.resolve(), { once: true });
      await Promise.race([wake.promise, over.promise]);
      clearTimeout(timer);
    },
  };
}
