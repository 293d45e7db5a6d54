/** A node of a mesh, as a process, and somebody with a copied token and a key: what they get by it over the network, and what not. */

import { generateKeyPairSync } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent, fetch } from "undici";
import { v4 as newId } from "uuid";
import { expect, it, onTestFinished } from "vitest";
import { readJoinToken } from "../../runtime/contracts/join-token.ts";
import type { Admission, Gossip, MeshRecord } from "../../runtime/contracts/membership.ts";
import { makePeerToken } from "../../runtime/domain/mesh/peer-token.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { createCli } from "../support/cli.ts";
import { placeEmbeddedCopy } from "../support/databases.ts";
import { MINIMAL } from "../support/deployment.ts";
import { nodeWith, type TestNode } from "../support/meshes.ts";
import { entryOf } from "../support/node-entries.ts";
import { freePort } from "../support/ports.ts";
import { REAL, run, start } from "../support/real-service.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 200 };
const listening = { ...REAL, SERVICE_LISTEN: "" };
const nothing: Gossip = { digest: [], revoked: [], records: [], revocations: [] };

async function attacked() {
  const cli = await createCli();
  await placeEmbeddedCopy(join(cli.home, "store"));
  const port = await freePort();
  const mesh = `mesh: { enabled: true, name: box, advertise: "127.0.0.1:${port}", heartbeat: 1s }\n`;
  await writeFile(join(cli.home, "cairn.yaml"), `${MINIMAL}runtime: { listen: "127.0.0.1:${port}" }\n${mesh}`);
  const own = { ...cli, run: ((given, options) => cli.run(given, { ...options, env: listening })) as typeof cli.run };
  await start(own);
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  onTestFinished(() => dispatcher.close());
  async function ask(
    path: string,
    options: { readonly method?: string; readonly json?: unknown; readonly token?: string },
  ) {
    const { method = "POST", json, token } = options;
    const answer = await fetch(`https://127.0.0.1:${port}${path}`, {
      method,
      dispatcher,
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    // Answers of the node's own routes.
    return { status: answer.status, body: (await answer.json()) as { result?: unknown; error?: { code: string } } };
  }
  return { cli: own, ask };
}

it("of those who come with a copied token one gets in, and gets nothing there but what a member has", async () => {
  const { cli, ask } = await attacked();
  const command = (...argv: readonly string[]) => run(cli, argv);
  const token = String((await command("mesh", "token"))["token"]);
  const node = readJoinToken(token)?.node ?? "";
  const thieves = Array.from({ length: 6 }, (_, index) => ({
    name: `thief-${index}`,
    keys: generateKeyPairSync("ed25519"),
  }));
  const { version: release } = await command("version");
  const said = {
    address: "http://127.0.0.1:1/shutdown?now#",
    release: String(release),
    made_at: new Date().toISOString(),
  };
  const answers = await Promise.all(
    thieves.map(({ name, keys }) =>
      ask("/api/mesh/join", { json: { token, entry: entryOf(keys, { ...said, name, version: 1 }) } }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401, 401]);
  const at = answers.findIndex(({ status }) => status === 200);
  const [joined, thief] = [answers[at]?.body.result as { admission: Admission }, thieves[at]];
  if (thief === undefined) throw new Error("nobody got in");
  const member: TestNode = nodeWith(thief.name, thief.keys, joined.admission);

  const signed = (method: string, path: string, more: { audience?: string; at?: Date } = {}) =>
    makePeerToken(
      { audience: more.audience ?? node, method, path },
      { id: member.id, privateKey: member.keys.privateKey },
      newId(),
      more.at ?? new Date(),
    );
  const gossip = async (body: Gossip) =>
    ask("/api/mesh/gossip", { json: body, token: await signed("POST", "/api/mesh/gossip") });
  expect((await gossip(nothing)).status).toBe(200);

  // What is not for members.
  for (const [method, path, json] of [
    ["POST", "/api/admin/mesh/tokens", undefined],
    ["POST", "/api/admin/mesh/revoke", { node: "box" }],
    ["GET", "/api/admin/tokens", undefined],
    ["GET", "/api/admin/memory/backup", undefined],
    ["GET", "/api/mesh", undefined],
    ["GET", "/health", undefined],
    ["POST", "/api/agents/main/commands", { session: "s", command: "/status" }],
    ["POST", "/v1/chat/completions", { model: "main", messages: [] }],
  ] as const)
    expect((await ask(path, { method, json, token: await signed(method, path) })).status, path).toBe(403);

  // Tokens that are used again, for something else, for another node, or too old.
  const once = await signed("GET", "/api/mesh/ping");
  const ping = async (with_: string) => (await ask("/api/mesh/ping", { method: "GET", token: with_ })).status;
  expect([await ping(once), await ping(once)]).toEqual([200, 401]);
  expect(await ping(await signed("GET", "/api/mesh/ping", { audience: member.id }))).toBe(401);
  expect(await ping(await signed("POST", "/api/mesh/gossip"))).toBe(401);
  expect(
    (await ask("/api/mesh/ping", { method: "GET", token: await signed("GET", "/api/mesh/ping", { at: new Date(0) }) }))
      .body.error?.code,
  ).toBe("RUNTIME_CLOCK_SKEW");

  // Entries of others, revocations without end, nodes that it makes up.
  const own = (await gossip(nothing)).body.result as Gossip;
  const box = own.records.find(({ entry }) => entry.id === node) as MeshRecord;
  const lie = {
    entry: { ...box.entry, address: "https://evil.example", version: box.entry.version + 10 },
    admission: box.admission,
  };
  const ids = Array.from({ length: 200 }, (_, n) => n.toString(16).padStart(32, "0"));
  for (let round = 0; round < 3; round++)
    expect(
      (
        await gossip({
          ...nothing,
          records: [lie],
          revocations: ids.map((id) => member.revokes(id.replace(/^0/, String(round)))),
        })
      ).status,
    ).toBe(200);
  expect((await gossip({ ...nothing, digest: [[node, box.entry.version + 1_000_000, 5]] })).status).toBe(200);
  const listed = async () => {
    const { nodes } = (await command("mesh", "list")) as { nodes: { name: string; address: string }[] };
    return nodes.map(({ name, address }) => [name, address]);
  };
  expect(await listed()).toEqual([
    ["box", box.entry.address],
    [member.name, said.address],
  ]);

  // Revoked, it is nobody: neither it nor whom it admits, whatever it says of itself.
  await command("mesh", "revoke", member.name, "--confirm", member.name);
  expect((await gossip(nothing)).status).toBe(401);
  const again = { token, entry: entryOf(member.keys, { ...said, name: member.name, version: 9 }) };
  expect((await ask("/api/mesh/join", { json: again })).status).toBe(403);
  expect(await listed()).toEqual([["box", box.entry.address]]);
  // What is secret of the token is written nowhere, and who tried in vain fills no log.
  const secret = readJoinToken(token)?.secret ?? "";
  const files = (await readdir(cli.home, { recursive: true, withFileTypes: true })).filter((file) => file.isFile());
  const texts = await Promise.all(files.map(async (file) => readFile(join(file.parentPath, file.name), "latin1")));
  expect(texts.filter((text) => text.includes(secret))).toEqual([]);
  const before = texts.join("").split('"mesh.joined"').length;
  for (let n = 0; n < 50; n++) expect((await ask("/api/mesh/join", { json: again })).status).toBe(403);
  const after = await Promise.all(files.map(async (file) => readFile(join(file.parentPath, file.name), "latin1")));
  expect(after.join("").split('"mesh.joined"').length - before).toBeLessThan(5);
  await expect.poll(async () => (await command("status"))["state"], EVENTUALLY).toBe("running");
});
