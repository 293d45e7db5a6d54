/** A chat platform, or the HTTP agent channel. The channel splits long messages itself and keeps to its platform's limits. */

import type { HandedTask } from "./delegation.ts";
import type { WaitingQuestion } from "./stream.ts";
import type { Voice } from "./voice.ts";

export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

/** Where a message came from and where its reply goes: one conversation of one user on one channel instance. */
export interface Address {
  /** Channel instance id, as in `channels.<id>`. */
  readonly channel: string;
  /** Channel-side conversation: chat id, channel id, or the `session` of the agent channel. */
  readonly conversation: string;
  /** Channel-side user; empty where the channel has no users. */
  readonly user: string;
}

/** One earlier message of a conversation that the client keeps itself. */
export interface HistoryMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface InboundMessage {
  readonly address: Address;
  /**
   * Which agent it is for; with channel, conversation and externalId it is the inbox key. Empty where the platform's
   * message names none: the router then takes the agent that the conversation is bound to, else the default agent.
   */
  readonly agent: string;
  /** The platform's own id of the message, or the Idempotency-Key. */
  readonly externalId: string;
  /** The platform's id of the message within its conversation, for `react`. Absent where there is nothing to react to. */
  readonly messageId?: string;
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  /** True when the sender is the owner of the instance. */
  readonly owner: boolean;
  /** ISO 8601; time of sending, from the platform. */
  readonly sentAt?: string;
  /**
   * What was said before, oldest first, where the client keeps the conversation and names no session: written into the
   * conversation before this message, if that conversation is new. Ignored when it has messages already.
   */
  readonly history?: readonly HistoryMessage[];
  /** Of a message that turns of another node wait for. */
  readonly task?: HandedTask;
  /** What makes it the same message under its key, where that is not its text: a recording is not transcribed twice alike. */
  readonly fingerprint?: string;
}

/** A message by what its channel has before its text. */
export interface MessageIdentity extends Pick<InboundMessage, "address" | "agent" | "externalId"> {
  readonly fingerprint: string;
}

export interface EarlierMessage {
  readonly turnId: string;
  readonly text: string;
}

export interface OutboundMessage {
  readonly address: Address;
  readonly agent: string;
  readonly turnId: string;
  /** The same at each attempt to send it, and no other message's. */
  readonly id?: string;
  readonly text: string;
  /** Shown to the user besides the text: that the turn was interrupted, for instance. */
  readonly notice?: string;
  /** Platform's id of the message that this one answers; a platform without replies leaves it out. Channels of chat platforms set it. */
  readonly replyTo?: string;
  /** Files that go with the text. */
  readonly attachments?: readonly Attachment[];
  /** What an earlier attempt has sent of it, where the channel said so with `keep`: the rest is still to be sent. */
  readonly sent?: EditResult;
  /** Messages that have shown what was written of it: they are changed into it, and what is left over of them is deleted. */
  readonly draft?: ShownDraft;
  /** An earlier attempt may have arrived: a platform that cannot rule out a second message says so to the reader. */
  readonly mayRepeat?: true;
  /** The turn waits for the answer to this, which `text` asks: a channel may offer the choices. */
  readonly question?: WaitingQuestion;
}

/** The platform's ids of one text: the channel splits what is too long for a single message. */
export interface EditResult {
  readonly primary: string;
  /** Of the further messages, in their order. */
  readonly overflow: readonly string[];
}

export interface ShownDraft extends EditResult {
  /** A further message of it may be there, whose id was not heard: what is sent may repeat it, although nothing else was sent before. */
  readonly unheard?: true;
}

/** How a channel is, as /health, `cairn test` and doctor show it; the reason is for operators and holds no secret. */
export type ChannelState =
  | { readonly state: "up"; readonly reason: null }
  /**
   * `standby`: another node receives, and this one sends. `connecting`: not yet, or not at present, and it keeps trying. `degraded`: a
   * part of it works. `down`: it has failed for so long that somebody should look; it may go on trying.
   */
  | { readonly state: "standby" | "connecting" | "degraded" | "down"; readonly reason: string };

/** Whether nobody has to look at it: it works, or another node receives. */
export function isWell(state: string): boolean {
  return state === "up" || state === "standby";
}

/** Receiving from a platform that gives the messages of an account to one receiver alone. */
export interface Receiver {
  /** Of the account, such as the hash of the bot's token: of the nodes that share a database, one receives for it at a time. No secret. */
  readonly account: string;
  /**
   * Receives until the signal aborts, then resolves as soon as the platform is asked no more. Rejects where the connection fails; it is
   * called again after a pause that grows (`channels.<id>.reconnect`). The error's message is shown to operators.
   */
  receive(reception: Reception): Promise<void>;
}

export interface Reception {
  /**
   * Aborts when another node is to receive, or this one stops. What still receives 5 seconds later keeps others from beginning. With
   * RUNTIME_LEASE_LOST as its reason another one may receive already: then the platform is asked nothing more at all.
   */
  readonly signal: AbortSignal;
  /** Messages can be received, and are taken: failures from before count no more. `reason`: what does not work all the same. */
  connected(reason?: string): void;
  /** For a platform that does not keep itself what was taken. */
  readonly position: ReceptionPosition;
}

/** Up to where an account's messages were taken, on whichever node; it outlives the nodes. */
export interface ReceptionPosition {
  /** What `keep` was given last; undefined: nothing yet. */
  read(): Promise<unknown>;
  /** `value`: JSON, of some kilobytes at most. RUNTIME_LEASE_LOST where another node receives by now. */
  keep(value: unknown): Promise<void>;
}

/** Of a platform that posts its messages to a node, whichever it reaches. */
export interface Webhook {
  /** Whether a request is the platform's, by its headers: only then is its body read. Names in small letters. */
  isAuthentic(headers: WebhookRequest["headers"]): boolean;
  /** Of an authentic request. `status`: 200 once the message is durable, 503 where it is to be sent again. */
  handle(request: WebhookRequest): Promise<{ readonly status: 200 | 503 }>;
}

/** Where a node takes the requests of a channel's platform. */
export function webhookPath(channel: string): string {
  return `/api/channels/${channel}/webhook`;
}

export interface WebhookRequest {
  /** By their names in small letters. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Of JSON. */
  readonly body: unknown;
}

export interface CommandRequest {
  readonly address: Address;
  /** As of a message: empty where the router is to choose. */
  readonly agent: string;
  /** The whole line, with its slash: `/think high`. */
  readonly line: string;
  /** Of an `/answer` that was given to this question, by a button of its message for instance. Absent: to the newest one. */
  readonly question?: string;
  readonly owner: boolean;
  /** As of a message: a command that comes again under it writes its text once. Absent where it does not come again. */
  readonly externalId?: string;
}

export interface CommandReply {
  readonly text: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Resolves once the message is durable: only then may the channel acknowledge it to its platform. */
export type MessageHandler = (message: InboundMessage) => Promise<AcceptedMessage>;
export type CommandHandler = (command: CommandRequest) => Promise<CommandReply>;

/** The message that was accepted under this key, or null; RUNTIME_CONFLICT where that was another one. */
export type RepeatHandler = (identity: MessageIdentity) => Promise<EarlierMessage | null>;

/**
 * Stores what is sent so far of a message in parts; resolves when it is stored. `more`: a further part is about to be sent, which may
 * arrive without its id being heard.
 */
export type KeepSent = (sent: EditResult, more?: boolean) => Promise<void>;

/** Who has written and is not the owner. */
export interface Stranger {
  /** As in `channels.<id>`. */
  readonly channel: string;
  /** The platform's id. */
  readonly user: string;
  /** As the platform shows it. */
  readonly name: string;
  /** Nobody else reads the answer: only then may it hold a code. */
  readonly mayAsk: boolean;
}

export type Admission =
  | { readonly admitted: true }
  /**
   * `code`: to be shown to the stranger, once; null: there is no answer at all. `withdraw`: to be called where it could not be shown, so
   * that the next message gets another one.
   */
  | { readonly admitted: false; readonly code: string | null; withdraw?(): Promise<void> };

export type StrangerHandler = (stranger: Stranger) => Promise<Admission>;

export interface AcceptedMessage {
  readonly turnId: string;
  /** The agent that answers: the one that was named, else the one that the router chose. */
  readonly agent: string;
  /** False when the same message had been accepted before. */
  readonly fresh: boolean;
}

export interface Channel {
  readonly id: string;
  readonly platform: string;
  /** Does not wait for a platform that cannot be reached: `state` reports that. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Of this moment, without I/O. Absent where it has a receiver: how that is, the node knows. */
  state?(): ChannelState;
  /** Absent where each node receives for itself. */
  readonly receiver?: Receiver;
  /** Takes `POST /api/channels/<id>/webhook`. Its receiver, if it has one, then keeps the platform calling. */
  readonly webhook?: Webhook;
  /** Bytes of the largest file that the platform takes of it. Absent: none is too large of those that turns send. */
  readonly maxFileBytes?: number;
  /**
   * The platform's ids of what was sent, or null where it gives none. Rejects when not all of it was sent: it is called again,
   * with what it last gave to `keep`.
   */
  send(message: OutboundMessage, keep?: KeepSent): Promise<EditResult | null>;
  // The conversation (an Address's) comes first everywhere, then the message.
  edit?(
    conversation: string,
    messageId: string,
    text: string,
    overflowIds?: readonly string[],
    /** Once it aborts, nothing more of the change is asked for: rejects between two messages. */
    signal?: AbortSignal,
    /** For messages that are added: called before the first of them, and after each, as by `send`. */
    keep?: KeepSent,
  ): Promise<EditResult | null>;
  /**
   * Milliseconds between two changes of a reply that is shown while it is written, by `send` and then `edit`. Absent: replies are
   * shown when they are whole.
   */
  draftPauseMs?(conversation: string): number;
  /** To a message of a person, by the `messageId` that was handed over with it. The node asks for it once, and for nothing if it rejects. */
  react?(conversation: string, messageId: string, emoji: string): Promise<void>;
  /** While a turn of the conversation runs; ended by as many calls of `stopTyping`. */
  startTyping?(conversation: string): Promise<void>;
  stopTyping?(conversation: string): Promise<void>;
  onMessage(handler: MessageHandler): void;
  onCommand(handler: CommandHandler): void;
  /** Where others may be admitted (`channels.<id>.pairing`). Without it the owner alone is heard; to all others the channel is silent. */
  onStranger?(handler: StrangerHandler): void;
  /** Where it costs something to find out what a message says. */
  onRepeat?(handler: RepeatHandler): void;
  /** Where people talk to it: recordings are handed to it by a route. At most one channel of a node. */
  readonly voice?: Voice;
}
