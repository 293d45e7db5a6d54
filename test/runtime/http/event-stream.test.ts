import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../../runtime/contracts/stream.ts";
import { formatFrame } from "../../../runtime/http/event-stream.ts";
import { OWNER_TOKEN } from "../../support/fake-application.ts";
import { listening, OWNER, startServer, type TestServer } from "../../support/http-server.ts";

const url = "/api/agents/main/messages";
const headers = { ...OWNER, accept: "text/event-stream" };

function parse(text: string): EventSourceMessage[] {
  const messages: EventSourceMessage[] = [];
  createParser({ onEvent: (message) => messages.push(message) }).feed(text);
  return messages;
}

describe("framing", () => {
  test("brings any text through unchanged", () => {
    const anyText = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "grapheme" }),
      fc.stringMatching(/^[\r\n:\0 a]*$/),
    );
    fc.assert(
      fc.property(fc.nat(), anyText, anyText, (id, text, other) => {
        const event = { type: "text.delta", turn_id: "t", text } as const;
        const sent = formatFrame({ id, event: event.type, data: event }) + formatFrame({ data: [other] });
        const [first, second] = parse(sent);
        expect(first).toMatchObject({ id: String(id), event: "text.delta" });
        expect(JSON.parse(first?.data ?? "")).toEqual(event);
        expect(JSON.parse(second?.data ?? "")).toEqual([other]);
      }),
    );
  });

  test("survives being cut anywhere", () => {
    const text =
      formatFrame({ id: 1, event: "a", data: { text: "é🗿\n" } }) + formatFrame({ id: 2, event: "b", data: 2 });
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 5 }), (cuts) => {
        const messages: EventSourceMessage[] = [];
        const parser = createParser({ onEvent: (message) => messages.push(message) });
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        for (const [index, start] of at.entries()) parser.feed(text.slice(start, at[index + 1]));
        expect(messages.map(({ id }) => id)).toEqual(["1", "2"]);
      }),
    );
  });
});

describe("a message as an event stream", () => {
  test("starts with turn.started, ends with turn.finished, and its events are the turn's own", async () => {
    const { app, server } = startServer();
    app.script = async ({ turnId, say }) => {
      say({ type: "reasoning.delta", turn_id: turnId, text: "hm" });
      say({ type: "tool.started", turn_id: turnId, tool_call_id: "c", name: "shell", arguments: { command: "ls" } });
      say({ type: "tool.finished", turn_id: turnId, tool_call_id: "c", name: "shell", ok: true, result: "a\nb" });
      say({ type: "text.delta", turn_id: turnId, text: "Done.\r\n" });
      return { text: "Done.\r\n" };
    };
    const answer = await server.inject({ method: "POST", url, headers, payload: { session: "s", text: "go" } });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(answer.headers["x-turn-id"]).toBe("turn-1");
    expect(answer.headers["x-request-id"]).toBeTruthy();
    const messages = parse(answer.body);
    expect(messages.map(({ id, event }) => [id, event])).toEqual([
      ["1", "turn.started"],
      ["2", "reasoning.delta"],
      ["3", "tool.started"],
      ["4", "tool.finished"],
      ["5", "text.delta"],
      ["6", "turn.finished"],
    ]);
    const events = messages.map(({ data }) => JSON.parse(data) as StreamEvent);
    expect(events.map(({ type }) => type)).toEqual(messages.map(({ event }) => event));
    expect(events[0]).toMatchObject({ turn_id: "turn-1", session: "s", agent: "main", attempt: 1 });
    expect(events.at(-1)).toMatchObject({ turn_id: "turn-1", text: "Done.\r\n", interrupted: false });
  });

  test("that is refused is an ordinary error", async () => {
    const { server } = startServer();
    const answer = await server.inject({ method: "POST", url, headers, payload: { session: "", text: "go" } });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().ok).toBe(false);
  });

  test("of a turn that fails ends with turn.failed", async () => {
    const { app, server } = startServer();
    app.script = async () => {
      throw new RuntimeError("RUNTIME_TURN_TIMEOUT", "The turn took too long.");
    };
    const answer = await server.inject({ method: "POST", url, headers, payload: { session: "s", text: "go" } });
    expect(JSON.parse(parse(answer.body).at(-1)?.data ?? "")).toMatchObject({
      type: "turn.failed",
      turn_id: "turn-1",
      error: { code: "RUNTIME_TURN_TIMEOUT" },
    });
  });
});

describe("coming back to a turn", () => {
  test("brings the events after Last-Event-ID", async () => {
    const { server } = startServer();
    await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "one two" } });
    const follow = async (lastEventId?: string) => {
      const given = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
      return server.inject({ url: "/api/agents/main/turns/turn-1", headers: { ...headers, ...given } });
    };
    const all = parse((await follow()).body);
    expect(all.length).toBeGreaterThan(4);
    expect(parse((await follow("3")).body)).toEqual(all.slice(3));
    expect((await follow("three")).statusCode).toBe(400);
  });
});

describe("a live connection", () => {
  test("gets each event when it is said, and comments while nothing is", async () => {
    const started = startServer({ limits: { heartbeatMs: 20 } });
    const { app } = started;
    const gate = Promise.withResolvers<void>();
    app.script = async ({ turnId, say }) => {
      say({ type: "text.delta", turn_id: turnId, text: "first" });
      await gate.promise;
      return { text: "first" };
    };
    const client = await openStream(started, { session: "s", text: "go" });
    await client.seen('"text":"first"');
    await client.seen(": keep-alive\n\n");
    gate.resolve();
    await client.seen("turn.finished");
  });

  test("that disconnects ends its subscription and not the turn", async () => {
    const started = startServer();
    const { app } = started;
    const gate = Promise.withResolvers<void>();
    app.script = async () => {
      await gate.promise;
      return { text: "finished all the same" };
    };
    const client = await openStream(started, { session: "s", text: "go" });
    await client.seen("turn.started");
    expect(app.subscriptions.open).toBe(1);
    client.socket.destroy();
    await expect.poll(() => app.subscriptions.open).toBe(0);
    gate.resolve();
    await expect.poll(() => app.finished("turn-1")).toBe(true);
  });

  test("that waits for JSON and disconnects ends nothing either", async () => {
    const started = startServer();
    const { app } = started;
    const gate = Promise.withResolvers<void>();
    app.script = async () => {
      await gate.promise;
      return { text: "done" };
    };
    const base = await listening(started);
    const abort = new AbortController();
    const body = JSON.stringify({ session: "s", text: "go" });
    const waiting = fetch(base + url, {
      method: "POST",
      headers: { ...OWNER, "content-type": "application/json" },
      body,
      signal: abort.signal,
    });
    await expect.poll(() => app.accepted.length).toBe(1);
    abort.abort();
    await expect(waiting).rejects.toThrow();
    gate.resolve();
    await expect.poll(() => app.finished("turn-1")).toBe(true);
  });

  test("that takes nothing holds up neither the turn nor memory, and is cut off", async () => {
    const started = startServer({ limits: { stallMs: 200 } });
    const { app } = started;
    const events = 2_000;
    app.script = async ({ turnId, say }) => {
      for (let n = 0; n < events; n++) say({ type: "text.delta", turn_id: turnId, text: "x".repeat(10_000) });
      return { text: "much" };
    };
    const client = await openStream(started, { session: "s", text: "go" }, { paused: true });
    await expect.poll(() => app.finished("turn-1")).toBe(true);
    // 20 MB were said; what was not taken was not even pulled from the turn.
    await expect.poll(() => app.subscriptions.open).toBe(0);
    client.socket.resume();
    await client.closed;
    expect(client.bytes()).toBeLessThan(events * 10_000);
    const again = await started.server.inject({ url: "/api/agents/main/turns/turn-1", headers: OWNER });
    expect(again.json().result.text).toBe("much");
  });

  test("whose source breaks is cut, so that it cannot be taken for the end", async () => {
    const started = startServer();
    started.app.turns.events = async function* () {
      yield { id: 1, event: { type: "text.delta", turn_id: "turn-1", text: "half" } };
      throw new Error("the store went away");
    };
    const base = await listening(started);
    const answer = await fetch(base + url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ session: "s", text: "go" }),
    });
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });
});

describe("closing the server", () => {
  test("ends streams in order, answers who waits, and lets no turn fail", async () => {
    const started = startServer({ limits: { closeMs: 10_000 } });
    const { app, server } = started;
    const gate = Promise.withResolvers<void>();
    app.script = async () => {
      await gate.promise;
      return { text: "later" };
    };
    const base = await listening(started);
    const send = (session: string, accept: string) =>
      fetch(base + url, {
        method: "POST",
        headers: { ...OWNER, accept, "content-type": "application/json" },
        body: JSON.stringify({ session, text: "go" }),
      });
    const streaming = send("a", "text/event-stream");
    const waiting = send("b", "application/json");
    const stream = await streaming;
    await expect.poll(() => app.accepted.length).toBe(2);
    const closed = server.close();
    expect(parse(await stream.text()).map(({ event }) => event)).toEqual(["turn.started"]);
    const answer = await waiting;
    expect(answer.status).toBe(202);
    expect(await answer.json()).toMatchObject({ ok: true, result: { state: "running" } });
    await closed;
    gate.resolve();
    await expect.poll(() => app.finished("turn-1") && app.finished("turn-2")).toBe(true);
  });
});

interface StreamClient {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  bytes(): number;
  seen(text: string): Promise<void>;
}

/** Over a plain socket, so that the test decides what is read. */
async function openStream(started: TestServer, message: object, { paused = false } = {}): Promise<StreamClient> {
  const { port, hostname } = new URL(await listening(started));
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  let text = "";
  let bytes = 0;
  socket.on("data", (chunk) => {
    bytes += chunk.length;
    if (text.length < 1_000_000) text += chunk.toString();
  });
  socket.on("error", () => undefined);
  const closed = once(socket, "close");
  if (paused) socket.pause();
  const body = JSON.stringify(message);
  socket.write(
    `POST ${url} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${OWNER_TOKEN}\r\nAccept: text/event-stream\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return {
    socket,
    closed,
    bytes: () => bytes,
    seen: async (part) => void (await expect.poll(() => text).toContain(part)),
  };
}
