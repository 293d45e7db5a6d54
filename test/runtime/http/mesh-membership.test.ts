import { generateKeyPairSync } from "node:crypto";
import { v4 as newId } from "uuid";
import { describe, expect, it } from "vitest";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { type Gossip, MAX_MEMBERS, MAX_REVOCATIONS } from "../../../runtime/contracts/membership.ts";
import { makePeerToken } from "../../../runtime/domain/mesh/peer-token.ts";
import { MAX_NEWS_BYTES, MAX_RECORDS } from "../../../runtime/files/mesh-schema.ts";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer, type TestServer } from "../../support/http-server.ts";
import { firstNode } from "../../support/meshes.ts";
import { entryOf } from "../../support/node-entries.ts";

const keys = generateKeyPairSync("ed25519");
const entry = entryOf(keys, { name: "attic" });
const ID = "0123456789abcdef0123456789abcdef";
const nothing: Gossip = { digest: [], revoked: [], records: [], revocations: [] };

/** A node that knows `attic`; what it was told is kept. */
function started(): TestServer & { readonly received: Gossip[]; readonly asked: object[] } {
  const test = startServer();
  const received: Gossip[] = [];
  const asked: object[] = [];
  test.app.findPeer = async (id) => (id === entry.id ? entry : null);
  test.app.mesh.gossip = async (given) => {
    received.push(given);
    return nothing;
  };
  test.app.mesh.admit = async (given) => {
    asked.push(given);
    return { node_id: given.entry.id, admission: [], nodes: [], revocations: [] };
  };
  return { ...test, received, asked };
}

async function gossip({ server }: TestServer, payload: unknown) {
  const url = "/api/mesh/gossip";
  const request = { audience: "node-1", method: "POST", path: url };
  const token = await makePeerToken(request, { id: entry.id, privateKey: keys.privateKey }, newId(), new Date());
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return server.inject({
    method: "POST",
    url,
    headers,
    payload: typeof payload === "string" ? payload : JSON.stringify(payload),
  });
}

const join = ({ server }: TestServer, payload: unknown) =>
  server.inject({ method: "POST", url: "/api/mesh/join", payload: payload as object });

describe("the exchange of members", () => {
  it("is for members alone", async () => {
    const test = started();
    const answer = await gossip(test, { ...nothing, digest: [[ID, 1, 2]] });
    expect(answer.json()).toEqual({ ok: true, result: nothing });
    expect(test.received).toEqual([{ ...nothing, digest: [[ID, 1, 2]] }]);
    for (const headers of [OWNER, {}])
      expect(
        (await test.server.inject({ method: "POST", url: "/api/mesh/gossip", headers, payload: nothing })).statusCode,
      ).toBeGreaterThan(400);
  });

  it("takes the largest message that a member sends", async () => {
    const test = started();
    const ids = Array.from({ length: MAX_REVOCATIONS }, (_, n) => n.toString(16).padStart(32, "0"));
    const [first, agents] = [firstNode("x"), ["x".repeat(90)]];
    const records = Array.from({ length: MAX_RECORDS }, () => first.record(1, { agents: Array(26).fill(agents[0]) }));
    const said: Gossip = {
      digest: ids.slice(0, MAX_MEMBERS).map((id) => [id, 1_000_000, 1_000_000]),
      revoked: ids.map((id) => [id, "x".repeat(12)]),
      records,
      revocations: [],
    };
    expect(JSON.stringify(records).length).toBeGreaterThan(MAX_NEWS_BYTES);
    expect((await gossip(test, said)).statusCode).toBe(200);
  });

  const record = firstNode("x").record();
  it.each<[string, unknown, number]>([
    ["more members than a mesh has", { ...nothing, digest: Array.from({ length: 100_000 }, () => [ID, 1, 1]) }, 413],
    ["more members than are taken", { ...nothing, digest: Array.from({ length: 5_001 }, () => [ID, 1, 1]) }, 400],
    ["more records than are taken", { ...nothing, records: Array.from({ length: 201 }, () => record) }, 400],
    ["a body of megabytes", { ...nothing, records: ["x".repeat(2_000_000)] }, 413],
    ["a body that is deep", `{"digest":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, 400],
    [
      "an entry that is huge",
      { ...nothing, records: [{ ...record, entry: { ...record.entry, more: "x".repeat(20_000) } }] },
      400,
    ],
    ["a version below nothing", { ...nothing, digest: [[ID, -1, 1]] }, 400],
    ["a beat that is no number", { ...nothing, digest: [[ID, 1, "1"]] }, 400],
    ["an id that is none", { ...nothing, digest: [["../../etc", 1, 1]] }, 400],
    [
      "a chain without end",
      {
        ...nothing,
        records: [{ ...record, admission: Array.from({ length: 17 }, () => ({ public_key: "", signature: "" })) }],
      },
      400,
    ],
    ["what it does not know", { ...nothing, more: 1 }, 400],
    ["a prototype", '{"__proto__":{"digest":[]},"digest":[],"revoked":[],"records":[],"revocations":[]}', 400],
  ])("refuses %s", async (_what, body, status) => {
    const test = started();
    expect((await gossip(test, body)).statusCode).toBe(status);
    expect(test.received).toEqual([]);
  });
});

describe("the request to join", () => {
  it("needs no token of this service, and is in the security log", async () => {
    const test = started();
    expect((await join(test, { token: "cairn-join-x", entry })).json().result).toMatchObject({ node_id: entry.id });
    expect(test.security).toMatchObject([
      { event: "mesh.joined", outcome: "done", details: { node: entry.id, name: "attic" } },
    ]);
    expect(JSON.stringify(test.security)).not.toContain("cairn-join-x");
  });

  it.each([
    ["without a mesh", "RUNTIME_CONFLICT"],
    ["with a wrong token", "RUNTIME_UNAUTHORIZED"],
    ["of a revoked node", "RUNTIME_FORBIDDEN"],
  ] as const)("%s is one refusal there, which is counted and fills no log", async (_what, code) => {
    const test = started();
    test.app.mesh.admit = async () => {
      throw new RuntimeError(code, "No.");
    };
    await join(test, { token: "x", entry });
    expect(test.security.filter(({ event }) => event === "mesh.joined")).toMatchObject([{ outcome: "refused" }]);
    expect(test.security.every(({ outcome }) => outcome === "refused")).toBe(true);
  });

  it.each<[string, unknown, number]>([
    ["that is huge", { token: "x".repeat(40_000), entry }, 413],
    ["whose token is long", { token: "x".repeat(5_000), entry }, 400],
    ["without an entry", { token: "x" }, 400],
    ["with an entry that lacks something", { token: "x", entry: { id: ID } }, 400],
    [
      "with a thousand agents too many",
      { token: "x", entry: { ...entry, agents: Array.from({ length: 1_001 }, () => "a") } },
      400,
    ],
  ])("is refused %s", async (_what, body, status) => {
    const test = started();
    expect((await join(test, body)).statusCode).toBe(status);
    expect(test.asked).toEqual([]);
  });
});

describe("who is a member", () => {
  it.each(["tokens", "join", "leave", "revoke"])("is decided by the owner's token alone: %s", async (what) => {
    const test = started();
    test.app.authenticate = async () => principal("operator", ["admin"]);
    const payload = { join: { token: "x" }, revoke: { node: "x" } }[what] ?? {};
    const ask = (headers: object) =>
      test.server.inject({ method: "POST", url: `/api/admin/mesh/${what}`, headers: { ...headers }, payload });
    expect((await ask({ authorization: "Bearer operator" })).statusCode).toBe(403);
    // The fake node is in no mesh.
    expect((await ask(OWNER)).json().error).toMatchObject({ code: "RUNTIME_CONFLICT" });
  });

  it("shows a revocation to anyone who asks for it by its node", async () => {
    const test = started();
    const first = firstNode();
    const revocation = first.admits("second").revokes(ID);
    test.app.mesh.revocationOf = async (node) => (node === ID ? revocation : null);
    const ask = (node: string) => test.server.inject({ url: `/api/mesh/revocations/${node}` });
    expect((await ask(ID)).json().result).toEqual({ revocation });
    expect((await ask("f".repeat(32))).statusCode).toBe(404);
    expect((await ask("x")).statusCode).toBe(400);
  });
});
