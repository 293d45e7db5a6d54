import { networkInterfaces } from "node:os";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { listenOn } from "../../../runtime/http/index.ts";
import { lacks } from "../../lanes/tools.ts";
import { OWNER_TOKEN, principal } from "../../support/fake-application.ts";
import { listening, OWNER, startServer } from "../../support/http-server.ts";
import { head, rawRequest } from "../../support/raw-http.ts";

const AUTHORIZED = `authorization: Bearer ${OWNER_TOKEN}`;
const PUBLIC = ["/openapi.json", "/health/live", "/health/ready"];

describe("the Host of a request over loopback", () => {
  test.each([
    "evil.example",
    "evil.example:7433",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "a b",
    "[::1",
    "",
  ])("%j is refused on every public route, and with the owner's token", async (host) => {
    const url = await listening(startServer());
    for (const path of [...PUBLIC, "/health", "/nowhere"]) {
      const answer = await rawRequest(
        url,
        head(`GET ${path} HTTP/1.1`, `host: ${host}`, AUTHORIZED, "connection: close"),
      );
      expect([path, await answer.status()]).toEqual([path, 403]);
      expect(answer.text()).not.toContain("node-1");
    }
  });

  test("loopback names, IP addresses and configured names are answered", async () => {
    const started = startServer({ hostNames: ["Cairn.example"] });
    const url = await listening(started);
    const { port } = new URL(url);
    const hosts = ["localhost", "127.0.0.1", `127.0.0.1:${port}`, `[::1]:${port}`, "app.localhost:1", "192.0.2.7:443"];
    for (const host of [...hosts, "cairn.example", "CAIRN.EXAMPLE:8443", "cairn.example."]) {
      const answer = await rawRequest(url, head("GET /health/ready HTTP/1.1", `host: ${host}`, "connection: close"));
      expect([host, await answer.status()]).toEqual([host, 200]);
    }
  });

  test("the name in the request line counts where there is one", async () => {
    const url = await listening(startServer());
    const line = "GET http://evil.example/health/live HTTP/1.1";
    const answer = await rawRequest(url, head(line, "host: localhost", "connection: close"));
    expect(await answer.status()).toBe(403);
  });

  const address = ownAddress();
  test.skipIf(lacks("network-address"))(
    "beyond loopback any name is answered, as containers use their own",
    async () => {
      const { server } = startServer();
      const { port } = await listenOn(server, { host: "0.0.0.0", port: 0 }, OWNER_TOKEN);
      const request = head("GET /health/ready HTTP/1.1", "host: lab-nova-1:7433", "connection: close");
      expect(await (await rawRequest(`http://${address}:${port}`, request)).status()).toBe(200);
      expect(await (await rawRequest(`http://127.0.0.1:${port}`, request)).status()).toBe(403);
    },
  );

  test("whatever stands in Host and Origin, no answer is a failure of the server", async () => {
    const { server, log } = startServer({ hostNames: ["cairn.example"] });
    const scheme = fc.constantFrom("http:", "https:", "file:", "blob:", "data:", "chrome-extension:", "HTTP:", "");
    const authority = fc.oneof(
      fc.webAuthority(),
      fc.constantFrom("", "[::1]", "localhost:0", "a@b", "%00", "xn--", "[v1.x]"),
    );
    const origin = fc.oneof(
      fc.tuple(scheme, authority).map(([protocol, host]) => `${protocol}//${host}`),
      fc.stringMatching(/^[\x20-\x7e]{0,60}$/),
    );
    const host = fc.oneof(authority, fc.stringMatching(/^[\x20-\x7e]{0,60}$/));
    await fc.assert(
      fc.asyncProperty(origin, host, async (given, name) => {
        const headers = { ...OWNER, origin: given, host: name, "content-type": "application/json" };
        const answer = await server.inject({ method: "POST", url: "/api/admin/resume", headers, payload: {} });
        expect([200, 403]).toContain(answer.statusCode);
      }),
    );
    expect(log.filter((line) => line.includes('"level":50'))).toEqual([]);
  });

  test("an Origin without a host is refused, and leaves no error in the log", async () => {
    const { server, log } = startServer();
    for (const origin of ["file://", "file:///etc", "null", "about:blank", "moz-extension://x", "http://", "://"]) {
      const headers = { origin, host: "127.0.0.1:7433" };
      const answer = await server.inject({ method: "POST", url: "/api/admin/drain", headers });
      expect([origin, answer.statusCode]).toEqual([origin, 403]);
    }
    // What is refused is logged with its place in the code at the level debug (20) alone.
    expect(log.filter((line) => line.includes('"stack"') && !line.includes('"level":20'))).toEqual([]);
  });
});

describe("requests that are none", () => {
  test("two Host headers are 400", async () => {
    const url = await listening(startServer());
    for (const second of ["evil.example", "localhost", ""]) {
      const request = head("GET /health/live HTTP/1.1", "Host: localhost", `hOST: ${second}`, "connection: close");
      expect(await (await rawRequest(url, request)).status()).toBe(400);
    }
  });

  test("HTTP/0.9 is 400, HTTP/1.0 is answered", async () => {
    const url = await listening(startServer());
    expect(await (await rawRequest(url, "GET /health/live\r\n\r\n")).status()).toBe(400);
    expect(await (await rawRequest(url, head("GET /health/live HTTP/0.9", "host: localhost"))).status()).toBe(400);
    expect(await (await rawRequest(url, head("GET /health/live HTTP/1.0", "host: localhost"))).status()).toBe(200);
    // What load balancers ask with: there is no name to be misled by.
    expect(await (await rawRequest(url, head("GET /health/live HTTP/1.0"))).status()).toBe(200);
  });

  test("bytes that are no request are answered, and the connection ends although the client keeps its side open", async () => {
    const started = startServer({ limits: { lingerMs: 200 } });
    const url = await listening(started);
    const garbage = await rawRequest(url, "\x16\x03\x01 not http\r\n\r\n");
    expect(await garbage.status()).toBe(400);
    const { server } = started.server;
    const open = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    await expect.poll(open, { timeout: 3_000 }).toBe(0);
  });
});

describe("a body that has not arrived when the answer is known", () => {
  const slow = (path: string, ...headers: readonly string[]) =>
    head(`POST ${path} HTTP/1.1`, "host: localhost", "content-type: application/json", ...headers);

  test.each([
    ["without a token", slow("/api/capture", "content-length: 1000000"), 401],
    ["with a wrong one", slow("/api/capture", "content-length: 1000000", "authorization: Bearer wrong"), 401],
    ["for an unknown route", slow("/nowhere", "content-length: 1000000"), 404],
    ["with another method", slow("/health/live", "content-length: 1000000"), 405],
    ["of a web page", slow("/api/capture", "content-length: 1000000", "origin: https://evil.example"), 403],
    ["that is too large", slow("/api/capture", AUTHORIZED, `content-length: ${64 * 1024 * 1024}`), 413],
    ["at a bad path", slow("/api/agents/%E0%A4%A/messages", "content-length: 1000000"), 400],
    ["in chunks", slow("/api/capture", "transfer-encoding: chunked"), 401],
    ["that is not wanted at all", head("GET /health/live HTTP/1.1", "host: localhost", "content-length: 1000000"), 200],
  ])("%s: it is answered, and the connection ends soon", async (_name, request, status) => {
    const url = await listening(startServer({ limits: { lingerMs: 300 } }));
    const sender = await rawRequest(url, request);
    // Well formed: on a busy machine it arrives before the answer is made.
    const part = request.includes("chunked") ? "1\r\nx\r\n" : "x";
    const drip = setInterval(() => sender.socket.writable && sender.socket.write(part), 50);
    try {
      expect(await sender.status()).toBe(status);
      expect(sender.text().toLowerCase()).toContain("connection: close");
      expect(await sender.closedWithin(3_000)).toBeLessThan(2_000);
    } finally {
      clearInterval(drip);
    }
  });

  test("the answer does not wait for the rest", async () => {
    const url = await listening(startServer({ limits: { lingerMs: 60_000 } }));
    const sender = await rawRequest(url, slow("/api/capture", "content-length: 1000000"));
    expect(await sender.status()).toBe(401);
    expect(sender.text()).toContain("RUNTIME_UNAUTHORIZED");
    expect(sender.closed()).toBe(false);
  });

  test("a token without the scope is refused before its body is read", async () => {
    const started = startServer({ limits: { lingerMs: 300 } });
    started.app.authenticate = async () => principal("hook", ["capture"]);
    const url = await listening(started);
    const request = slow("/api/admin/drain", "authorization: Bearer hook-token", "content-length: 1000");
    const sender = await rawRequest(url, request);
    expect(await sender.status()).toBe(403);
    expect(await sender.closedWithin(3_000)).toBeLessThan(2_000);
  });

  test("a sender that sends it all the same gets to read the answer", async () => {
    const url = await listening(startServer());
    const answer = await fetch(`${url}/api/capture`, { method: "POST", body: Buffer.alloc(8 * 1024 * 1024) });
    expect(answer.status).toBe(401);
    const body = Buffer.alloc(8 * 1024 * 1024, "x");
    const sender = await rawRequest(url, slow("/api/capture", `content-length: ${body.length}`));
    sender.socket.write(body);
    expect(await sender.status()).toBe(401);
    expect(await sender.closedWithin(3_000)).toBeLessThan(2_000);
  });

  test("an answered request with a whole body keeps its connection", async () => {
    const url = await listening(startServer());
    const request = slow("/api/admin/resume", AUTHORIZED, "content-length: 2");
    const sender = await rawRequest(url, `${request}{}`);
    expect(await sender.status()).toBe(200);
    expect(await sender.closedWithin(300)).toBe(Number.POSITIVE_INFINITY);
  });

  test("JSON that makes no progress is cut off", async () => {
    const url = await listening(startServer({ limits: { stallMs: 150, lingerMs: 100 } }));
    const sender = await rawRequest(url, `${slow("/api/admin/drain", AUTHORIZED, "content-length: 1000")}{"a`);
    expect(await sender.status()).toBe(400);
    expect(sender.text()).toContain("stalled");
    expect(await sender.closedWithin(3_000)).toBeLessThan(2_000);
  });

  test("JSON that comes a byte at a time has a deadline, too", async () => {
    const url = await listening(startServer({ limits: { bodyMs: 300, lingerMs: 100 } }));
    const sender = await rawRequest(url, slow("/api/admin/drain", AUTHORIZED, "content-length: 1000"));
    const drip = setInterval(() => sender.socket.writable && sender.socket.write(" "), 40);
    try {
      expect(await sender.status()).toBe(400);
      expect(await sender.closedWithin(3_000)).toBeLessThan(2_000);
    } finally {
      clearInterval(drip);
    }
  });

  test("connections that say nothing make room for those that do, the oldest first", async () => {
    const url = await listening(startServer({ limits: { connections: 3 } }));
    const stalled = await rawRequest(url, "GET /health/live HTTP/1.1\r\n");
    const others = await Promise.all([1, 2].map(() => rawRequest(url, "GET /health/live HTTP/1.1\r\n")));
    const fourth = await rawRequest(url, head("GET /health HTTP/1.1", "host: localhost", AUTHORIZED));
    expect(await fourth.status()).toBe(200);
    expect(await stalled.closedWithin(2_000)).toBeLessThan(2_000);
    expect(others.map(({ socket }) => socket.destroyed)).toEqual([false, false]);
  });

  test("connections with a valid token are not closed for new ones", async () => {
    const url = await listening(startServer({ limits: { connections: 2 } }));
    const routes = [];
    for (let n = 0; n < 2; n += 1) {
      const connection = await rawRequest(url, head("GET /health HTTP/1.1", "host: localhost", AUTHORIZED));
      expect(await connection.status()).toBe(200);
      routes.push(connection);
    }
    const third = await rawRequest(url, head("GET /health/live HTTP/1.1", "host: localhost"));
    expect(await third.closedWithin(2_000)).toBeLessThan(2_000);
    expect(routes.map(({ socket }) => socket.destroyed)).toEqual([false, false]);
  });
});

/** An address of this machine that is not loopback. */
function ownAddress(): string | undefined {
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return own.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}
