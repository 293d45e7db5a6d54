import { generateKeyPairSync } from "node:crypto";
import { v4 as newId } from "uuid";
import { describe, expect, it } from "vitest";
import { createPeerClients } from "../../../runtime/client/peer.ts";
import { makePeerToken } from "../../../runtime/domain/mesh/peer-token.ts";
import { peerOf } from "../../../runtime/http/auth.ts";
import { principal } from "../../support/fake-application.ts";
import { listening, OWNER, startServer, type TestServer } from "../../support/http-server.ts";
import { entryOf } from "../../support/node-entries.ts";

const keys = generateKeyPairSync("ed25519");
const entry = entryOf(keys, { name: "attic" });

/** A node that knows `attic`, with a route for peers alone. */
function started(): TestServer {
  const test = startServer({ limits: { wrongPerMinute: 3 } });
  test.app.findPeer = async (id) => (id === entry.id ? entry : null);
  test.server.get("/api/mesh/secret", { config: { access: "peer" } }, async (request) => peerOf(request).name);
  return test;
}

interface Asked {
  readonly url?: string;
  readonly made?: { readonly url?: string; readonly method?: string; readonly audience?: string; readonly at?: Date };
  readonly by?: { readonly id: string; readonly privateKey: (typeof keys)["privateKey"] };
}

const tokenFor = ({ url = "/api/mesh/ping", made = {}, by = { id: entry.id, privateKey: keys.privateKey } }: Asked) => {
  const { method = "GET", audience = "node-1", at = new Date() } = made;
  return makePeerToken({ audience, method, path: made.url ?? url }, by, newId(), at);
};

async function ask({ server }: TestServer, asked: Asked = {}) {
  const authorization = `Bearer ${await tokenFor(asked)}`;
  return server.inject({ url: asked.url ?? "/api/mesh/ping", headers: { authorization } });
}

describe("another node", () => {
  it("is let in where a route is for peers, by its entry in the registry", async () => {
    const test = started();
    const ping = await ask(test);
    expect(ping.json()).toMatchObject({ ok: true, result: { node_id: "node-1", name: "first", state: "online" } });
    expect((await ask(test, { url: "/api/mesh/secret" })).body).toBe("attic");
  });

  it("is refused everywhere else, and tokens are where a route is for peers alone", async () => {
    const test = started();
    for (const url of ["/health", "/api/mesh", "/v1/models", "/api/admin/tokens", "/api/admin/memory/backup"]) {
      const answer = await ask(test, { url });
      expect(answer.statusCode, url).toBe(403);
      expect(answer.json().error.message ?? answer.json().error.error).toContain("Other nodes have no access here");
    }
    expect(test.security.at(-1)).toMatchObject({ event: "access.refused", by: "attic" });
    for (const headers of [OWNER, { authorization: "Bearer agent" }]) {
      if (headers !== OWNER) test.app.authenticate = async () => principal("agent", ["agent"]);
      expect((await test.server.inject({ url: "/api/mesh/secret", headers })).statusCode).toBe(403);
    }
  });

  it("uses a token once", async () => {
    const test = started();
    const headers = { authorization: `Bearer ${await tokenFor({})}` };
    expect((await test.server.inject({ url: "/api/mesh/ping", headers })).statusCode).toBe(200);
    const again = await test.server.inject({ url: "/api/mesh/ping", headers });
    expect(again.statusCode).toBe(401);
    expect(again.json().error.message).toBe("The token was used before: each request needs its own.");
    expect(again.headers["www-authenticate"]).toContain("invalid_token");
    expect(test.security).toMatchObject([
      { event: "peer.refused", outcome: "refused", details: { node: entry.id, reason: "used" } },
    ]);
  });

  const stranger = generateKeyPairSync("ed25519");
  it.each<[string, string, Asked]>([
    ["forged", "The token is not valid.", { by: { id: entry.id, privateKey: stranger.privateKey } }],
    [
      "unknown-node",
      "No node with the id 0123 is in the registry of first.",
      { by: { id: "0123", privateKey: stranger.privateKey } },
    ],
    ["other-node", "The token was made for another node.", { made: { audience: "node-2" } }],
    ["other-request", "The token was made for another request.", { made: { url: "/api/mesh/secret" } }],
    ["other-request", "The token was made for another request.", { made: { method: "POST" } }],
    ["other-request", "The token was made for another request.", { made: { url: "/api/mesh/ping?x=1" } }],
  ])("is refused with a token that is %s: %s", async (reason, message, asked) => {
    const test = started();
    const answer = await ask(test, asked);
    expect(answer.statusCode).toBe(401);
    expect(answer.json().error).toMatchObject({ code: "RUNTIME_UNAUTHORIZED", message });
    expect(test.security).toMatchObject([{ event: "peer.refused", details: { reason } }]);
  });

  it("is let in with a clock that is a minute wrong, and told about one that is five", async () => {
    const test = started();
    const at = (seconds: number) => ({ made: { at: new Date(Date.now() + seconds * 1000) } });
    for (const seconds of [-60, 60]) expect((await ask(test, at(seconds))).statusCode).toBe(200);
    for (let n = 0; n < 10; n++) expect((await ask(test, at(-300))).json().error.code).toBe("RUNTIME_CLOCK_SKEW");
    expect((await ask(test, at(300))).json().error.message).toMatch(
      /^The clock of the node attic is (299|300) s ahead of that of first\.$/,
    );
    // Its clock was set: it has locked nobody out, also not itself.
    expect((await ask(test)).statusCode).toBe(200);
    expect((await test.server.inject({ url: "/health", headers: OWNER })).statusCode).toBe(200);
  });

  it("is let in while forged tokens have locked its address out, which count like wrong ones", async () => {
    const test = started();
    const by = { id: entry.id, privateKey: stranger.privateKey };
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push((await ask(test, { by })).statusCode);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect(test.security.map(({ event }) => event)).toContain("token.lockout");
    const guess = { authorization: "Bearer a-guess" };
    expect((await test.server.inject({ url: "/health", headers: guess })).statusCode).toBe(429);
    expect((await ask(test)).statusCode).toBe(200);
  });

  it("waits where the registry cannot be read", async () => {
    const test = started();
    test.app.findPeer = async () => {
      throw new Error("the database is away");
    };
    expect((await ask(test)).statusCode).toBe(500);
    expect(test.security).toEqual([]);
  });

  it("calls by its client with a token for each request", async () => {
    const test = started();
    const address = await listening(test);
    const clock = { now: () => new Date(), monotonic: () => performance.now() };
    const clients = createPeerClients({ id: entry.id, privateKey: keys.privateKey, clock, newId });
    const called = { ...entry, id: "node-1", address };
    expect(await clients.to(called).ping()).toMatchObject({ node_id: "node-1" });
    expect(await clients.to(called).ping()).toMatchObject({ node_id: "node-1" });
    expect(await (await clients.to(called).open("/api/mesh/secret?a=b")).text()).toBe("attic");
    expect(clients.to(called)).toBe(clients.to({ ...called }));
    await expect(clients.to({ ...called, id: "node-2" }).ping()).rejects.toMatchObject({
      code: "RUNTIME_UNAUTHORIZED",
    });
    expect(test.security).toMatchObject([{ event: "peer.refused", details: { reason: "other-node" } }]);
  });
});
