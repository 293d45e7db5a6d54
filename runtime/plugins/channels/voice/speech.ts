/** The two services of the channel: speech to text, and text to speech. */

import type { Recording } from "../../../contracts/voice.ts";
import type { AudioRoute } from "../manifest.ts";
import { createAudioApi, UnexpectedAnswer } from "./audio-route.ts";

/** For 25 MB, which is hours of speech. */
const TRANSCRIPTION_MS = 5 * 60_000;
/** For a sentence. */
const SPEECH_MS = 60_000;
/** Services without voices of several names ignore it. */
const DEFAULT_VOICE = "alloy";

export interface Spoken {
  readonly mediaType: string;
  readonly data: Buffer;
}

export type Transcribe = (recording: Recording, signal: AbortSignal) => Promise<string>;
export type Synthesize = (text: string, signal: AbortSignal) => Promise<Spoken>;

export function createTranscription(settings: string, route: AudioRoute): Transcribe {
  const api = createAudioApi(settings, route);
  return ({ name, mediaType, data }, signal) =>
    api.call({ deadlineMs: TRANSCRIPTION_MS, signal }, async (client, within) => {
      // The bytes are those of a request's body, which no other thread shares.
      const file = new File([data as Uint8Array<ArrayBuffer>], name, { type: mediaType });
      const answer: unknown = await client.audio.transcriptions.create(
        { file, model: route.model, response_format: "json" },
        { signal: within },
      );
      const text: unknown = Reflect.get(Object(answer), "text");
      if (typeof text !== "string") throw new UnexpectedAnswer("there is no `text` in it");
      return text.trim();
    });
}

export function createSpeech(settings: string, route: AudioRoute): Synthesize {
  const api = createAudioApi(settings, route);
  return (text, signal) =>
    api.call({ deadlineMs: SPEECH_MS, signal }, async (client, within) => {
      const answer = await client.audio.speech.create(
        { input: text, model: route.model, voice: route.voice ?? DEFAULT_VOICE, response_format: "mp3" },
        { signal: within },
      );
      const type = (answer.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
      if (/^(?:text\/|application\/json)/.test(type)) {
        await answer.body?.cancel();
        throw new UnexpectedAnswer(`it is ${type}, and no audio`);
      }
      const data = Buffer.from(await answer.arrayBuffer());
      if (data.length === 0) throw new UnexpectedAnswer("it is empty");
      return { mediaType: type.startsWith("audio/") ? type : "audio/mpeg", data };
    });
}
