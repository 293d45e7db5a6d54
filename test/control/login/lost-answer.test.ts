import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { keepOnNode } from "../../../control/login/on-nodes.ts";
import type { DeployedStack } from "../../../control/service/deployed-stack.ts";
import { createClient } from "../../../runtime/client/index.ts";
import type { LoginRecord } from "../../../runtime/contracts/logins.ts";

const ENDPOINTS = { authorizeUrl: "https://a.example/", tokenUrl: "https://t.example/", clientId: "c", scopes: [] };
const TARGET = { provider: "anthropic", home: "/nowhere", endpoints: ENDPOINTS, server: null, keyComesFirst: false };
const TOKENS = { accessToken: "a", refreshToken: "r", expiresInS: 3_600, scopes: null };
const NONE: LoginRecord = {
  provider: "anthropic",
  logged_in: false,
  expires_at: null,
  renewable: false,
  scopes: [],
  key_comes_first: false,
  client_id: "c",
  token_url: "https://t.example/",
  server_url: null,
  problem: null,
};
const OLD: LoginRecord = { ...NONE, logged_in: true, expires_at: "2030-01-01T00:00:00.000Z" };
const NEW: LoginRecord = { ...OLD, expires_at: "2030-01-02T00:00:00.000Z" };
const ENDLESS: LoginRecord = { ...OLD, expires_at: null };

/** A node that breaks the connection once it has read a login. `after`: what it has then; null: it does not answer any more. */
async function breakingNode(before: LoginRecord, after: LoginRecord | null): Promise<DeployedStack> {
  let current: LoginRecord | null = before;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "PUT") {
      for await (const _piece of request);
      current = after;
      request.socket.destroy();
    } else if (current === null) request.socket.destroy();
    else {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ok: true, result: { logins: [current] } }));
    }
  }
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  // A server that listens on a port has an address of this kind.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = async () => ({ client: createClient({ baseUrl: url, token: "t" }), url, close: async () => undefined });
  // Of a stack no more is used.
  return { nodes: ["one"], members: [{ name: "one", node: "one" }], record: { nodes: [] }, open } as never;
}

async function kept(before: LoginRecord, after: LoginRecord | null) {
  const stack = await breakingNode(before, after);
  const login = { target: TARGET, endpoints: ENDPOINTS };
  return keepOnNode(stack, "one", login, TOKENS, new AbortController().signal);
}

it.each([
  ["the first login", NONE, NEW],
  ["a further login", OLD, NEW],
])("a lost answer is no failure where the node has stored %s", async (_what, before, after) => {
  expect(await kept(before, after)).toMatchObject({ logged_in: true, changed: true, nodes: [{ node: "one" }] });
});

it.each([
  ["has none", NONE, NONE],
  ["has the former login", OLD, OLD],
])("a lost answer is a failure where the node %s", async (_what, before, after) => {
  const error = await kept(before, after).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
  expect(error).not.toMatchObject({ message: expect.stringContaining("unknown") });
});

it.each([
  ["does not answer any more", OLD, null],
  ["has logins without an end", ENDLESS, ENDLESS],
])("a lost answer is called unknown where the node %s", async (_what, before, after) => {
  await expect(kept(before, after)).rejects.toMatchObject({
    code: "CHANNEL_CONNECTION_LOST",
    message: expect.stringContaining("It is unknown whether the node one has stored the login"),
    details: { hint: expect.stringContaining("cairn login anthropic --status --node one") },
  });
});
