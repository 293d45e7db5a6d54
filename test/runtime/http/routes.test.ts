import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Counter, Registry } from "prom-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { MemoryError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import { healthy, principal } from "../../support/fake-application.ts";
import { listening, OWNER, sendWhole, startServer } from "../../support/http-server.ts";

describe("health", () => {
  test("live says so whatever else is wrong", async () => {
    const { app, server } = startServer();
    app.ready = async () => ({ ready: false, reason: "no database" });
    expect((await server.inject({ url: "/health/live" })).json()).toEqual({ ok: true, result: { live: true } });
  });

  test("ready is 503 with the reason, and when to ask again", async () => {
    const { app, server } = startServer();
    app.ready = async () => ({ ready: false, reason: "the database cannot be reached" });
    const answer = await server.inject({ url: "/health/ready" });
    expect(answer.statusCode).toBe(503);
    expect(answer.headers["retry-after"]).toBeTruthy();
    expect(answer.json().error).toMatchObject({ code: "RUNTIME_NOT_READY", retryable: true });
    expect(answer.json().error.message).toContain("the database cannot be reached");
  });

  test("ready is 503 while draining, and 200 after resuming", async () => {
    const { server } = startServer();
    const ready = async () => (await server.inject({ url: "/health/ready" })).statusCode;
    expect(await ready()).toBe(200);
    await server.inject({ method: "POST", url: "/api/admin/drain", headers: OWNER });
    expect(await ready()).toBe(503);
    await server.inject({ method: "POST", url: "/api/admin/resume", headers: OWNER });
    expect(await ready()).toBe(200);
  });

  test("answers although the store does not", async () => {
    const { app, server } = startServer({ limits: { healthMs: 20 } });
    const ended = new AbortController();
    app.ready = () => delay(60_000, { ready: true }, { signal: ended.signal });
    app.report = () => delay(60_000, healthy(), { signal: ended.signal });
    const ready = await server.inject({ url: "/health/ready" });
    const report = await server.inject({ url: "/health", headers: OWNER });
    ended.abort();
    expect([ready.statusCode, report.statusCode]).toEqual([503, 503]);
    expect(ready.json().error.code).toBe("RUNTIME_NOT_READY");
  });

  test.each([
    ["healthy", 200],
    ["degraded", 200],
    ["unhealthy", 503],
  ] as const)("the report of a node that is %s is %d", async (status, code) => {
    const { app, server } = startServer();
    app.report = async () => ({ ...healthy(), status });
    const answer = await server.inject({ url: "/health", headers: OWNER });
    expect(answer.statusCode).toBe(code);
    expect(answer.json().ok).toBe(code === 200);
    expect(answer.json().result).toEqual({ ...healthy(), status });
  });
});

describe("metrics", () => {
  test("are text, or JSON where that is asked for", async () => {
    const metrics = new Registry();
    new Counter({ name: "turns_total", help: "Turns", registers: [metrics] }).inc(3);
    const { server } = startServer({ metrics });
    await server.inject({ url: "/health/live" });
    const text = await server.inject({ url: "/metrics", headers: OWNER });
    expect(text.headers["content-type"]).toContain("text/plain");
    expect(text.body).toContain("turns_total 3");
    expect(text.body).toContain(
      'cairn_http_request_duration_seconds_count{method="GET",route="/health/live",status="200"} 1',
    );
    const json = await server.inject({ url: "/metrics", headers: { ...OWNER, accept: "application/json" } });
    expect(json.json()).toEqual(expect.arrayContaining([expect.objectContaining({ name: "turns_total" })]));
  });

  test("count event streams too", async () => {
    const metrics = new Registry();
    const { server } = startServer({ metrics });
    const headers = { ...OWNER, accept: "text/event-stream" };
    const payload = { session: "s", text: "hi" };
    await server.inject({ method: "POST", url: "/api/agents/main/messages", headers, payload });
    expect(await metrics.metrics()).toContain('route="/api/agents/:name/messages",status="200"');
  });

  test("have no label that a caller can make up", async () => {
    const metrics = new Registry();
    const { server } = startServer({ metrics });
    for (let n = 0; n < 5; n++) await server.inject({ url: `/made/up/${n}` });
    expect(await metrics.metrics()).not.toContain("made");
  });

  test("of one process survive a second server over the same registry", async () => {
    const metrics = new Registry();
    const { server } = startServer({ metrics });
    await server.ready();
    await server.close();
    const again = startServer({ metrics });
    expect((await again.server.inject({ url: "/metrics", headers: OWNER })).statusCode).toBe(200);
  });
});

describe("memory tools", () => {
  const call = (payload?: object, name = "memory_search") => {
    const started = startServer();
    const url = `/api/memory/tool/${name}`;
    const request = { method: "POST" as const, url, headers: OWNER, ...(payload ? { payload } : {}) };
    return { app: started.app, answer: started.server.inject(request) };
  };

  test("get their arguments unchanged and return their own value", async () => {
    const args = { query: "Zoë\u0000", limit: 3, extra: { nested: [null, 1.5] } };
    const { app, answer } = call(args);
    expect((await answer).json()).toEqual({ ok: true, result: { name: "memory_search", args } });
    expect(app.memoryCalls[0]).toMatchObject({ name: "memory_search", args, caller: { visibility: { all: true } } });
  });

  test("may be called without a body", async () => {
    const { app, answer } = call(undefined, "memory_stats");
    expect((await answer).statusCode).toBe(200);
    expect(app.memoryCalls[0]?.args).toEqual({});
  });

  test("say what is wrong with their arguments", async () => {
    const response = await call({ limit: 3 }).answer;
    expect(response.statusCode).toBe(400);
    expect(response.json().error).toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      issues: [{ path: "query", message: "is required" }],
    });
  });

  test("need an object", async () => {
    expect((await call([1, 2]).answer).statusCode).toBe(400);
  });
});

describe("administration", () => {
  test("drains with the deadline that is given", async () => {
    const { app, server } = startServer();
    const payload = { deadline_s: 2.5, wait: true };
    const answer = await server.inject({ method: "POST", url: "/api/admin/drain", headers: OWNER, payload });
    expect(answer.json()).toEqual({ ok: true, result: { draining: true } });
    expect(app.drains).toEqual([2500]);
  });

  test("lists and revokes tokens", async () => {
    const { server } = startServer();
    const list = await server.inject({ url: "/api/admin/tokens", headers: OWNER });
    expect(list.json().result.tokens).toEqual([
      {
        id: "1",
        name: "hook",
        scopes: ["capture"],
        created_at: "2026-01-01T00:00:00.000Z",
        revoked_at: null,
        expires_at: null,
        last_used_at: null,
      },
    ]);
    const revoke = async (id: string) =>
      (await server.inject({ method: "DELETE", url: `/api/admin/tokens/${id}`, headers: OWNER })).statusCode;
    expect(await revoke("1")).toBe(200);
    expect(await revoke("hook")).toBe(200);
    expect(await revoke("2")).toBe(404);
  });

  test("a token expires in the future, and one that expires makes none that outlives it", async () => {
    const { app, server } = startServer();
    const end = new Date(Date.now() + 3_600_000);
    app.authenticate = async () => ({ ...principal("short", ["admin", "memory"]), expiresAt: end });
    const create = async (authorization: string, expires_at: string | undefined) => {
      const payload = { name: "x", scopes: ["memory"], expires_at };
      const headers = { authorization };
      const answer = await server.inject({ method: "POST", url: "/api/admin/tokens", headers, payload });
      return answer.statusCode;
    };
    expect(await create(OWNER.authorization, end.toISOString())).toBe(200);
    expect(await create(OWNER.authorization, "2020-01-01T00:00:00Z")).toBe(400);
    expect(await create(OWNER.authorization, "tomorrow")).toBe(400);
    expect(await create("Bearer short", end.toISOString())).toBe(200);
    expect(await create("Bearer short", new Date(end.getTime() + 1).toISOString())).toBe(403);
    expect(await create("Bearer short", undefined)).toBe(403);
  });

  test("a token is rotated by who could have made it, and gets an expiry in the future", async () => {
    const { app, server } = startServer();
    const rotate = async (id: string, payload: object, authorization = OWNER.authorization) =>
      server.inject({ method: "POST", url: `/api/admin/tokens/${id}/rotate`, headers: { authorization }, payload });
    expect((await rotate("hook", {})).json()).toEqual({
      ok: true,
      result: { id: "1", name: "hook", scopes: ["capture"], expires_at: null, token: "cairn_value" },
    });
    const expires_at = "2199-01-31T00:00:00.000Z";
    expect((await rotate("1", { expires_at })).json().result.expires_at).toBe(expires_at);
    expect((await rotate("2", {})).statusCode).toBe(404);
    expect((await rotate("1", { expires_at: "2020-01-01T00:00:00Z" })).statusCode).toBe(400);
    app.authenticate = async () => principal("other", ["admin", "memory"]);
    expect((await rotate("1", {}, "Bearer other")).statusCode).toBe(403);
    app.authenticate = async () => principal("other", ["admin", "capture"]);
    expect((await rotate("1", {}, "Bearer other")).statusCode).toBe(200);
  });

  test.each([
    { name: "x", scopes: ["everything"] },
    { name: "x", scopes: [] },
    { name: " ", scopes: ["memory"] },
  ])("refuses the token %j", async (payload) => {
    const { server } = startServer();
    const answer = await server.inject({ method: "POST", url: "/api/admin/tokens", headers: OWNER, payload });
    expect(answer.statusCode).toBe(400);
  });

  test("sends a backup as it is made, far beyond any body limit", async () => {
    const started = startServer();
    started.app.backupChunks = async function* () {
      for (let n = 0; n < 50; n++) yield Buffer.alloc(1024 * 1024, n);
    };
    const base = await listening(started);
    const answer = await fetch(`${base}/api/admin/memory/backup`, { headers: OWNER });
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect((await answer.arrayBuffer()).byteLength).toBe(50 * 1024 * 1024);
  });

  test("lists scheduled backups, reads them again on request, and sends one by its name", async () => {
    const { server } = startServer();
    const path = "/api/admin/memory/backups";
    const get = (below = "") => server.inject({ url: `${path}${below}`, headers: OWNER });
    const [backup] = (await get()).json().result.backups;
    expect(backup).toMatchObject({ name: "cairn-20260101T020304Z.backup", verified: true });
    expect((await get("?verify=true")).json().result.backups[0]).toMatchObject({ verified: false });
    const answer = await get(`/${backup.name}`);
    expect(answer.headers["content-type"]).toBe("application/octet-stream");
    expect(answer.body).toBe("first second");
    expect((await get(`/${encodeURIComponent("../node.key")}`)).statusCode).toBe(404);
  });

  test("a backup that cannot start is an error, one that breaks is cut off", async () => {
    const started = startServer();
    const base = await listening(started);
    started.app.backupChunks = async function* () {
      yield* [];
      throw new MemoryError("MEMORY_UNAVAILABLE", "The store cannot be reached.");
    };
    const refused = await fetch(`${base}/api/admin/memory/backup`, { headers: OWNER });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ ok: false, error: { code: "MEMORY_UNAVAILABLE" } });

    started.app.backupChunks = async function* () {
      yield Buffer.from("half");
      throw new MemoryError("MEMORY_UNAVAILABLE", "The store cannot be reached.");
    };
    const broken = await fetch(`${base}/api/admin/memory/backup`, { headers: OWNER });
    expect(broken.status).toBe(200);
    await expect(broken.arrayBuffer()).rejects.toThrow();
  });

  test("takes an archive of any size", async () => {
    const { app, server } = startServer();
    const payload = Buffer.alloc(40 * 1024 * 1024, 7);
    const headers = { ...OWNER, "content-type": "application/octet-stream" };
    const answer = await server.inject({ method: "POST", url: "/api/admin/memory/restore", headers, payload });
    expect(answer.json()).toMatchObject({ ok: true, result: { counts: { messages: 3 } } });
    expect(app.restored[0]?.equals(payload)).toBe(true);
  });

  test("takes JSON lines, and no JSON", async () => {
    const { server } = startServer();
    const send = (type: string, payload: string) =>
      server.inject({
        method: "POST",
        url: "/api/admin/memory/import",
        headers: { ...OWNER, "content-type": type },
        payload,
      });
    expect((await send("application/x-ndjson", "{}\n{}\n")).json().result).toEqual({ imported: 2, skipped: 0 });
    expect((await send("application/json", "{}")).statusCode).toBe(415);
  });

  test("refuses a large archive that nobody reads, and its sender learns why", async () => {
    const started = startServer();
    started.app.archives.restore = async (archive) => {
      for await (const _ of archive) break;
      throw new MemoryError("MEMORY_STORE_NOT_EMPTY", "The store is not empty.");
    };
    const base = await listening(started);
    const headers = { ...OWNER, "content-type": "application/octet-stream" };
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    for (let n = 0; n < 2; n++) {
      const answer = await sendWhole(
        agent,
        `${base}/api/admin/memory/restore`,
        headers,
        Buffer.alloc(40 * 1024 * 1024),
      );
      expect(answer.status).toBe(409);
      expect(answer.body).toMatchObject({ error: { code: "MEMORY_STORE_NOT_EMPTY" } });
    }
  });

  test("an upload that stalls, or is missing, is refused", async () => {
    const started = startServer({ limits: { stallMs: 50 } });
    const base = await listening(started);
    const stalled = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(Buffer.from("some")) });
    const answer = await fetch(`${base}/api/admin/memory/restore`, {
      method: "POST",
      headers: { ...OWNER, "content-type": "application/octet-stream" },
      body: stalled,
      duplex: "half",
    });
    expect(answer.status).toBe(400);
    expect(started.app.restored).toEqual([]);
    const missing = await fetch(`${base}/api/admin/memory/restore`, { method: "POST", headers: OWNER });
    expect(missing.status).toBe(400);
  });
});

describe("the mesh", () => {
  test("ping tells who this is", async () => {
    const { server } = startServer();
    const ping = async () => (await server.inject({ url: "/api/mesh/ping", headers: OWNER })).json().result;
    expect(await ping()).toEqual({
      node_id: "node-1",
      name: "first",
      version: "0.1.0",
      state: "online",
      time: "2026-01-01T00:00:00.000Z",
    });
    await server.inject({ method: "POST", url: "/api/admin/drain", headers: OWNER, payload: { wait: true } });
    expect(await ping()).toMatchObject({ state: "draining" });
  });

  test("lets the node ask the others, or one of them", async () => {
    const { app, server } = startServer();
    const ask = (query = "") => server.inject({ url: `/api/mesh/peers${query}`, headers: OWNER });
    const answered = { id: "node-2", name: "second", ms: 1.5, clock_ahead_s: 0.1, error: null };
    expect((await ask("?node=second")).json().result).toEqual({ pings: [answered] });
    expect((await ask("?node=third")).json().error.code).toBe("RUNTIME_NOT_FOUND");
    const error = new RuntimeError("RUNTIME_NOT_RUNNING", "No node answers.", {
      hint: "Start it.",
      cause: "x",
    }).toBody();
    app.reachability.ping = async () => [{ ...answered, ms: null, clock_ahead_s: null, error }];
    expect((await ask()).json().result.pings[0].error).toEqual(error);
  });

  test("lists the nodes that share the store, and says which one answers", async () => {
    const { server } = startServer();
    const answer = await server.inject({ url: "/api/mesh", headers: OWNER });
    expect(answer.json().result.nodes).toEqual([
      {
        id: "node-1",
        name: "first",
        version: "0.1.0",
        schema: 22,
        address: null,
        certificate_sha256: null,
        next_certificate_sha256: null,
        agents: ["main", "other"],
        hosts: ["main"],
        heard_at: "2026-01-01T00:00:00.000Z",
        status: "online",
        shares_database: true,
        self: true,
      },
    ]);
  });
});

describe("request ids", () => {
  test("are the caller's, where they can be repeated safely", async () => {
    const { server } = startServer();
    const idFor = async (given: string) =>
      (await server.inject({ url: "/health/live", headers: { "x-request-id": given } })).headers["x-request-id"];
    expect(await idFor("abc-123")).toBe("abc-123");
    expect(await idFor("x".repeat(500))).toMatch(/^id-/);
    expect(await idFor('"}{"')).toMatch(/^id-/);
  });
});

describe("/openapi.json", () => {
  test("describes every route with what it takes, what it answers and how it fails", async () => {
    const { server } = startServer();
    const document = (await server.inject({ url: "/openapi.json" })).json();
    expect(document.openapi).toBe("3.1.0");
    expect(Object.keys(document.paths).sort()).toEqual([
      "/api/admin/drain",
      "/api/admin/jobs",
      "/api/admin/jobs/{task}/retry-failed",
      "/api/admin/logins",
      "/api/admin/logins/{provider}",
      "/api/admin/mcp-servers/{id}/approve",
      "/api/admin/mcp-servers/{id}/changes",
      "/api/admin/memory/backfill-tool-synth",
      "/api/admin/memory/backup",
      "/api/admin/memory/backups",
      "/api/admin/memory/backups/{name}",
      "/api/admin/memory/export",
      "/api/admin/memory/forget",
      "/api/admin/memory/forget/preview",
      "/api/admin/memory/import",
      "/api/admin/memory/restore",
      "/api/admin/memory/rows/{id}",
      "/api/admin/memory/sessions",
      "/api/admin/memory/wiki/{agent}",
      "/api/admin/memory/wiki/{agent}/{page}",
      "/api/admin/mesh/join",
      "/api/admin/mesh/leave",
      "/api/admin/mesh/revoke",
      "/api/admin/mesh/tokens",
      "/api/admin/pairings",
      "/api/admin/pairings/{channel}/{user}",
      "/api/admin/resume",
      "/api/admin/rollout",
      "/api/admin/rollout/lease",
      "/api/admin/rollout/lease/release",
      "/api/admin/schedules",
      "/api/admin/schedules/{agent}/{name}/pause",
      "/api/admin/schedules/{agent}/{name}/resume",
      "/api/admin/schedules/{agent}/{name}/run",
      "/api/admin/test-turn",
      "/api/admin/tokens",
      "/api/admin/tokens/{id}",
      "/api/admin/tokens/{id}/rotate",
      "/api/agents/{name}/commands",
      "/api/agents/{name}/messages",
      "/api/agents/{name}/turns/{turn_id}",
      "/api/agents/{name}/turns/{turn_id}/answer",
      "/api/agents/{name}/turns/{turn_id}/attachments/{sha256}",
      "/api/agents/{name}/turns/{turn_id}/stop",
      "/api/agents/{name}/voice",
      "/api/approvals",
      "/api/approvals/standing",
      "/api/approvals/standing/{id}",
      "/api/approvals/{id}",
      "/api/capture",
      "/api/channels/{id}/webhook",
      "/api/memory/tool/{name}",
      "/api/mesh",
      "/api/mesh/gossip",
      "/api/mesh/join",
      "/api/mesh/peers",
      "/api/mesh/ping",
      "/api/mesh/revocations/{node}",
      "/api/usage",
      "/health",
      "/health/live",
      "/health/ready",
      "/mcp",
      "/metrics",
      "/v1/chat/completions",
      "/v1/models",
      "/v1/models/{model}",
    ]);
    for (const [path, methods] of Object.entries<Record<string, OpenApiOperation>>(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        expect(operation.summary, `${method} ${path}`).toBeTruthy();
        expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["200", "500", "503"]));
      }
    }
    const message = document.paths["/api/agents/{name}/messages"].post;
    expect(message.security).toEqual([{ bearer: [] }]);
    expect(Object.keys(message.responses["200"].content)).toEqual(["application/json", "text/event-stream"]);
    expect(message.responses["409"].content["application/json"].schema).toEqual({ $ref: "#/components/schemas/Error" });
    expect(message.requestBody.content["application/json"].schema.properties).toHaveProperty("session");
    const restore = document.paths["/api/admin/memory/restore"].post;
    expect(Object.keys(restore.requestBody.content)).toEqual(["application/octet-stream"]);
    for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      expect(document.components.schemas).toHaveProperty(String(name));
    }
    expect(document.components.schemas.Error.properties.error.properties).toHaveProperty("retryable");
  });
});

interface OpenApiOperation {
  readonly summary?: string;
  readonly responses: Readonly<Record<string, unknown>>;
}
