import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeJwt } from "jose";
import { v4 as newId } from "uuid";
import { describe, expect, it, onTestFinished } from "vitest";
import { createPeerClients, type PeerAddress } from "../../../runtime/client/peer.ts";
import { certificatePin } from "../../../runtime/contracts/certificates.ts";
import { toCairnError } from "../../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../../runtime/contracts/stream.ts";
import { identity, tlsNode } from "../../support/certificates.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const clock = { now: () => new Date(), monotonic: () => performance.now() };
const clients = (timeoutMs?: number) =>
  createPeerClients({ id: "caller", privateKey, clock, newId, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
const peer = (address: string | null, pins: Partial<PeerAddress> = {}): PeerAddress => ({
  id: "called",
  name: "attic",
  address,
  certificate_sha256: null,
  next_certificate_sha256: null,
  ...pins,
});

describe("a peer's certificate", () => {
  it("is the one of its entry, or the one that is announced as the next", async () => {
    const [shown, other] = [await identity(), await identity()];
    const pins = { shown: certificatePin(shown.cert), other: certificatePin(other.cert) };
    const node = await tlsNode(shown);
    const at = (certificate_sha256: string | null, next_certificate_sha256: string | null) =>
      clients().to(peer(node.url, { certificate_sha256, next_certificate_sha256 }));
    expect(await at(pins.shown, null).ping()).toMatchObject({ name: "box" });
    expect(await at(pins.other, pins.shown).ping()).toMatchObject({ name: "box" });
    expect(node.tokens).toHaveLength(2);
    await expect(at(pins.other, null).ping()).rejects.toMatchObject({ code: "RUNTIME_CERTIFICATE_REFUSED" });
    // An address with TLS whose certificate the registry does not know: authorities decide.
    await expect(at(null, null).ping()).rejects.toMatchObject({ code: "RUNTIME_CERTIFICATE_REFUSED" });
    expect(node.tokens).toHaveLength(2);
  });

  it("follows its entry", async () => {
    const [shown, other] = [await identity(), await identity()];
    const node = await tlsNode(shown);
    const same = clients();
    const entry = (pem: string) => peer(node.url, { certificate_sha256: certificatePin(pem) });
    await expect(same.to(entry(other.cert)).ping()).rejects.toMatchObject({ code: "RUNTIME_CERTIFICATE_REFUSED" });
    expect(await same.to(entry(shown.cert)).ping()).toMatchObject({ name: "box" });
  });
});

it.each([
  [peer(null), "The node attic names no address under which other nodes reach it."],
  [peer("http://attic.example:7433"), "The node attic serves no TLS at http://attic.example:7433."],
  [
    peer("http://attic.example:7433", { certificate_sha256: "AB" }),
    "The node attic serves TLS, and names an address without it: http://attic.example:7433.",
  ],
  ...[
    "http://127.0.0.1:2375/containers/create?name=x#",
    "https://attic.example/?to=",
    "https://attic.example/#",
    "http://localhost:pass@attic.example/",
    "https://user@attic.example/",
    "not an address",
    "file:///etc/passwd",
  ].map((address): [PeerAddress, string] => [peer(address), `The node attic names no address of a node: ${address}.`]),
  [peer("http://127.0.0.1.example:7433"), "The node attic serves no TLS at http://127.0.0.1.example:7433."],
])("a peer without an address that may be called is not called: %j", (entry, message) => {
  expect(() => clients().to(entry)).toThrow(expect.objectContaining({ code: "RUNTIME_PEER_UNREACHABLE", message }));
});

describe("a peer", () => {
  it("that hangs is given up after the deadline, or when the caller ends", async () => {
    const stalled = await served(() => undefined);
    await expect(clients(50).to(peer(stalled)).ping()).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
    const abort = new AbortController();
    const asked = clients().to(peer(stalled)).ping({ signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
  });

  it("that begins to answer and goes on byte by byte is given up as well", async () => {
    const slow = await served((_authorization, response) => {
      response.setHeader("content-type", "application/json");
      response.write('{"ok":true,');
      const timer = setInterval(() => response.write(" "), 10);
      response.on("close", () => clearInterval(timer));
      setTimeout(() => response.end('"result":{"name":"late"}}'), 1_500).unref();
    });
    await expect(clients(100).to(peer(slow)).ping()).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
  });

  it("cannot put anything but text into its errors", async () => {
    const error = { code: "RUNTIME_DRAINING", message: "no", severity: "error", hint: { a: 1 }, issues: "all" };
    const url = await served((_authorization, response) => {
      response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify({ ok: false, error }));
    });
    const refused = await clients()
      .to(peer(url))
      .ping()
      .then(() => null, toCairnError);
    expect(refused?.toBody()).toEqual({
      code: "RUNTIME_DRAINING",
      message: "no",
      severity: "transient",
      retryable: false,
    });
  });

  it("that answers without end is cut off", async () => {
    const LONG = 128 * 1024 * 1024;
    let sent = 0;
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const url = await served((_authorization, response) => {
      response.setHeader("content-type", "application/json");
      const more = (): void => {
        while (!response.destroyed && sent < LONG && response.write(chunk)) sent += chunk.length;
        sent += chunk.length;
        if (sent >= LONG) response.end();
      };
      response.on("drain", more);
      more();
    });
    await expect(clients().to(peer(url)).call("/api/mesh/gossip")).rejects.toMatchObject({ code: "RUNTIME_INTERNAL" });
    expect(sent).toBeLessThan(LONG);
  });

  it("streams a turn, and each time that the stream breaks it is asked with a fresh token", async () => {
    const tokens: string[] = [];
    const started: StreamEvent = { type: "turn.started", turn_id: "t", session: "s", agent: "main", attempt: 1 };
    const finished: StreamEvent = {
      type: "turn.finished",
      turn_id: "t",
      session: "s",
      text: "done",
      usage: { inputTokens: 1, outputTokens: 1 },
      interrupted: false,
    };
    const url = await served((authorization, response) => {
      tokens.push(authorization);
      const [id, event] = tokens.length === 1 ? [1, started] : [2, finished];
      response.setHeader("content-type", "text/event-stream").end(`id: ${id}\ndata: ${JSON.stringify(event)}\n\n`);
    });
    const seen: StreamEvent[] = [];
    for await (const event of clients().to(peer(url)).follow("main", "t")) seen.push(event);
    expect(seen).toEqual([started, finished]);
    const claims = tokens.map((token) => decodeJwt(token.replace("Bearer ", "")));
    expect(claims).toMatchObject([
      { iss: "caller", aud: "called", method: "GET", path: "/api/agents/main/turns/t" },
      { iss: "caller", aud: "called", method: "GET", path: "/api/agents/main/turns/t" },
    ]);
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(2);
  });
});

type Answer = (authorization: string, response: import("node:http").ServerResponse) => void;

async function served(answer: Answer): Promise<string> {
  const server = createServer((request, response) => answer(request.headers.authorization ?? "", response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // A server that listens on a port has the address of one.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}
