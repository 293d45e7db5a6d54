/** Talking to agents: a recording in, the words of it as a message, and the reply spoken sentence by sentence. */

import type { AgentCaller } from "./agent-caller.ts";
import type { ErrorBody } from "./errors.ts";
import type { NumberedEvent } from "./stream.ts";

export interface Recording {
  /** As the client calls it; may be empty. */
  readonly name: string;
  readonly mediaType: string;
  readonly data: Uint8Array;
}

export interface VoicePost {
  readonly agent: string;
  /** The client's name of the conversation. */
  readonly session: string;
  /** The user on whose behalf the client sends; absent: the caller. */
  readonly user?: string;
  readonly recording: Recording;
  /** The same key with the same recording in the same session is the same message. Absent: a message of its own. */
  readonly idempotencyKey?: string;
  readonly caller: AgentCaller;
}

export interface HeardMessage {
  readonly turnId: string;
  readonly transcript: string;
}

/** Come between the events of a turn, and have no number. */
export type VoiceEvent =
  | { readonly type: "voice.transcript"; readonly turn_id: string; readonly text: string }
  | {
      readonly type: "voice.audio";
      readonly turn_id: string;
      /** Counts from 0. */
      readonly index: number;
      readonly media_type: string;
      /** What is said. */
      readonly text: string;
      /** A whole file of that type, in base64. */
      readonly data: string;
    }
  /** Nothing more of this reply is spoken; its text goes on. */
  | { readonly type: "voice.failed"; readonly turn_id: string; readonly error: ErrorBody };

export type SpokenEvent = NumberedEvent | { readonly event: VoiceEvent };

/** The part of a channel that routes hand recordings to. */
export interface Voice {
  /**
   * Resolves once the message is durable, whether the client waits or not. CHANNEL_NOTHING_SAID without a turn where there are no
   * words, RUNTIME_UNSUPPORTED_MEDIA_TYPE for what is no recording, PROVIDER_* where it could not be transcribed.
   */
  hear(post: VoicePost): Promise<HeardMessage>;
  /** The turn's events as they come and its words as speech; the event that ends the turn is the last one. Ends with the signal. */
  speak(events: AsyncIterable<NumberedEvent>, signal: AbortSignal): AsyncIterable<SpokenEvent>;
}
