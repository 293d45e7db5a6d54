import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { OWNER_TOKEN, principal } from "../../support/fake-application.ts";
import { listening, OWNER, startServer } from "../../support/http-server.ts";
import { head, rawRequest } from "../../support/raw-http.ts";

const visitor = { authorization: "Bearer visitor", "content-type": "application/json" };

/** A node whose turns go on until they are released; every token but the owner's is one of scope `agent`. */
async function start(limits: object = {}) {
  const started = startServer({ limits });
  const gate = Promise.withResolvers<void>();
  started.app.authenticate = async (token) => principal(token, ["agent", "capture"]);
  started.app.script = async ({ turnId, say }) => {
    say({ type: "text.delta", turn_id: turnId, text: "hm" });
    await gate.promise;
    return { text: "hm" };
  };
  return { ...started, url: await listening(started), release: gate.resolve };
}

describe("requests that are at work", () => {
  test("have a bound by token, waits and event streams included; the owner has none", async () => {
    const { url, release, app } = await start({ requestsPerToken: 3 });
    const ask = (headers: Record<string, string>, more: object = {}) =>
      fetch(`${url}/api/agents/main/messages`, {
        method: "POST",
        headers: { ...headers, ...more },
        body: JSON.stringify({ session: "s", text: "hi" }),
      });
    const waits = [ask(visitor), ask(visitor, { accept: "text/event-stream" })];
    const turnId = (await waits[1])?.headers.get("x-turn-id");
    const followed = `${url}/api/agents/main/turns/${turnId}`;
    const leaving = new AbortController();
    const stream = { ...visitor, accept: "text/event-stream" };
    expect((await fetch(followed, { headers: stream, signal: leaving.signal })).status).toBe(200);
    await expect.poll(() => app.accepted.length).toBe(2);
    const refused = await fetch(followed, { headers: stream });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(await refused.json()).toMatchObject({ error: { code: "RUNTIME_RATE_LIMITED", retryable: true } });
    // Another token has its own, and the owner any number.
    expect((await fetch(`${url}/v1/models`, { headers: { authorization: "Bearer other" } })).status).toBe(200);
    const owner = { ...OWNER, "content-type": "application/json" };
    waits.push(...Array.from({ length: 5 }, () => ask(owner)));
    await expect.poll(() => app.accepted.length).toBe(7);
    // A client that leaves makes room.
    leaving.abort();
    await expect.poll(async () => (await fetch(followed, { headers: visitor })).status).toBe(202);
    release();
    for (const answer of await Promise.all(waits)) expect(answer.status).toBe(200);
  });

  test("of one connection that waits for no answer end with it, with a token or without", async () => {
    const { url, app } = await start();
    let asked = 0;
    const gate = Promise.withResolvers<void>();
    app.ready = async () => {
      asked += 1;
      await gate.promise;
      return { ready: true };
    };
    const one = head("GET /health/ready HTTP/1.1", "host: localhost");
    const flood = await rawRequest(url, one.repeat(1_000));
    expect(await flood.closedWithin(5_000)).toBeLessThan(5_000);
    const few = await rawRequest(url, one.repeat(10));
    gate.resolve();
    await expect.poll(() => few.text().split("HTTP/1.1 200").length - 1).toBe(10);
    // However many ask, the store is asked once at a time.
    expect(asked).toBeLessThan(5);
  });
});

describe("room for the owner", () => {
  test("among connections: those of the token that has most of them make it, the oldest first", async () => {
    const { url } = await start({ connections: 4 });
    const connect = async (token: string) => {
      const request = head("GET /v1/models HTTP/1.1", "host: localhost", `authorization: Bearer ${token}`);
      const connection = await rawRequest(url, request);
      expect(await connection.status()).toBe(200);
      return connection;
    };
    const owners = await connect(OWNER_TOKEN);
    const other = await connect("other");
    const [oldest, newer] = [await connect("visitor"), await connect("visitor")];
    await connect(OWNER_TOKEN);
    expect(await oldest.closedWithin(2_000)).toBeLessThan(2_000);
    expect([owners, other, newer].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
  });

  test("among bodies: others do not fill it", async () => {
    const { url } = await start({ bytesInFlight: 300_000, bytesInFlightPerToken: 200_000 });
    const slow = (token: string) =>
      rawRequest(
        url,
        head(
          "POST /api/agents/main/messages HTTP/1.1",
          "host: localhost",
          `authorization: Bearer ${token}`,
          "content-type: application/json",
          "content-length: 187000",
        ),
      );
    const held = [await slow("one"), await slow("two")];
    for (const token of ["three", "four", "five"]) {
      await rawRequest(
        url,
        head(
          "POST /api/agents/main/commands HTTP/1.1",
          "host: localhost",
          `authorization: Bearer ${token}`,
          "content-type: application/json",
          "content-length: 60000",
        ),
      );
    }
    const ask = (headers: Record<string, string>, bytes: number) =>
      fetch(`${url}/api/agents/main/commands`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ session: "s", command: `/status ${"x".repeat(bytes)}` }),
      });
    await expect.poll(async () => (await ask(visitor, 50_000)).status).toBe(429);
    expect((await ask(OWNER, 150_000)).status).toBe(200);
    for (const { socket } of held) socket.destroy();
  });
});

describe("a download", () => {
  test("whose client takes nothing ends, and releases the store", async () => {
    const { url, app } = await start({ stallMs: 200 });
    const ended = Promise.withResolvers<void>();
    app.backupChunks = async function* () {
      try {
        for (;;) yield Buffer.alloc(1024 * 1024);
      } finally {
        ended.resolve();
      }
    };
    const request = head(
      "GET /api/admin/memory/backup HTTP/1.1",
      "host: localhost",
      `authorization: Bearer ${OWNER_TOKEN}`,
    );
    const client = await rawRequest(url, request);
    await once(client.socket, "data");
    client.socket.pause();
    await ended.promise;
  });
});
