/**
 * Talking to agents: a recording becomes a message by its transcription, an ordinary one, and the reply is spoken sentence by
 * sentence. Like the HTTP channel it has no platform to send to: a reply waits with its turn until the client fetches it.
 */

import { createHash } from "node:crypto";
import type { Channel, ChannelState, MessageHandler, RepeatHandler } from "../../../contracts/channel.ts";
import { ChannelError, ConfigError, ProviderError, RuntimeError } from "../../../contracts/errors.ts";
import type { HeardMessage, Voice, VoicePost } from "../../../contracts/voice.ts";
import { recordingFile } from "../../../domain/recording.ts";
import type { ChannelNeeds } from "../manifest.ts";
import { addressOf, externalId } from "../shared/callers.ts";
import { speakTurn } from "./speaking.ts";
import { createSpeech, createTranscription, type Synthesize } from "./speech.ts";

export function createVoiceChannel({ id, ownerId, audio, newId }: ChannelNeeds): Channel {
  // Was checked when the configuration was read.
  if (audio === undefined) throw new ConfigError("CONFIG_INVALID", `channels.${id} has no audio routes.`);
  const { keep } = audio;
  const transcribe = createTranscription(`channels.${id}.transcription`, audio.transcription);
  const synthesize = createSpeech(`channels.${id}.speech`, audio.speech);
  const stopping = new AbortController();
  let started = false;
  let onMessage: MessageHandler | undefined;
  let onRepeat: RepeatHandler | undefined;
  /** What failed last on each route, until it works again. */
  const failures = new Map<"transcription" | "speech", string>();
  /** Recordings that are transcribed now: a client that repeats its request does not pay for a second time. */
  const hearing = new Map<string, Promise<HeardMessage>>();

  async function noted<Result>(route: "transcription" | "speech", call: Promise<Result>): Promise<Result> {
    try {
      const result = await call;
      failures.delete(route);
      return result;
    } catch (error) {
      if (error instanceof ProviderError) failures.set(route, error.message);
      throw error;
    }
  }

  const say: Synthesize = (text, signal) => noted("speech", synthesize(text, signal));

  async function hear(post: VoicePost): Promise<HeardMessage> {
    if (stopping.signal.aborted) throw new RuntimeError("RUNTIME_DRAINING", "This node accepts no new messages.");
    if (!started || !onMessage || !onRepeat)
      throw new RuntimeError("RUNTIME_NOT_READY", "This node is still starting.");
    const { agent, recording, idempotencyKey = newId() } = post;
    const { data } = recording;
    const file = recordingFile(recording);
    if (data.length === 0) throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The recording is empty.");
    const { owner, address } = addressOf({ id, ownerId }, post);
    const fingerprint = createHash("sha256").update(data).digest("hex");
    const identity = { address, agent, externalId: externalId(address, idempotencyKey), fingerprint };
    const accept = onMessage;
    const find = onRepeat;
    const hearOnce = async (): Promise<HeardMessage> => {
      const earlier = post.idempotencyKey === undefined ? null : await find(identity);
      if (earlier) return { turnId: earlier.turnId, transcript: earlier.text };
      const text = await noted("transcription", transcribe({ ...file, data }, stopping.signal));
      if (text === "") throw new ChannelError("CHANNEL_NOTHING_SAID", "There are no words in the recording.");
      const kept = { ...file, data: Buffer.from(data).toString("base64") };
      const message = { ...identity, text, owner, ...(keep ? { attachments: [kept] } : {}) };
      const { turnId, fresh } = await accept(message);
      // Another node was faster: what it understood is what the agent was told.
      const accepted = fresh ? null : await find(identity);
      return { turnId, transcript: accepted?.text ?? text };
    };
    const key = JSON.stringify(identity);
    const running = hearing.get(key) ?? hearOnce().finally(() => hearing.delete(key));
    hearing.set(key, running);
    try {
      return await running;
    } catch (error) {
      if (stopping.signal.aborted && error === stopping.signal.reason) {
        throw new RuntimeError("RUNTIME_DRAINING", "This node accepts no new messages.", { retryAfterS: 5 });
      }
      throw error;
    }
  }

  function state(): ChannelState {
    if (stopping.signal.aborted) return { state: "down", reason: "the node is stopping" };
    if (!started) return { state: "connecting", reason: "the node is starting" };
    const reason = [...failures.values()].join(" ");
    return reason === "" ? { state: "up", reason: null } : { state: "degraded", reason };
  }

  const voice: Voice = { hear, speak: (events, signal) => speakTurn(events, say, signal) };
  return {
    id,
    platform: "voice",
    voice,
    async start() {
      started = true;
    },
    async stop() {
      stopping.abort();
    },
    state,
    async send() {
      return null;
    },
    onMessage(handler) {
      onMessage = handler;
    },
    onCommand() {
      // What is said is a message, also where it begins with a slash.
    },
    onRepeat(handler) {
      onRepeat = handler;
    },
  };
}
