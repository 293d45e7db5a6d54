import { describe, expect, test } from "vitest";
import { isOurs } from "../../../runtime/http/origin.ts";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const wrong = { authorization: "Bearer wrong" };

describe("tokens", () => {
  test("liveness, readiness, ping and the description need none", async () => {
    const { server } = startServer();
    for (const url of ["/health/live", "/health/ready", "/api/mesh/ping", "/openapi.json"]) {
      expect((await server.inject({ url })).statusCode, url).toBe(200);
    }
  });

  test("everything else does, and says so", async () => {
    const { server } = startServer();
    const paths = Object.entries<Record<string, unknown>>(await described(server));
    const open = ["/health/live", "/health/ready", "/api/mesh/ping"];
    let checked = 0;
    for (const [path, methods] of paths) {
      if (open.includes(path)) continue;
      for (const method of Object.keys(methods)) {
        const url = path.replaceAll(/\{\w+\}/g, "main");
        const answer = await server.inject({ method: method.toUpperCase() as "GET", url });
        expect(answer.statusCode, `${method} ${path}`).toBe(401);
        expect(answer.headers["www-authenticate"]).toBe('Bearer realm="cairn"');
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(15);
  });

  test("a wrong one is 401 and tells why", async () => {
    const { server } = startServer();
    const answer = await server.inject({ url: "/health", headers: wrong });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers["www-authenticate"]).toBe('Bearer realm="cairn", error="invalid_token"');
    expect(answer.json().error.code).toBe("RUNTIME_UNAUTHORIZED");
  });

  test("another scheme is a wrong token", async () => {
    const { server } = startServer();
    const headers = { authorization: "Basic b3duZXI6eA==" };
    expect((await server.inject({ url: "/health", headers })).statusCode).toBe(401);
  });

  test("a token does what its scopes say, and nothing else", async () => {
    const { app, server } = startServer();
    app.authenticate = async (token) => principal(token, [token as "memory"]);
    const routes = {
      memory: { method: "POST", url: "/api/memory/tool/memory_stats" },
      agent: { method: "GET", url: "/v1/models" },
      admin: { method: "GET", url: "/api/admin/tokens" },
    } as const;
    for (const scope of ["capture", "memory", "agent", "admin"]) {
      const headers = { authorization: `Bearer ${scope}` };
      expect((await server.inject({ url: "/health", headers })).statusCode).toBe(200);
      for (const [needed, route] of Object.entries(routes)) {
        const answer = await server.inject({ ...route, headers });
        expect(answer.statusCode, `${scope} at ${route.url}`).toBe(scope === needed ? 200 : 403);
        if (scope === needed) continue;
        expect(answer.headers["www-authenticate"]).toContain(`scope="${needed}"`);
      }
    }
  });

  test("a route that names no scope is for admin", async () => {
    const { app, server } = startServer();
    app.authenticate = async (token) => principal(token, [token as "memory"]);
    server.get("/forgotten", async () => "secret");
    const ask = async (token: string) =>
      (await server.inject({ url: "/forgotten", headers: { authorization: `Bearer ${token}` } })).statusCode;
    expect([await ask("memory"), await ask("agent"), await ask("admin")]).toEqual([403, 403, 200]);
  });

  test("the memory leaves with the scope for memory and that for administration only", async () => {
    const { app, server } = startServer();
    app.authenticate = async (token) => principal(token, token.split("+") as "memory"[]);
    for (const url of ["/api/admin/memory/backup", "/api/admin/memory/export"]) {
      const ask = (token: string) => server.inject({ url, headers: { authorization: `Bearer ${token}` } });
      for (const token of ["admin", "memory", "admin+agent+capture"]) {
        const answer = await ask(token);
        expect(answer.statusCode, `${token} at ${url}`).toBe(403);
        expect(answer.headers["www-authenticate"]).toContain('scope="admin memory"');
      }
      expect((await ask("admin+memory")).statusCode).toBe(200);
    }
  });

  test("an archive is restored for the owner's token alone, whatever the scopes of another", async () => {
    const { app, server } = startServer();
    app.authenticate = async () => principal("ops", ["capture", "memory", "agent", "admin"]);
    const restore = (headers: Record<string, string>, query = "") =>
      server.inject({
        method: "POST",
        url: `/api/admin/memory/restore${query}`,
        headers: { ...headers, "content-type": "application/octet-stream" },
        payload: Buffer.from("archive"),
      });
    for (const query of ["", "?tokens=true"]) {
      const answer = await restore({ authorization: "Bearer ops" }, query);
      expect(answer.statusCode).toBe(403);
      expect(answer.json().error).toMatchObject({ code: "RUNTIME_FORBIDDEN" });
    }
    expect(app.restored).toEqual([]);
    expect((await restore(OWNER)).statusCode).toBe(200);
    expect((await restore(OWNER, "?tokens=maybe")).statusCode).toBe(400);
    expect(app.restoredTokens).toEqual([false]);
    expect((await restore(OWNER, "?tokens=true")).statusCode).toBe(200);
    expect(app.restoredTokens).toEqual([false, true]);
  });

  test("lines come into agents' own sessions with the owner's token alone", async () => {
    const { app, server } = startServer();
    app.authenticate = async () => principal("ops", ["capture", "memory", "agent", "admin"]);
    const headers = { "content-type": "application/x-ndjson" };
    for (const authorization of ["Bearer ops", OWNER.authorization]) {
      const request = { method: "POST", url: "/api/admin/memory/import", payload: "{}\n" } as const;
      expect((await server.inject({ ...request, headers: { ...headers, authorization } })).statusCode).toBe(200);
    }
    expect(app.importedTurnSessions).toEqual([false, true]);
  });

  test("a token makes no token that may do more than itself", async () => {
    const { app, server } = startServer();
    app.authenticate = async () => principal("ops", ["admin"]);
    const create = (headers: Record<string, string>) =>
      server.inject({ method: "POST", url: "/api/admin/tokens", headers, payload: { name: "x", scopes: ["memory"] } });
    expect((await create({ authorization: "Bearer ops" })).statusCode).toBe(403);
    expect((await create(OWNER)).json()).toEqual({ ok: true, result: { id: "id-of-x", token: "cairn_value" } });
  });
});

describe("wrong tokens are limited", () => {
  test("by address, and a right one is never locked out", async () => {
    const { server } = startServer({ limits: { wrongTokensPerMinute: 3 } });
    const ask = (headers: Record<string, string>, remoteAddress = "10.0.0.1") =>
      server.inject({ url: "/health", headers, remoteAddress });
    for (let n = 0; n < 3; n++) expect((await ask(wrong)).statusCode).toBe(401);
    const limited = await ask(wrong);
    expect(limited.statusCode).toBe(429);
    expect(Number(limited.headers["retry-after"])).toBeGreaterThan(0);
    expect(limited.json().error).toMatchObject({ code: "RUNTIME_RATE_LIMITED", retryable: true });
    expect((await ask(OWNER)).statusCode).toBe(200);
    expect((await ask(wrong, "10.0.0.2")).statusCode).toBe(401);
  });

  test("right tokens and missing ones do not count", async () => {
    const { server } = startServer({ limits: { wrongTokensPerMinute: 2 } });
    for (let n = 0; n < 5; n++) {
      expect((await server.inject({ url: "/health", headers: OWNER })).statusCode).toBe(200);
      expect((await server.inject({ url: "/health" })).statusCode).toBe(401);
    }
    expect((await server.inject({ url: "/health", headers: wrong })).statusCode).toBe(401);
  });
});

describe("web pages", () => {
  test("of other origins change nothing here", async () => {
    const { app, server } = startServer();
    const post = (origin: string, host: string) =>
      server.inject({
        method: "POST",
        url: "/api/agents/main/messages",
        headers: { ...OWNER, origin, host },
        payload: { session: "s", text: "hello" },
      });
    for (const [origin, host] of [
      ["https://evil.example", "127.0.0.1:7433"],
      ["http://evil.example:7433", "evil.example:7433"],
      ["null", "127.0.0.1:7433"],
    ] as const) {
      const answer = await post(origin, host);
      expect(answer.statusCode, origin).toBe(403);
      expect(answer.json().error.code).toBe("RUNTIME_FORBIDDEN");
    }
    expect(app.accepted).toEqual([]);
    expect((await post("http://127.0.0.1:7433", "127.0.0.1:7433")).statusCode).toBe(200);
  });

  test.each([
    ["http://localhost:7433", "localhost:7433", true],
    ["http://[::1]:7433", "[::1]:7433", true],
    ["http://192.168.1.7:7433", "192.168.1.7:7433", true],
    ["https://cairn.example", "cairn.example", true],
    ["https://cairn.example", "CAIRN.example:443", true],
    ["https://cairn.example:8443", "cairn.example", false],
    ["http://localhost:7433", "localhost:9999", false],
    ["http://localhost:7433", undefined, false],
    ["file://", "localhost", false],
    ["http://user:x@", "localhost", false],
  ])("of %s, asking %s: ours is %s", (origin, host, ours) => {
    expect(isOurs(origin, host, new Set(["cairn.example"]))).toBe(ours);
  });
});

async function described(server: ReturnType<typeof startServer>["server"]) {
  return (await server.inject({ url: "/openapi.json" })).json().paths;
}
