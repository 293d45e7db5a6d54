/** A person's message on a chat platform, read: what every platform's means the same. */

import type { Attachment } from "../../contracts/channel.ts";

export interface ChatMessage {
  readonly conversation: string;
  readonly user: string;
  /** As the platform shows it. */
  readonly name: string;
  readonly isOwner: boolean;
  /** Nobody else reads the conversation. */
  readonly isPrivate: boolean;
  /** Of the message, within its conversation: answers refer to it. */
  readonly id: string;
  /** Its key in the inbox. */
  readonly externalId: string;
  readonly text: string;
  /** ISO 8601. */
  readonly sentAt: string;
  /** Whether the text is a command, with its slash. */
  readonly isCommand: boolean;
  /** Whether it holds something that agents are not given, such as a sticker. */
  readonly hasUnread: boolean;
  readonly files: readonly FileSource[];
}

/** Fetches one file of a message. RUNTIME_BODY_TOO_LARGE, RUNTIME_NOT_FOUND; CHANNEL_CONNECTION_LOST. */
export type FileSource = (signal: AbortSignal) => Promise<Attachment>;
