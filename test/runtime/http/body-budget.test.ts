import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteBudget } from "../../../runtime/domain/byte-budget.ts";
import { principal } from "../../support/fake-application.ts";
import { listening, OWNER, startServer } from "../../support/http-server.ts";
import { head, rawRequest } from "../../support/raw-http.ts";

const MIB = 1024 * 1024;
const hook = { authorization: "Bearer hook-token", "content-type": "application/json" };

const batch = (bytes: number) =>
  JSON.stringify({
    session_key: "s",
    agent: "a",
    channel: "c",
    events: [{ event_id: "1", role: "user", content: "x".repeat(bytes) }],
  });

/** A node whose store keeps every batch until it is let go; `hook-token` and `other-token` may capture. */
function startSlowStore(limits: object = {}) {
  const started = startServer({ limits });
  const gate = Promise.withResolvers<void>();
  started.app.authenticate = async (token) =>
    token.endsWith("-token") ? principal(token, ["capture", "memory"]) : null;
  const { store } = started.app.capture;
  started.app.capture.store = async (given) => {
    await gate.promise;
    return store(given);
  };
  return { ...started, release: gate.resolve };
}

const capture = (url: string, body: string, headers: Record<string, string> = hook) =>
  fetch(`${url}/api/capture`, { method: "POST", headers, body });

describe("bodies that are held at once", () => {
  test("six batches of 17 MB of one token: one is at work, five are to come again, before they are in memory", async () => {
    const node = startSlowStore();
    const url = await listening(node);
    const body = batch(17_000_000);
    const sent = Array.from({ length: 6 }, () => capture(url, body));
    const refused = () => node.log.filter((line) => line.includes('"status":429')).length;
    await expect.poll(refused, { timeout: 20_000 }).toBe(5);
    expect(node.app.captured).toHaveLength(0);
    // Another token has room, and a small question is never in the way of large ones.
    const search = `${url}/api/memory/tool/memory_search`;
    const small = { method: "POST", headers: hook, body: JSON.stringify({ query: "q" }) };
    expect((await fetch(search, small)).status).toBe(200);
    const other = { ...hook, authorization: "Bearer other-token" };
    const theirs = capture(url, batch(12_000_000), other);
    node.release();
    const answers = await Promise.all(sent);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429, 429]);
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expect(answer.headers.get("retry-after")).toBe("5");
      expect(await answer.json()).toMatchObject({ error: { code: "RUNTIME_RATE_LIMITED", retryable: true } });
    }
    expect((await theirs).status).toBe(200);
    expect((await capture(url, body)).status).toBe(200);
  });

  test("the largest batch that is documented is taken", async () => {
    const node = startSlowStore();
    node.release();
    const url = await listening(node);
    const body = batch(32 * MIB - 200);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(32 * MIB);
    for (let n = 0; n < 3; n++) expect((await capture(url, body)).status).toBe(200);
  });

  test("a declared length is enough to be refused: the body need not come", async () => {
    const node = startSlowStore({ bytesInFlight: 4 * MIB, bytesInFlightPerToken: 3 * MIB });
    const url = await listening(node);
    const open = await rawRequest(url, request("hook-token", `content-length: ${2 * MIB}`));
    await delay(50);
    const second = await rawRequest(url, request("hook-token", `content-length: ${2 * MIB}`));
    expect(await second.status()).toBe(429);
    const others = await rawRequest(url, request("other-token", `content-length: ${3 * MIB}`));
    expect(await others.status()).toBe(429);
    open.socket.destroy();
    // What the first held is free with its connection.
    node.release();
    const again = async () => (await capture(url, batch(2 * MIB))).status;
    await expect.poll(again, { timeout: 5_000 }).toBe(200);
  });

  test("a body without a declared length is counted as it comes, and refused in the middle", async () => {
    const node = startSlowStore({ bytesInFlight: 4 * MIB, bytesInFlightPerToken: 2 * MIB });
    const url = await listening(node);
    const sender = await rawRequest(url, request("hook-token", "transfer-encoding: chunked"));
    const chunk = `${(256 * 1024).toString(16)}\r\n${"x".repeat(256 * 1024)}\r\n`;
    for (let n = 0; n < 16 && !sender.closed(); n++) if (!sender.socket.write(chunk)) await drained(sender.socket);
    expect(await sender.status()).toBe(429);
    expect(node.app.captured).toEqual([]);
    node.release();
    expect((await capture(url, batch(MIB))).status).toBe(200);
  });

  test("chunks that fit are taken as they are", async () => {
    const node = startSlowStore();
    node.release();
    const url = await listening(node);
    const body = Buffer.from(batch(3 * MIB));
    const chunks = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < body.length; at += 100_000) controller.enqueue(body.subarray(at, at + 100_000));
        controller.close();
      },
    });
    const answer = await fetch(`${url}/api/capture`, { method: "POST", headers: hook, body: chunks, duplex: "half" });
    expect(answer.status).toBe(200);
    expect(node.app.captured[0]?.events[0]?.content).toHaveLength(3 * MIB);
  });

  test("a message that waits for its turn holds nothing", async () => {
    const node = startServer({ limits: { bytesInFlight: 3 * MIB, bytesInFlightPerToken: 2 * MIB } });
    const gate = Promise.withResolvers<{ text: string }>();
    node.app.script = () => gate.promise;
    const url = await listening(node);
    const attachments = [{ name: "a.bin", media_type: "application/pdf", data: "A".repeat(1_500_000) }];
    const send = (n: number) =>
      fetch(`${url}/api/agents/main/messages`, {
        method: "POST",
        headers: { ...OWNER, "content-type": "application/json" },
        body: JSON.stringify({ session: `s${n}`, text: "hello", attachments }),
      });
    const sent: Promise<Response>[] = [];
    for (let n = 1; n <= 4; n++) {
      sent.push(send(n));
      await expect.poll(() => node.app.accepted.length, { timeout: 10_000 }).toBe(n);
    }
    gate.resolve({ text: "done" });
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test("an archive is a stream and holds nothing", async () => {
    const node = startServer({ limits: { bytesInFlight: MIB, bytesInFlightPerToken: MIB } });
    const url = await listening(node);
    const headers = { ...OWNER, "content-type": "application/octet-stream" };
    const body = Buffer.alloc(8 * MIB);
    const answer = await fetch(`${url}/api/admin/memory/restore`, { method: "POST", headers, body });
    expect(answer.status).toBe(200);
  });
});

test("a budget never holds more than its limits, and in the end nothing", () => {
  const step = fc.record({ holder: fc.constantFrom("a", "b", "c"), bytes: fc.nat(200_000), release: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new ByteBudget({ total: 400_000, perHolder: 300_000 });
      const open = new Map<string, { share: ReturnType<ByteBudget["shareOf"]>; bytes: number }[]>();
      for (const { holder, bytes, release } of steps) {
        const own = open.get(holder) ?? [];
        if (release) own.pop()?.share.release();
        else {
          const share = budget.shareOf(holder);
          const taken = share.take(bytes);
          own.push({ share, bytes: taken ? bytes : 0 });
        }
        open.set(holder, own);
        const sum = own.reduce((all, { bytes }) => all + bytes, 0);
        expect(sum).toBeLessThanOrEqual(375_000);
        expect(budget.held).toBeLessThanOrEqual(500_000);
      }
      for (const { share } of [...open.values()].flat()) {
        share.release();
        share.release();
      }
      expect(budget.held).toBe(0);
    }),
  );
});

function request(token: string, ...headers: readonly string[]): string {
  const authorization = `authorization: Bearer ${token}`;
  return head(
    "POST /api/capture HTTP/1.1",
    "host: localhost",
    "content-type: application/json",
    authorization,
    ...headers,
  );
}

/** Also when it is closed instead. */
async function drained(socket: Socket): Promise<void> {
  await Promise.race([once(socket, "drain"), once(socket, "close"), once(socket, "end")]).catch(() => undefined);
}
