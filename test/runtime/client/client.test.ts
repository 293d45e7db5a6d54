import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Client, createClient } from "../../../runtime/client/index.ts";
import { MemoryError, ProviderError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../../runtime/contracts/stream.ts";
import { healthy, OWNER_TOKEN } from "../../support/fake-application.ts";
import { listening, startServer } from "../../support/http-server.ts";

async function connected(overrides: Parameters<typeof startServer>[0] = {}) {
  const started = startServer(overrides);
  const baseUrl = await listening(started);
  return { ...started, baseUrl, client: createClient({ baseUrl: `${baseUrl}/`, token: OWNER_TOKEN }) };
}

/** A server that answers as the test says. */
async function answering(handler: Parameters<typeof createHttpServer>[1]): Promise<string> {
  const server = createHttpServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

async function* chunks(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe("asking a node", () => {
  test("for its health, healthy or not", async () => {
    const { app, client } = await connected();
    await client.live();
    expect(await client.health()).toEqual(healthy());
    app.report = async () => ({ ...healthy(), status: "unhealthy" });
    expect((await client.health()).status).toBe("unhealthy");
    expect(await client.ping()).toMatchObject({ node_id: "node-1", name: "first", version: "0.1.0" });
  });

  test("for its health, which a busy node may not tell in time", async () => {
    const { app, client } = await connected();
    app.report = async () => {
      throw new RuntimeError("RUNTIME_NOT_READY", "This node does not answer in time: the store may be busy.");
    };
    await expect(client.health()).rejects.toMatchObject({
      code: "RUNTIME_NOT_READY",
      message: "This node does not answer in time: the store may be busy.",
    });
  });

  test("whether it is ready", async () => {
    const { app, client, baseUrl, server } = await connected();
    expect(await client.ready()).toBe(true);
    app.ready = async () => ({ ready: false, reason: "no database" });
    expect(await client.ready()).toBe(false);
    await server.close();
    expect(await createClient({ baseUrl }).ready()).toBe(false);
  });

  test("brings its errors back as what they were", async () => {
    const { client, baseUrl } = await connected();
    const refused = client.memoryTool("memory_search", {});
    await expect(refused).rejects.toBeInstanceOf(MemoryError);
    await expect(refused).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      details: { issues: [{ path: "query", message: "is required" }] },
    });
    const stranger = createClient({ baseUrl, token: "wrong" });
    await expect(stranger.health()).rejects.toMatchObject({ code: "RUNTIME_UNAUTHORIZED" });
  });

  test("that is not there says so", async () => {
    const { baseUrl, server } = await connected();
    await server.close();
    await expect(createClient({ baseUrl }).live()).rejects.toMatchObject({ code: "RUNTIME_NOT_RUNNING" });
  });

  test("that is no node says so", async () => {
    const baseUrl = await answering((_request, response) => response.end("<html>"));
    await expect(createClient({ baseUrl }).live()).rejects.toMatchObject({ code: "RUNTIME_INTERNAL" });
  });

  test("that never answers ends at the deadline, or when the caller says so", async () => {
    const baseUrl = await answering(() => undefined);
    const client = createClient({ baseUrl });
    await expect(client.live({ timeoutMs: 30 })).rejects.toMatchObject({ code: "RUNTIME_NOT_READY", retryable: true });
    await expect(client.live({ signal: AbortSignal.timeout(30) })).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("calls a memory tool", async () => {
    const { client } = await connected();
    expect(await client.memoryTool("memory_search", { query: "x" })).toEqual({
      name: "memory_search",
      args: { query: "x" },
    });
  });
});

describe("talking to an agent", () => {
  test("brings its events, then its result", async () => {
    const { app, client } = await connected();
    const events = await collect(client.stream("main", { session: "s", text: "Hello", user: "ann" }));
    expect(events[0]?.type).toBe("turn.started");
    expect(events.at(-1)).toMatchObject({ type: "turn.finished", text: "You said: Hello" });
    expect(app.accepted[0]).toMatchObject({ address: { user: "ann" }, text: "Hello" });
    const attachments = [{ name: "a.txt", mediaType: "text/plain", data: "aGk=" }];
    const result = await client.send("main", { session: "s", text: "Hello", attachments });
    expect(result).toMatchObject({ turn_id: "turn-2", text: "You said: Hello" });
    expect(result).not.toHaveProperty("type");
    expect(app.accepted[1]?.attachments).toEqual(attachments);
  });

  test("a failed turn is its error, and names the turn", async () => {
    const { app, client } = await connected();
    app.script = async () => {
      throw new ProviderError("PROVIDER_UNAUTHORIZED", "The provider refused the key.");
    };
    const sent = client.send("main", { session: "s", text: "Hello" });
    await expect(sent).rejects.toBeInstanceOf(ProviderError);
    await expect(sent).rejects.toMatchObject({ code: "PROVIDER_UNAUTHORIZED", details: { turnId: "turn-1" } });
  });

  test("the same key is the same turn", async () => {
    const { app, client } = await connected();
    const first = await client.send("main", { session: "s", text: "Hello" }, { idempotencyKey: "k" });
    expect(await client.send("main", { session: "s", text: "Hello" }, { idempotencyKey: "k" })).toEqual(first);
    expect(app.accepted).toHaveLength(1);
  });

  test("leaving the iteration ends the subscription and not the turn", async () => {
    const { app, client } = await connected();
    const gate = Promise.withResolvers<void>();
    app.script = async () => {
      await gate.promise;
      return { text: "done" };
    };
    for await (const event of client.stream("main", { session: "s", text: "Hello" })) {
      expect(event.type).toBe("turn.started");
      break;
    }
    await expect.poll(() => app.subscriptions.open).toBe(0);
    expect(await client.turn("main", "turn-1")).toEqual({ turn_id: "turn-1", state: "running" });
    gate.resolve();
    expect((await collect(client.follow("main", "turn-1"))).at(-1)).toMatchObject({ text: "done" });
    expect(await client.turn("main", "turn-1")).toMatchObject({ text: "done" });
  });

  test("an abort ends the wait with its reason", async () => {
    const { app, client } = await connected();
    app.script = () => new Promise(() => undefined);
    const abort = new AbortController();
    const sent = client.send("main", { session: "s", text: "Hello" }, { signal: abort.signal });
    await expect.poll(() => app.subscriptions.open).toBe(1);
    abort.abort(new Error("enough"));
    await expect(sent).rejects.toThrow("enough");
    await expect.poll(() => app.subscriptions.open).toBe(0);
  });

  test("a broken connection is taken up again, with no event twice and none lost", async () => {
    const { app, client, server } = await connected();
    const gate = Promise.withResolvers<void>();
    app.script = async ({ turnId, say }) => {
      say({ type: "text.delta", turn_id: turnId, text: "one " });
      await gate.promise;
      say({ type: "text.delta", turn_id: turnId, text: "two" });
      return { text: "one two" };
    };
    const seen: string[] = [];
    const states: string[] = [];
    const onConnection = (state: string): void => void states.push(state);
    for await (const event of client.stream("main", { session: "s", text: "Hello" }, { onConnection })) {
      seen.push(event.type === "text.delta" ? event.text : event.type);
      if (event.type === "text.delta" && event.text === "one ") {
        server.server.closeAllConnections();
        gate.resolve();
      }
    }
    expect(seen).toEqual(["turn.started", "one ", "two", "turn.finished"]);
    expect(states).toEqual(["accepted", "lost", "back"]);
    expect(app.accepted).toHaveLength(1);
  });

  test("a node that refuses while following is not asked again", async () => {
    const { client } = await connected();
    await expect(collect(client.follow("main", "nope"))).rejects.toMatchObject({ code: "RUNTIME_TURN_UNKNOWN" });
  });

  test("commands are answered", async () => {
    const { client } = await connected();
    expect(await client.command("main", { session: "s", line: "/status" })).toEqual({
      text: "did /status",
      data: { owner: true },
    });
    const wrong = client.command("main", { session: "s", line: "status" });
    await expect(wrong).rejects.toMatchObject({ code: "RUNTIME_COMMAND_UNKNOWN" });
  });
});

describe("administering a node", () => {
  test("drain and resume", async () => {
    const { app, client } = await connected();
    await client.drain({ deadlineS: 3, wait: true });
    expect(app.drains).toEqual([3000]);
    expect(await client.ready()).toBe(false);
    await client.resume();
    expect(await client.ready()).toBe(true);
  });

  test("archives go both ways as streams", async () => {
    const { app, client } = await connected();
    expect(await bytesOf(client.backup())).toBe("first second");
    expect(await bytesOf(client.exportJsonl())).toBe("first second");
    expect(await client.restore(chunks("an ", "archive"))).toEqual({
      counts: { messages: 3 },
      tokens: { left_out: 1, restored: [] },
    });
    expect(app.restored[0]?.toString()).toBe("an archive");
    expect(await client.importJsonl(chunks("{}\n", "{}\n"))).toEqual({ imported: 2, skipped: 0 });
  });

  test("an archive that breaks off is an error", async () => {
    const { app, client } = await connected();
    app.backupChunks = async function* () {
      yield Buffer.from("half");
      throw new Error("the store went away");
    };
    await expect(bytesOf(client.backup())).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST", retryable: true });
    app.backupChunks = async function* () {
      yield* [];
      throw new RuntimeError("RUNTIME_NOT_READY", "Not now.");
    };
    await expect(bytesOf(client.backup())).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
  });

  test("a refused archive says why", async () => {
    const { app, client } = await connected();
    app.archives.restore = async () => {
      throw new MemoryError("MEMORY_STORE_NOT_EMPTY", "The store is not empty.");
    };
    async function* large() {
      for (let n = 0; n < 200; n++) yield Buffer.alloc(100_000);
    }
    await expect(client.restore(large())).rejects.toMatchObject({ code: "MEMORY_STORE_NOT_EMPTY" });
  });

  test("a source that fails while it is sent is the caller's own error", async () => {
    const { client } = await connected();
    async function* broken() {
      yield Buffer.from("some");
      throw new Error("the file cannot be read");
    }
    await expect(client.restore(broken())).rejects.toThrow("the file cannot be read");
  });

  test("waits for a restore longer than the platform waits for the head of an answer", async () => {
    const before = getGlobalDispatcher();
    onTestFinished(() => setGlobalDispatcher(before));
    // Five minutes by default.
    setGlobalDispatcher(new Agent({ headersTimeout: 100 }));
    const baseUrl = await answering((asked, answer) => {
      asked.resume();
      setTimeout(() => answer.end(JSON.stringify({ result: { counts: {} } })), 2_500);
    });
    const client = createClient({ baseUrl, token: OWNER_TOKEN });
    await expect(fetch(baseUrl)).rejects.toThrow("fetch failed");
    expect(await client.restore(chunks("an archive"))).toEqual({ counts: {} });
  });

  test("tokens", async () => {
    const { client } = await connected();
    expect(await client.createToken("hook", ["capture"])).toEqual({ id: "id-of-hook", token: "cairn_value" });
    expect((await client.listTokens()).map(({ name }) => name)).toEqual(["hook"]);
    const expiresAt = new Date("2199-01-31T00:00:00Z");
    expect(await client.rotateToken("hook")).toMatchObject({ id: "1", expires_at: null, token: "cairn_value" });
    expect(await client.rotateToken("1", { expiresAt })).toMatchObject({ expires_at: "2199-01-31T00:00:00.000Z" });
    await client.revokeToken("1");
    await expect(client.revokeToken("2")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
  });
});

test("a client without a token asks public routes only", async () => {
  const { baseUrl } = await connected();
  const client: Client = createClient({ baseUrl });
  await client.live();
  await expect(client.health()).rejects.toMatchObject({ code: "RUNTIME_UNAUTHORIZED" });
});
