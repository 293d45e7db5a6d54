import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { MemoryError } from "../../../runtime/contracts/errors.ts";
import { type FakeApplication, OWNER_TOKEN, principal } from "../../support/fake-application.ts";
import { listening, OWNER, startServer, type TestServer } from "../../support/http-server.ts";

const ACCEPT = { accept: "application/json, text/event-stream" };
const message = (method: string, params: object = {}, id: number | string = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

const post = (payload: unknown, headers: Readonly<Record<string, string>> = OWNER) =>
  ({
    method: "POST",
    url: "/mcp",
    headers: { ...ACCEPT, "content-type": "application/json", ...headers },
    payload: typeof payload === "string" ? payload : JSON.stringify(payload),
  }) as const;

async function connected(started: TestServer, token = OWNER_TOKEN): Promise<Client> {
  const url = new URL("/mcp", await listening(started));
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  // The class leaves optional members undefined where the interface would have them absent.
  const transport = new StreamableHTTPClientTransport(url, { requestInit });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return client;
}

/** Tools of which one waits until its call is aborted. */
function hanging(app: FakeApplication): { readonly begun: Promise<void>; readonly ended: Promise<unknown> } {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  vi.spyOn(app.memoryTools, "call").mockImplementation(async (_name, _args, { signal }) => {
    begun.resolve();
    const aborted = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => {
      ended.resolve(signal.reason);
      aborted.reject(signal.reason);
    });
    return aborted.promise;
  });
  return { begun: begun.promise, ended: ended.promise };
}

describe("the Model Context Protocol, with the SDK's client", () => {
  test("lists the tools that this node offers, with their schemas", async () => {
    const client = await connected(startServer());
    expect(client.getServerVersion()).toMatchObject({ name: "cairn", version: "0.1.0" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["memory_search", "memory_stats"]);
    expect(tools[0]).toMatchObject({
      inputSchema: { type: "object", required: ["query"], additionalProperties: false },
      annotations: { readOnlyHint: true },
    });
  });

  test("lists the write tools where they are there", async () => {
    const started = startServer();
    vi.spyOn(started.app.memoryTools, "names").mockReturnValue(["memory_append", "memory_ingest_session"]);
    const { tools } = await (await connected(started)).listTools();
    expect(tools.map(({ name, inputSchema }) => [name, inputSchema.required])).toEqual([
      ["memory_append", ["session_key", "role"]],
      ["memory_ingest_session", ["session_key", "messages"]],
    ]);
    expect(tools[0]?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: false, idempotentHint: true });
  });

  test("calls a tool with the whole memory in view", async () => {
    const started = startServer();
    const client = await connected(started);
    const result = await client.callTool({ name: "memory_search", arguments: { query: "x" } });
    expect(result).toEqual({
      content: [{ type: "text", text: JSON.stringify({ name: "memory_search", args: { query: "x" } }) }],
    });
    expect(started.app.memoryCalls[0]?.caller.visibility).toEqual({ all: true });
  });

  test("what a tool says no to is a result that a model can read", async () => {
    const client = await connected(startServer());
    const result = await client.callTool({ name: "memory_search" });
    expect(result.isError).toBe(true);
    const [content] = result.content as [{ text: string }];
    expect(JSON.parse(content.text)).toMatchObject({
      ok: false,
      error: { code: "MEMORY_INVALID_ARGUMENT", issues: [{ path: "query" }] },
    });
  });

  test("what a driver says stays inside", async () => {
    const started = startServer();
    vi.spyOn(started.app.memoryTools, "call").mockRejectedValue(
      new MemoryError("MEMORY_QUERY_FAILED", "relation secret does not exist", { cause: new Error("select secret") }),
    );
    const result = await (await connected(started)).callTool({ name: "memory_stats" });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result)).not.toContain("secret");
    expect(started.log.join("\n")).toContain("select secret");
  });

  test("a tool that is not here is a protocol error, gated ones too and before their arguments", async () => {
    const client = await connected(startServer());
    for (const name of ["memory_append", "nothing", "__proto__"]) {
      await expect(client.callTool({ name, arguments: { role: 7 } })).rejects.toMatchObject({ code: -32_602 });
    }
  });

  test("answers many requests of one client at once, each with its own", async () => {
    const client = await connected(startServer());
    const queries = Array.from({ length: 30 }, (_, n) => `query ${n}`);
    const answers = await Promise.all(
      queries.map((query) => client.callTool({ name: "memory_search", arguments: { query } })),
    );
    expect(answers.map(({ content }) => JSON.parse((content as [{ text: string }])[0].text).args.query)).toEqual(
      queries,
    );
  });

  test("refuses a wrong token, and one without the scope", async () => {
    await expect(connected(startServer(), "wrong")).rejects.toThrow(/401|not valid/i);
    const started = startServer();
    started.app.authenticate = async () => principal("hook", ["capture", "agent", "admin"]);
    await expect(connected(started, "hook")).rejects.toThrow(/memory/);
    const allowed = startServer();
    allowed.app.authenticate = async () => principal("reader", ["memory"]);
    expect((await (await connected(allowed, "reader")).listTools()).tools).not.toEqual([]);
  });
});

describe("POST /mcp", () => {
  test("ends the call when the client disconnects", async () => {
    const started = startServer();
    const { begun, ended } = hanging(started.app);
    const url = await listening(started);
    const disconnect = new AbortController();
    const { method, headers, payload } = post(message("tools/call", { name: "memory_stats" }));
    const answer = fetch(`${url}/mcp`, { method, headers, body: payload, signal: disconnect.signal });
    await begun;
    disconnect.abort();
    await expect(answer).rejects.toThrow();
    expect(await ended).toBeDefined();
  });

  test("keeps nothing between two requests: a tool can be called without an introduction", async () => {
    const { server } = startServer();
    const answer = await server.inject(post(message("tools/call", { name: "memory_stats" }, "one")));
    expect(answer.headers["mcp-session-id"]).toBeUndefined();
    expect(answer.json()).toMatchObject({ id: "one", result: { content: [{ type: "text" }] } });
  });

  test("takes a notification without an answer", async () => {
    const { server } = startServer();
    const answer = await server.inject(post({ jsonrpc: "2.0", method: "notifications/initialized" }));
    expect([answer.statusCode, answer.body]).toEqual([202, ""]);
  });

  test.each([
    ["a body that is not JSON", "{", 400, -32_700],
    ["JSON that is no message", { hello: 1 }, 400, -32_700],
    ["null", "null", 400, -32_700],
    ["an unknown method", message("tools/cut"), 200, -32_601],
    ["a call without a name", message("tools/call", {}), 200, -32_603],
    ["a body that is too large", message("tools/call", { name: "x".repeat(3_000) }), 413, -32_600],
  ])("answers %s with an error of the protocol", async (_what, payload, status, code) => {
    const { server } = startServer({ limits: { bodyBytes: 2_000 } });
    const answer = await server.inject(post(payload));
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ jsonrpc: "2.0", error: { code, message: expect.any(String) } });
  });

  test("asks for a token in the protocol's words, with our code beside them", async () => {
    const { server } = startServer();
    const answer = await server.inject(post(message("tools/list"), {}));
    expect(answer.statusCode).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain("Bearer");
    expect(answer.json()).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { data: { code: "RUNTIME_UNAUTHORIZED" } },
    });
  });

  test.each([
    ["http://evil.example", "evil.example", 403],
    ["http://evil.example", "127.0.0.1:7433", 403],
    ["http://127.0.0.1:7433", "127.0.0.1:7433", 200],
  ])("from a page of %s under %s is %d", async (origin, host, status) => {
    const { server } = startServer();
    const answer = await server.inject(post(message("tools/list"), { ...OWNER, origin, host }));
    expect(answer.statusCode).toBe(status);
  });

  test("wants a client that takes both kinds of answers, and JSON", async () => {
    const { server } = startServer();
    expect(
      (await server.inject(post(message("tools/list"), { ...OWNER, accept: "application/json" }))).statusCode,
    ).toBe(406);
    expect((await server.inject(post("x=1", { ...OWNER, "content-type": "text/html" }))).statusCode).toBe(415);
  });

  test("there is no stream to listen to, and no session to end", async () => {
    const { server } = startServer();
    for (const method of ["GET", "DELETE"] as const) {
      const answer = await server.inject({ method, url: "/mcp", headers: { ...OWNER, ...ACCEPT } });
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, "POST"]);
    }
  });

  test("ends with the server, and is refused while it closes", async () => {
    const started = startServer({ limits: { closeMs: 100 } });
    const { begun } = hanging(started.app);
    const client = await connected(started);
    const call = client.callTool({ name: "memory_stats" });
    call.catch(() => undefined);
    await begun;
    await started.server.close();
    await expect(call).rejects.toThrow();
  });
});
