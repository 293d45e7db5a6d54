/** Talking to a real node by the client, with the audio services' fake. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createClient, type StreamEvent, type VoiceEvent } from "../../../runtime/client/index.ts";
import { startAudioFake } from "../../fakes/audio/index.ts";
import { recordingOf } from "../../fakes/audio/recordings.ts";
import { startOpenAiFake } from "../../fakes/openai/index.ts";
import { composedNode } from "../../support/composed-node.ts";
import { eventually } from "../../support/eventually.ts";
import { OWNER_TOKEN } from "../../support/started-host.ts";

const TYPE = { type: "audio/wav" };
const recorded = (words: string) => ({ session: "kitchen", recording: new Blob([recordingOf(words)], TYPE) });

async function talkingNode() {
  const model = await startOpenAiFake();
  onTestFinished(() => model.close());
  const audio = await startAudioFake();
  onTestFinished(() => audio.close());
  const route = { base_url: audio.baseUrl, api_key: "key" };
  const node = await composedNode({
    store: "embedded",
    config: {
      providers: { fake: { kind: "openai-compatible", base_url: model.baseUrl, api_key: "key", model: "m" } },
      agents: { main: { provider: "fake" } },
      channels: { voice: { transcription: { ...route, model: "whisper-1" }, speech: { ...route, model: "tts-1" } } },
    },
  });
  return { model, audio, url: node.url, client: createClient({ baseUrl: node.url, token: OWNER_TOKEN }) };
}

async function collect(events: AsyncIterable<StreamEvent | VoiceEvent>) {
  const all: (StreamEvent | VoiceEvent)[] = [];
  for await (const event of events) all.push(event);
  return all;
}

test("the words that were heard, those of the answer, and its speech come as events, the turn's last one last", async () => {
  const { client, audio } = await talkingNode();
  const said = "@say The kettle is on. Tea comes next.";
  const options = { idempotencyKey: "k" };
  const events = await collect(client.talk("main", { ...recorded(said), user: "ada" }, options));
  expect(events[0]).toMatchObject({ type: "voice.transcript", text: said });
  expect(events.flatMap((event) => (event.type === "text.delta" ? [event.text] : [])).join("")).toBe(said.slice(5));
  const speech = events.flatMap((event) => (event.type === "voice.audio" ? [event] : []));
  expect(speech.map(({ text }) => text)).toEqual(["The kettle is on.", "Tea comes next."]);
  expect(speech.map(({ data }) => Buffer.from(data, "base64").toString())).toEqual([
    "ID3The kettle is on.",
    "ID3Tea comes next.",
  ]);
  expect(events.at(-1)).toMatchObject({ type: "turn.finished", session: "kitchen", text: said.slice(5) });

  const again = await collect(client.talk("main", { ...recorded(said), user: "ada" }, options));
  expect(again.at(-1)).toEqual(events.at(-1));
  expect(audio.of("transcriptions")).toHaveLength(1);
});

test("errors before the turn are the node's, and one of the speech is an event", async () => {
  const { client, audio, url } = await talkingNode();
  await expect(collect(client.talk("main", recorded("")))).rejects.toMatchObject({ code: "CHANNEL_NOTHING_SAID" });
  await expect(collect(client.talk("nobody", recorded("hello")))).rejects.toMatchObject({
    code: "RUNTIME_AGENT_UNKNOWN",
  });
  const untyped = { session: "kitchen", recording: new Blob(["hello"]) };
  await expect(collect(client.talk("main", untyped))).rejects.toMatchObject({ code: "RUNTIME_UNSUPPORTED_MEDIA_TYPE" });
  const stranger = createClient({ baseUrl: url, token: "cairn_nobody" });
  await expect(collect(stranger.talk("main", recorded("hello")))).rejects.toMatchObject({
    code: "RUNTIME_UNAUTHORIZED",
  });

  audio.setFault(({ route }) => (route === "speech" ? { kind: "status", status: 400 } : undefined));
  const events = await collect(client.talk("main", recorded("@say The kettle is on.")));
  expect(events.filter(({ type }) => type.startsWith("voice.")).map(({ type }) => type)).toEqual([
    "voice.transcript",
    "voice.failed",
  ]);
  expect(events.at(-1)).toMatchObject({ type: "turn.finished", text: "The kettle is on." });
});

test("the signal ends the wait for the transcription, and later the speech; the turn goes on", async () => {
  const { client, audio, model } = await talkingNode();
  const reason = new Error("enough");
  const early = new AbortController();
  audio.setFault(({ route }) => (route === "transcriptions" ? { kind: "hold" } : undefined));
  const unheard = collect(client.talk("main", recorded("@say One."), { signal: early.signal }));
  unheard.catch(() => undefined);
  await eventually(() => expect(audio.of("transcriptions")).toHaveLength(1));
  early.abort(reason);
  await expect(unheard).rejects.toBe(reason);

  audio.setFault(() => undefined);
  const later = new AbortController();
  let turnId = "";
  const cut = (async () => {
    const words = recorded("@hold gate 10\n@say The first one is complete. The second one is not");
    for await (const event of client.talk("main", { ...words, session: "other" }, { signal: later.signal })) {
      turnId = event.turn_id;
      if (event.type === "voice.audio") later.abort(reason);
    }
  })();
  await expect(cut).rejects.toBe(reason);
  model.release("gate");
  await eventually(async () =>
    expect(await client.turn("main", turnId)).toMatchObject({ text: expect.stringContaining("The second one is not") }),
  );
});

test("a connection that breaks names the turn, whose text can be followed", async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream", "x-turn-id": "t-1" });
    const event = { type: "voice.transcript", turn_id: "t-1", text: "hello" };
    response.write(`event: voice.transcript\ndata: ${JSON.stringify(event)}\n\n`, () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const client = createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const seen: string[] = [];
  const broken = (async () => {
    for await (const { type } of client.talk("main", recorded("hello"))) seen.push(type);
  })();
  await expect(broken).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST", details: { turnId: "t-1" } });
  expect(seen).toEqual(["voice.transcript"]);
});

test("an answer that names no turn is read no further", async () => {
  let cancelled = 0;
  const body = new ReadableStream({ cancel: () => void cancelled++ });
  const client = createClient({ baseUrl: "http://127.0.0.1", fetch: async () => new Response(body) });
  await expect(collect(client.talk("main", recorded("hello")))).rejects.toMatchObject({ code: "RUNTIME_INTERNAL" });
  expect(cancelled).toBe(1);
});
