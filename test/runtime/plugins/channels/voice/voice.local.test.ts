import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import type { InboundMessage } from "../../../../../runtime/contracts/channel.ts";
import { RuntimeError } from "../../../../../runtime/contracts/errors.ts";
import { NO_USAGE } from "../../../../../runtime/contracts/message.ts";
import type { NumberedEvent, StreamEvent } from "../../../../../runtime/contracts/stream.ts";
import type { SpokenEvent, Voice, VoicePost } from "../../../../../runtime/contracts/voice.ts";
import { createVoiceChannel } from "../../../../../runtime/plugins/channels/voice/index.ts";
import { type ChannelHarness, channelConformance } from "../../../../../runtime/testing/channel/index.ts";
import { type AudioFake, startAudioFake } from "../../../../fakes/audio/index.ts";
import { recordingOf } from "../../../../fakes/audio/recordings.ts";
import { eventually } from "../../../../support/eventually.ts";
import { quietLogger } from "../../../../support/quiet-logger.ts";

const never = new AbortController().signal;
const turn = { turn_id: "t" };
const started = (attempt = 1): StreamEvent => ({ type: "turn.started", ...turn, session: "s", agent: "main", attempt });
const delta = (text: string): StreamEvent => ({ type: "text.delta", ...turn, text });
const finished = (text: string): StreamEvent => ({
  type: "turn.finished",
  ...turn,
  session: "s",
  text,
  usage: NO_USAGE,
  interrupted: false,
});

/** A request that nobody ends is ended by its own deadline, after a minute. */
const BEFORE_DEADLINE = { timeout: 30_000 };
let ids = 0;
const KEY = "sk-secret-0123456789";
const fakes: AudioFake[] = [];
afterEach(async () => {
  for (const fake of fakes.splice(0)) await fake.close();
});

async function audioFake(): Promise<AudioFake> {
  const fake = await startAudioFake();
  fakes.push(fake);
  return fake;
}

function channelOver(fake: Pick<AudioFake, "baseUrl">) {
  const route = { baseUrl: fake.baseUrl, apiKey: KEY };
  const channel = createVoiceChannel({
    id: "voice",
    token: "",
    ownerId: undefined,
    baseUrl: undefined,
    audio: { transcription: { ...route, model: "whisper-1" }, speech: { ...route, model: "tts-1" }, keep: false },
    newId: () => `id-${++ids}`,
    logger: quietLogger,
  });
  const accepted: InboundMessage[] = [];
  channel.onMessage(async (message) => {
    accepted.push(message);
    return { turnId: "t", agent: message.agent, fresh: true };
  });
  channel.onRepeat?.(async () => null);
  if (channel.voice === undefined) throw new Error("It takes no recordings.");
  return { channel, voice: channel.voice, accepted };
}

async function talking() {
  const fake = await audioFake();
  const made = channelOver(fake);
  await made.channel.start();
  onTestFinished(() => made.channel.stop());
  return { ...made, fake };
}

const post = (words: string, more: Partial<VoicePost> = {}): VoicePost => ({
  agent: "main",
  session: "s",
  recording: { name: "a.wav", mediaType: "audio/wav", data: recordingOf(words) },
  caller: { id: "owner", owner: true },
  ...more,
});

async function* numbered(...events: readonly StreamEvent[]): AsyncGenerator<NumberedEvent> {
  for (const [index, event] of events.entries()) yield { id: index + 1, event };
}

/** Of speech its text, of the rest its type. */
async function spoken(voice: Voice, ...events: readonly StreamEvent[]): Promise<string[]> {
  const all: string[] = [];
  for await (const { event } of voice.speak(numbered(...events), never)) all.push(shown(event));
  return all;
}

function shown(event: SpokenEvent["event"]): string {
  if (event.type === "voice.audio") return event.text;
  return event.type === "voice.failed" ? event.error.code : event.type;
}

const audioOnly = (all: readonly string[]) => all.filter((one) => !/^(?:turn|text|tool)\./.test(one));

describe("the voice channel", () => {
  describe("keeps the contract of channels", () => {
    const harness: ChannelHarness = {
      lacks: ["platform", "receiver", "edit", "drafts", "reactions", "strangers", "commands"],
      async open() {
        const fake = await startAudioFake();
        const { channel, voice } = channelOver(fake);
        return {
          channel,
          conversation: "s",
          secret: KEY,
          async deliver({ text, key }) {
            await voice.hear(post(text, { idempotencyKey: key }));
          },
          close: () => fake.close(),
        };
      },
    };
    for (const check of channelConformance(harness)) test(check.name, check.run);
  });

  test("refuses recordings before it has started, after it has stopped, and those that it has when it stops", async () => {
    const { channel, voice, accepted } = channelOver(await audioFake());
    await expect(voice.hear(post("hello"))).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
    await channel.stop();
    await expect(voice.hear(post("hello"))).rejects.toMatchObject({ code: "RUNTIME_DRAINING" });
    const other = await talking();
    other.fake.setFault(() => ({ kind: "hold" }));
    const hearing = other.voice.hear(post("hello"));
    hearing.catch(() => undefined);
    await eventually(() => expect(other.fake.requests).toHaveLength(1));
    await other.channel.stop();
    await expect(hearing).rejects.toMatchObject({ code: "RUNTIME_DRAINING" });
    await eventually(() => expect(other.fake.requests[0]?.state).toBe("closed"));
    expect([...accepted, ...other.accepted]).toEqual([]);
  });

  test("a message is its sender's, and known by its recording", async () => {
    const { voice, accepted } = await talking();
    await voice.hear(post("hello", { caller: { id: "7", owner: false }, user: "ada", idempotencyKey: "k" }));
    expect(accepted).toEqual([
      {
        address: { channel: "voice", conversation: "s", user: "token:7/ada" },
        agent: "main",
        externalId: "token%3A7%2Fada:k",
        fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
        text: "hello",
        owner: false,
      },
    ]);
  });
});

describe("speech", () => {
  test("keeps its order, and is requested two sentences ahead at most", async () => {
    const { voice, fake } = await talking();
    fake.setFault(({ text }) => (text.startsWith("Number 1") ? { kind: "hold" } : undefined));
    const text = Array.from({ length: 5 }, (_, n) => `Number ${n + 1} is this sentence. `).join("");
    const events = voice.speak(numbered(started(), delta(text), finished(text)), never)[Symbol.asyncIterator]();
    const next = async () => {
      const step = await events.next();
      return step.done ? null : shown(step.value.event);
    };
    expect([await next(), await next()]).toEqual(["turn.started", "text.delta"]);
    const first = next();
    await eventually(() => expect(fake.requests.map(({ state }) => state)).toEqual(["open", "answered"]));
    fake.release();
    expect(await first).toBe("Number 1 is this sentence.");
    await eventually(() => expect(fake.requests).toHaveLength(3));
    // What was not taken holds the rest back.
    await eventually(() =>
      expect(fake.requests.map(({ state }) => state)).toEqual(["answered", "answered", "answered"]),
    );
    expect(fake.requests).toHaveLength(3);
    const rest: (string | null)[] = [];
    for (let one = await next(); one !== null; one = await next()) rest.push(one);
    expect(rest).toEqual([2, 3, 4, 5].map((n) => `Number ${n} is this sentence.`).concat("turn.finished"));
  });

  test("does not repeat what a turn that begins anew had said", async () => {
    const { voice } = await talking();
    const again = "The first one was said. Another one is said.";
    const all = await spoken(
      voice,
      started(),
      delta("The first one was said. The second"),
      started(2),
      delta(again),
      finished(again),
    );
    expect(audioOnly(all)).toEqual(["The first one was said.", "Another one is said."]);
  });

  test("is made of a turn's text where nothing else of it is there, and of its questions", async () => {
    const { voice } = await talking();
    expect(await spoken(voice, finished("It was said long ago."))).toEqual(["It was said long ago.", "turn.finished"]);
    const question = { id: "q", text: "Shall I really do it?", choices: ["yes"], expires_at: "2030-01-01T00:00:00Z" };
    const all = await spoken(
      voice,
      started(),
      delta("I could do that"),
      { type: "turn.waiting", ...turn, session: "s", question },
      started(2),
      delta("It is done now."),
      finished("It is done now."),
    );
    expect(audioOnly(all)).toEqual(["I could do that", "Shall I really do it?", "It is done now."]);
  });

  test("says what came of a turn that went on elsewhere, and was followed in part", async () => {
    const { voice } = await talking();
    const all = await spoken(
      voice,
      started(),
      delta("The first one is said. The sec"),
      finished("The first one is said. The second one is new."),
    );
    expect(audioOnly(all)).toEqual(["The first one is said.", "The second one is new."]);
  });

  test("lets go of the turn's events, at their end and when nobody takes more", async () => {
    const { voice } = await talking();
    let open = 0;
    async function* followed() {
      open++;
      try {
        yield* numbered(started(), delta("One is said now. "), finished("One is said now."));
      } finally {
        open--;
      }
    }
    for await (const _ of voice.speak(followed(), never));
    await eventually(() => expect(open).toBe(0));
    for await (const { event } of voice.speak(followed(), never)) if (event.type === "voice.audio") break;
    await eventually(() => expect(open).toBe(0));
  });

  test("comes before the end of a turn that fails", async () => {
    const { voice } = await talking();
    const error = new RuntimeError("RUNTIME_TURN_ABORTED", "stopped").toBody();
    const all = await spoken(voice, started(), delta("Half of what"), {
      type: "turn.failed",
      ...turn,
      session: "s",
      error,
    });
    expect(all).toEqual(["turn.started", "text.delta", "Half of what", "turn.failed"]);
  });

  test.each([
    ["cut", "PROVIDER_STREAM_TRUNCATED"],
    ["garbage", "PROVIDER_BAD_RESPONSE"],
    ["endless", "PROVIDER_BAD_RESPONSE"],
  ] as const)("whose answer is %s is given up once, with its reason", async (kind, code) => {
    const { voice, fake, channel } = await talking();
    fake.setFault(() => ({ kind }));
    const text = "The first one is this. The second one is that. The third one is it.";
    const all = await spoken(voice, started(), delta(text), finished(text));
    expect(audioOnly(all)).toEqual([code]);
    expect(all.at(-1)).toBe("turn.finished");
    expect(channel.state?.()).toMatchObject({
      state: "degraded",
      reason: expect.stringContaining("channels.voice.speech"),
    });
    await eventually(() => expect(fake.requests.filter(({ state }) => state === "open")).toEqual([]));
  });

  test("never takes its key to where it is redirected", async () => {
    const { voice, fake } = await talking();
    const other = await audioFake();
    const location = `${other.baseUrl}/audio/speech`;
    fake.setFault(() => ({ kind: "status", status: 307, headers: { location } }));
    const all = await spoken(voice, started(), delta("Say it there."), finished("Say it there."));
    expect(audioOnly(all)).toEqual(["PROVIDER_BAD_RESPONSE"]);
    expect(other.requests).toEqual([]);
  });

  test("ends with the signal, and takes its requests along", BEFORE_DEADLINE, async () => {
    const { voice, fake } = await talking();
    fake.setFault(() => ({ kind: "hold" }));
    const gone = new AbortController();
    const speaking = (async () => {
      for await (const _ of voice.speak(
        numbered(started(), delta("One is said now. "), finished("One.")),
        gone.signal,
      ));
    })();
    speaking.catch(() => undefined);
    await eventually(() => expect(fake.requests).toHaveLength(1));
    gone.abort();
    await expect(speaking).rejects.toBe(gone.signal.reason);
    await eventually(() => expect(fake.requests[0]?.state).toBe("closed"));
  });
});
