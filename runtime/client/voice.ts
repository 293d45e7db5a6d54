/** Talking to an agent as a function: a recording in, the turn's events out, with its words as speech between them. */

import { randomUUID } from "node:crypto";
import { ChannelError, RuntimeError } from "../contracts/errors.ts";
import { isFinal, type StreamEvent } from "../contracts/stream.ts";
import type { VoiceEvent } from "../contracts/voice.ts";
import { asConnectionError, type Connection, queryOf, request } from "./http.ts";
import { EVENT_STREAM, eventsOf } from "./turn-stream.ts";
import type { CallOptions } from "./types.ts";

export interface VoiceRequest {
  /** The caller's name of the conversation: one of the voice channel's own. */
  readonly session: string;
  /** A file of at most 25 MiB; its `type` says what it is, for example `audio/webm`. */
  readonly recording: Blob;
  /** The user on whose behalf the caller sends; absent: the token's own. */
  readonly user?: string;
}

export interface VoiceOptions extends CallOptions {
  /** Without it the client makes one. The same key and recording are the same message, which is not transcribed again. */
  readonly idempotencyKey?: string;
}

export interface VoiceCalls {
  /**
   * `voice.transcript`, the turn's events with `voice.audio` between them, and its final one last. The head of the answer, which
   * `timeoutMs` is for, comes after the transcription; default: as long as that takes. CHANNEL_NOTHING_SAID where there are no words,
   * CHANNEL_CONNECTION_LOST, naming the turn, where the connection breaks: speech is not made again, `follow` has the text. Ending the
   * iteration ends the speech and never the turn.
   */
  talk(agent: string, voice: VoiceRequest, options?: VoiceOptions): AsyncGenerator<StreamEvent | VoiceEvent>;
}

export function voiceCalls(connection: Connection): VoiceCalls {
  return {
    async *talk(agent, { session, user, recording }, given = {}) {
      const { signal, timeoutMs = 0, idempotencyKey = randomUUID() } = given;
      const path = `/api/agents/${encodeURIComponent(agent)}/voice${queryOf({ session, user })}`;
      const headers = { ...EVENT_STREAM, "idempotency-key": idempotencyKey };
      const response = await request(connection, path, { method: "POST", headers, body: recording, signal, timeoutMs });
      const turnId = response.headers.get("x-turn-id");
      if (turnId === null) {
        await response.body?.cancel().catch(() => undefined);
        throw new RuntimeError("RUNTIME_INTERNAL", "The node named no turn.");
      }
      try {
        for await (const { event } of eventsOf<StreamEvent | VoiceEvent>(response, signal)) {
          yield event;
          if (!isVoice(event) && isFinal(event)) return;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (asConnectionError(error, connection) === error) throw error;
      }
      throw new ChannelError(
        "CHANNEL_CONNECTION_LOST",
        "The connection to the node was lost; the turn may go on there.",
        {
          turnId,
        },
      );
    },
  };
}

function isVoice(event: StreamEvent | VoiceEvent): event is VoiceEvent {
  return event.type.startsWith("voice.");
}
