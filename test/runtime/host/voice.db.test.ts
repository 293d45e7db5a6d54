/** Talking to a real node over HTTP, with the audio services' fake: what is said is a message, and the reply is spoken. */

import { once } from "node:events";
import { request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Database } from "../../../runtime/contracts/database.ts";
import { startAudioFake } from "../../fakes/audio/index.ts";
import { recordingOf } from "../../fakes/audio/recordings.ts";
import { startOpenAiFake } from "../../fakes/openai/index.ts";
import { composedNode } from "../../support/composed-node.ts";
import { eventually } from "../../support/eventually.ts";
import { OWNER_TOKEN } from "../../support/started-host.ts";
import { allEvents, eventsOf, formOf, spokenIn, talk } from "../../support/talking.ts";

const STORES: Database["backend"][] = process.env["CAIRN_TEST_PG_URL"] ? ["embedded", "postgres"] : ["embedded"];
/** Speech that nobody ends is ended by its own deadline, after a minute. */
const BEFORE_DEADLINE = { timeout: 50_000 };
const KEY = "sk-audio-0123456789";

async function talkingNode(
  store: Database["backend"],
  settings: { readonly key?: string; readonly more?: object } = {},
) {
  const model = await startOpenAiFake();
  onTestFinished(() => model.close());
  const audio = await startAudioFake({ apiKey: KEY });
  onTestFinished(() => audio.close());
  const { key = KEY, more = {} } = settings;
  const route = { base_url: audio.baseUrl, api_key: key };
  const node = await composedNode({
    store,
    config: {
      providers: { fake: { kind: "openai-compatible", base_url: model.baseUrl, api_key: "key", model: "m" } },
      agents: { main: { provider: "fake" } },
      channels: {
        voice: {
          transcription: { ...route, model: "whisper-1" },
          speech: { ...route, model: "tts-1", voice: "nova" },
          ...more,
        },
      },
    },
  });
  const channel = async () => {
    const { body } = await node.call("/health");
    return JSON.parse(JSON.stringify(body.result))["channels"]["voice"];
  };
  return { ...node, model, audio, channel };
}

const errorOf = async (response: Response) => ({
  status: response.status,
  ...(JSON.parse(await response.text()) as { error: { code: string; message: string; hint?: string } }).error,
});

describe.each(STORES)("talking to an agent (%s)", (store) => {
  test("a recording is a message; its words, the turn and the speech come back in order", async () => {
    const { url, audio, model, channel } = await talkingNode(store);
    const said = "@say Good morning, Ada. The kettle is on! See [the list](https://example.org/a.b) for more.";
    const response = await talk(url, said);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const turnId = response.headers.get("x-turn-id");
    const events = await allEvents(response);
    expect(events[0]).toEqual({ type: "voice.transcript", turn_id: turnId, text: said });
    expect(events[1]).toMatchObject({ type: "turn.started", turn_id: turnId, session: "s", agent: "main" });
    expect(events.at(-1)).toMatchObject({ type: "turn.finished", turn_id: turnId, text: said.slice(5) });
    const words = events.flatMap(({ type, text }) => (type === "text.delta" ? [text] : [])).join("");
    expect(words).toBe(said.slice(5));

    const sentences = ["Good morning, Ada.", "The kettle is on!", "See the list for more."];
    expect(spokenIn(events)).toEqual(sentences);
    expect(events.filter(({ type }) => type === "voice.audio")).toEqual(
      sentences.map((text, index) => ({
        type: "voice.audio",
        turn_id: turnId,
        index,
        media_type: "audio/mpeg",
        text,
        data: Buffer.from(`ID3${text}`).toString("base64"),
      })),
    );
    expect(audio.of("transcriptions")).toMatchObject([
      { model: "whisper-1", file: { name: "memo.wav", type: "audio/wav" } },
    ]);
    expect(model.requests).toHaveLength(1);
    expect(await channel()).toEqual({ platform: "voice", state: "up", reason: null });
  });

  test("a first sentence is spoken while the agent still writes", async () => {
    const { url, model } = await talkingNode(store);
    const said = "@say The first one is complete. The second one is not";
    const response = await talk(url, `@hold gate 10\n${said}`);
    let first: string | null = null;
    const types: string[] = [];
    for await (const { type, text } of eventsOf(response)) {
      types.push(type);
      if (type !== "voice.audio" || first !== null) continue;
      first = String(text);
      model.release("gate");
    }
    expect(first).toBe("The first one is complete.");
    expect(types.indexOf("voice.audio")).toBeLessThan(types.lastIndexOf("text.delta"));
  });

  test("what begins with a slash is said to the agent, and is no command", async () => {
    const { url, model } = await talkingNode(store);
    const events = await allEvents(await talk(url, "/stop"));
    expect(events.at(-1)).toMatchObject({ type: "turn.finished", text: "echo: /stop" });
    expect(model.requests).toHaveLength(1);
  });

  test("a session goes on, and a token has its own", async () => {
    const { url, model, token } = await talkingNode(store);
    await allEvents(await talk(url, "my number is seven"));
    await allEvents(await talk(url, "and what is it?"));
    expect(JSON.stringify(model.requests[1]?.body)).toContain("my number is seven");
    const { token: program } = await token("phone", "agent");
    const response = await talk(url, "who is there?", { token: program });
    await allEvents(response);
    expect(JSON.stringify(model.requests[2]?.body)).not.toContain("my number is seven");
    // Its turn is its own to follow, by the route of all turns.
    const turn = `${url}/api/agents/main/turns/${response.headers.get("x-turn-id")}`;
    const follow = (bearer: string) => fetch(turn, { headers: { authorization: `Bearer ${bearer}` } });
    expect((await follow(program)).status).toBe(200);
    const { token: other } = await token("other", "agent");
    expect((await follow(other)).status).toBe(404);
    const { token: reader } = await token("reader", "memory");
    expect((await talk(url, "hello", { token: reader })).status).toBe(403);
    expect((await talk(url, "hello", { token: "wrong-token-that-is-long-enough" })).status).toBe(401);
  });

  test("a repeat under its key is the same turn, and costs no second transcription; another recording is refused", async () => {
    const { url, audio, model } = await talkingNode(store);
    const first = await talk(url, "only once", { key: "k" });
    const events = await allEvents(first);
    const again = await talk(url, "only once", { key: "k" });
    expect(again.headers.get("x-turn-id")).toBe(first.headers.get("x-turn-id"));
    const repeated = await allEvents(again);
    expect(repeated[0]).toEqual(events[0]);
    expect(spokenIn(repeated)).toEqual(["echo: only once"]);
    expect(audio.of("transcriptions")).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
    expect(await errorOf(await talk(url, "another", { key: "k" }))).toMatchObject({
      status: 409,
      code: "RUNTIME_CONFLICT",
    });
  });

  test("a repeat while the recording is transcribed waits for that transcription", async () => {
    const { url, audio, model } = await talkingNode(store);
    audio.setFault(({ route }) => (route === "transcriptions" ? { kind: "hold" } : undefined));
    const both = [talk(url, "hello there", { key: "k" }), talk(url, "hello there", { key: "k" })];
    await eventually(async () => expect(audio.of("transcriptions")).toHaveLength(1));
    audio.release();
    const turns = (await Promise.all(both)).map((response) => response.headers.get("x-turn-id"));
    expect(new Set(turns).size).toBe(1);
    expect(audio.of("transcriptions")).toHaveLength(1);
    await eventually(async () => expect(model.requests).toHaveLength(1));
  });

  test("a recording is kept only where the configuration says so", async () => {
    const { url, model } = await talkingNode(store, { more: { keep_audio: true } });
    await allEvents(await talk(url, "keep this"));
    const size = recordingOf("keep this").length;
    expect(JSON.stringify(model.requests[0]?.body)).toContain(`[attachment memo.wav, audio/wav, ${size} bytes]`);
    const plain = await talkingNode(store);
    await allEvents(await talk(plain.url, "do not keep this"));
    expect(JSON.stringify(plain.model.requests[0]?.body)).not.toContain("attachment");
  });

  test("a client that goes away ends the speech, and never the turn", BEFORE_DEADLINE, async () => {
    const { url, audio, model, call } = await talkingNode(store);
    audio.setFault(({ route }) => (route === "speech" ? { kind: "hold" } : undefined));
    const gone = new AbortController();
    const response = await talk(url, "@hold gate 10\n@say The first one is complete. The second one is not", {
      signal: gone.signal,
    });
    const turnId = response.headers.get("x-turn-id");
    await eventually(async () => expect(audio.of("speech")).toHaveLength(1));
    gone.abort();
    await eventually(async () => expect(audio.of("speech")[0]?.state).toBe("closed"));
    model.release("gate");
    await eventually(async () => {
      const { body } = await call(`/api/agents/main/turns/${turnId}`);
      expect(body.result.text).toBe("The first one is complete. The second one is not");
    });
    expect(audio.of("speech")).toHaveLength(1);
  });

  test("without its speech service the text arrives, and the answer says once that it was not spoken", async () => {
    const { url, audio, channel } = await talkingNode(store);
    audio.setFault(({ route }) =>
      route === "speech" ? { kind: "status", status: 400, message: "Out of voices." } : undefined,
    );
    const said = "@say This is the first one. This is the second one. This is the third one.";
    const events = await allEvents(await talk(url, said));
    expect(events.filter(({ type }) => type === "voice.failed")).toMatchObject([
      { error: { code: "PROVIDER_REJECTED_REQUEST", message: expect.stringContaining("Out of voices.") } },
    ]);
    expect(spokenIn(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: "turn.finished", text: said.slice(5) });
    expect(await channel()).toMatchObject({
      state: "degraded",
      reason: expect.stringContaining("channels.voice.speech"),
    });
    audio.setFault(() => undefined);
    expect(spokenIn(await allEvents(await talk(url, "better now?")))).toEqual(["echo: better now?"]);
    expect(await channel()).toMatchObject({ state: "up" });
  });

  test("what is no recording, says nothing or is too large makes no turn", async () => {
    const { url, audio, model } = await talkingNode(store);
    const refused = async (words: string, file?: File) => {
      const { status, code } = await errorOf(await talk(url, words, file === undefined ? {} : { file }));
      return [status, code];
    };
    const file = (data: Buffer<ArrayBuffer>, name: string, type: string) => new File([data], name, { type });
    expect(await refused("")).toEqual([422, "CHANNEL_NOTHING_SAID"]);
    expect(await refused("", file(Buffer.alloc(0), "a.wav", "audio/wav"))).toEqual([400, "RUNTIME_INVALID_REQUEST"]);
    expect(await refused("", file(Buffer.from("GIF89a"), "a.gif", "image/gif"))).toEqual([
      415,
      "RUNTIME_UNSUPPORTED_MEDIA_TYPE",
    ]);
    expect(await refused("", file(Buffer.from("no audio"), "a.wav", "audio/wav"))).toEqual([
      415,
      "RUNTIME_UNSUPPORTED_MEDIA_TYPE",
    ]);
    expect(await refused("", file(Buffer.alloc(25 * 1024 * 1024 + 1), "a.wav", "audio/wav"))).toEqual([
      413,
      "RUNTIME_BODY_TOO_LARGE",
    ]);
    expect(audio.of("transcriptions")).toHaveLength(1);
    expect(model.requests).toHaveLength(0);
    expect((await talk(url, "hello", { agent: "nobody" })).status).toBe(404);
  });

  test("a key that is refused is said to be, and is in nothing that the node says", async () => {
    const { url, call } = await talkingNode(store, { key: "sk-wrong-0123456789" });
    const error = await errorOf(await talk(url, "hello"));
    expect(error).toMatchObject({
      status: 502,
      code: "PROVIDER_UNAUTHORIZED",
      hint: "Check the API key of channels.voice.transcription.",
    });
    const { body } = await call("/health");
    expect(JSON.stringify([error, body])).not.toContain("sk-wrong");
    expect(JSON.stringify(body)).toContain("the API key was refused");
  });

  test("a service that asks for a pause, answers no JSON, or is not there", async () => {
    const { url, audio } = await talkingNode(store);
    audio.setFault(() => ({ kind: "status", status: 429, headers: { "retry-after": "30" } }));
    const busy = await talk(url, "hello");
    expect(busy.headers.get("retry-after")).toBe("30");
    expect(await errorOf(busy)).toMatchObject({ status: 503, code: "PROVIDER_RATE_LIMITED" });
    expect(audio.requests).toHaveLength(1);
    audio.setFault(() => ({ kind: "garbage" }));
    expect(await errorOf(await talk(url, "hello"))).toMatchObject({ status: 502, code: "PROVIDER_BAD_RESPONSE" });
    await audio.close();
    expect(await errorOf(await talk(url, "hello"))).toMatchObject({ status: 502, code: "PROVIDER_UNREACHABLE" });
  });

  test("the audio itself may be the body, with its session in the query", async () => {
    const { url, audio } = await talkingNode(store);
    const post = (query: string, type: string, body: Buffer<ArrayBuffer> | string = recordingOf("plain")) =>
      fetch(`${url}/api/agents/main/voice${query}`, {
        method: "POST",
        headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": type },
        body,
      });
    const events = await allEvents(await post("?session=s", "audio/wav"));
    expect(events[0]).toMatchObject({ type: "voice.transcript", text: "plain" });
    expect(audio.of("transcriptions")[0]?.file?.name).toBe("recording.wav");
    expect((await post("", "audio/wav")).status).toBe(400);
    expect((await post("?session=s", "application/json", "{}")).status).toBe(415);
    expect((await post("?session=s", "multipart/form-data; boundary=x", "--x\r\n")).status).toBe(400);
    const form = formOf("hello");
    form.set("model", "whisper-1");
    const large = formOf("hello");
    for (let n = 0; n < 20; n++) large.append("more", "x");
    const headers = { authorization: `Bearer ${OWNER_TOKEN}` };
    const surplus = await fetch(`${url}/api/agents/main/voice`, { method: "POST", headers, body: form });
    expect(await errorOf(surplus)).toMatchObject({ status: 400, message: expect.stringContaining("model") });
    const many = await fetch(`${url}/api/agents/main/voice`, { method: "POST", headers, body: large });
    expect(await errorOf(many)).toMatchObject({ status: 400, message: expect.stringContaining("at most 10 parts") });
    // No parameter may hide the boundary that the parts are read by.
    const parts = "--x\r\ncontent-disposition: form-data; name=a\r\n\r\n1\r\n".repeat(20);
    for (const type of [
      'multipart/form-data; a="; boundary=y"; boundary=x',
      "multipart/form-data; boundary=x; boundary=y",
      "multipart/form-data; Boundary =x",
      "multipart/form-data",
    ]) {
      const hidden = await errorOf(await post("", type, `${parts}--x--\r\n`));
      expect(hidden, type).toMatchObject({ status: 400, message: expect.stringContaining("not a form") });
    }
  });
});

test("two gigabytes are refused without being read, and what says nothing of its length at 25 MiB", async () => {
  const { url, audio } = await talkingNode("embedded");
  const headers = { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "audio/wav" };
  /** The status, and how many megabytes were sent until it came. */
  const upload = async (more: Readonly<Record<string, string>>, most: number) => {
    const sending = request(`${url}/api/agents/main/voice?session=s`, {
      method: "POST",
      headers: { ...headers, ...more },
    });
    const answered = once(sending, "response");
    answered.catch(() => undefined);
    // The node closes the connection in the end.
    sending.on("error", () => undefined);
    let status = 0;
    answered.then(([response]) => {
      status = response.statusCode;
      response.resume();
    });
    const megabyte = Buffer.alloc(1024 * 1024);
    let sent = 0;
    for (; sent < most && status === 0; sent++) {
      await new Promise((resolve) => sending.write(megabyte, resolve));
    }
    await answered;
    sending.destroy();
    return { status, sent };
  };
  const declared = await upload({ "content-length": String(2 ** 31) }, 2 ** 11);
  expect(declared.status).toBe(413);
  expect(declared.sent).toBeLessThan(2 ** 10);
  const chunked = await upload({ "transfer-encoding": "chunked" }, 2 ** 11);
  expect(chunked.status).toBe(413);
  expect(chunked.sent).toBeLessThan(2 ** 10);
  expect(audio.requests).toEqual([]);
});

test("a node without such a channel says what to do", async () => {
  const { url } = await composedNode({
    store: "embedded",
    config: { providers: { offline: {} }, agents: { main: { provider: "offline" } } },
  });
  expect(await errorOf(await talk(url, "hello"))).toMatchObject({
    status: 404,
    hint: expect.stringContaining("kind voice"),
  });
});
