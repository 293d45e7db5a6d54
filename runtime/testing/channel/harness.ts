import type { Channel } from "../../contracts/channel.ts";

/** What an author supplies to the checks: a channel over a fake of its platform. */
export interface ChannelHarness {
  /** Asked anew by every check. */
  open(): Promise<OpenChannel>;
  /** What the channel does not have: the checks of it do nothing, and say so in their names. */
  readonly lacks?: readonly ChannelFeature[];
}

export type ChannelFeature =
  /** Messages are sent to it, rather than fetched by a client. */
  | "platform"
  /** `Channel.receiver`. */
  | "receiver"
  /** `Channel.edit`. */
  | "edit"
  /** `Channel.draftPauseMs`. */
  | "drafts"
  /** `Channel.react`. */
  | "reactions"
  /** Text with a slash is a command: not where people speak. */
  | "commands"
  /** `Channel.onStranger`: who is not the owner may write to it. */
  | "strangers";

export interface OpenChannel {
  /** Not started, and without handlers. */
  readonly channel: Channel;
  /** One that it may send to: the owner's, in which nobody else reads. */
  readonly conversation: string;
  /** What the channel has to keep to itself, such as its token. */
  readonly secret: string;
  /** Absent where the channel lacks `platform`. */
  readonly platform?: FakePlatform;
  /**
   * A person writes. Resolves when the platform has the message; without a receiver, when the channel has taken it, and rejects where it
   * does not.
   */
  deliver(message: DeliveredMessage): Promise<void>;
  /** All that the channel has logged, with all that is in it; absent where it logs nothing. */
  logged?(): string;
  /** Ends the fake; the channel is stopped by then. */
  close(): Promise<void>;
}

export interface FakePlatform {
  /** UTF-16 code units that a message may have. */
  readonly mostText: number;
  /** What the channel has sent to anybody and not deleted, in the order of sending. */
  shown(): readonly ShownMessage[];
  /** What the channel has put on messages of people. Absent where the channel lacks `reactions`. */
  reactions?(): readonly string[];
  /** How often somebody was shown that the bot types. Absent where the channel does not show it, or the fake does not count. */
  typing?(): number;
  /** `unreachable`: no connection is answered any more. `refused`: for good, whatever is sent to the conversation, as where it is gone. */
  fail(fault: "unreachable" | "refused"): void;
}

export interface ShownMessage {
  readonly id: string;
  readonly text: string;
  /** Names. */
  readonly files: readonly string[];
}

export interface DeliveredMessage {
  /** The stranger writes to the bot alone. */
  readonly from: "owner" | "stranger";
  readonly text: string;
  /** For platforms whose clients send a message again themselves: the same message has the same key. */
  readonly key: string;
}
