import { describe, expect, test } from "vitest";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { isOurs } from "../../../runtime/http/origin.ts";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const wrong = { authorization: "Bearer wrong" };

describe("tokens", () => {
  test("liveness, readiness and the description need none", async () => {
    const { server } = startServer();
    for (const url of ["/health/live", "/health/ready", "/openapi.json"]) {
      expect((await server.inject({ url })).statusCode, url).toBe(200);
    }
  });

  test("everything else does, and says so", async () => {
    const { server } = startServer();
    const paths = Object.entries<Record<string, unknown>>(await described(server));
    const open = [
      "/health/live",
      "/health/ready",
      "/api/mesh/join",
      "/api/mesh/revocations/{node}",
      "/api/channels/{id}/webhook",
    ];
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

  test("an expired one is 401 with a code of its own, leaves a line, and locks nobody out", async () => {
    const { app, server, security } = startServer();
    app.authenticate = async () => {
      throw new RuntimeError("RUNTIME_TOKEN_EXPIRED", "The token expired at 2026-01-01T00:00:00.000Z.");
    };
    for (let n = 0; n < 30; n++) {
      const headers = { authorization: `Bearer expired-${n}` };
      const answer = await server.inject({ url: "/health", headers });
      expect(answer.statusCode).toBe(401);
      expect(answer.json().error.code).toBe("RUNTIME_TOKEN_EXPIRED");
      expect(answer.headers["www-authenticate"]).toContain('error_description="The token expired"');
    }
    expect(security[0]).toMatchObject({ event: "token.expired", outcome: "refused" });
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

describe("an address with too many wrong tokens is locked out", () => {
  const TOKENS = ["hook-token", "fresh-token"];

  function start(limits: object = {}) {
    let now = 1_000;
    const clock = { now: () => new Date("2026-01-01T00:00:00Z"), monotonic: () => now };
    const started = startServer({ clock, limits: { wrongPerMinute: 3, lockoutMs: 300_000, ...limits } });
    let asked = 0;
    started.app.authenticate = async (token) => {
      asked++;
      return TOKENS.includes(token) ? principal(token, ["capture"]) : null;
    };
    const ask = async (token: string, remoteAddress = "10.0.0.1") => {
      const headers = { authorization: `Bearer ${token}` };
      return (await started.server.inject({ url: "/health", headers, remoteAddress })).statusCode;
    };
    return {
      ...started,
      ask,
      asked: () => asked,
      later: (ms: number) => {
        now += ms;
      },
      lockOut: async (address?: string) => {
        for (let n = 0; n < 3; n++) expect(await ask(`guess-${n}`, address)).toBe(401);
      },
    };
  }

  test("a right guess does not get in, and is answered like a wrong one", async () => {
    const { server, ask, lockOut, asked } = start();
    await lockOut();
    const before = asked();
    const answers = await Promise.all(
      ["fresh-token", "guess-9", OWNER.authorization.slice(7)].map((token) =>
        server.inject({
          url: "/health",
          headers: { authorization: `Bearer ${token}`, "x-request-id": "same" },
          remoteAddress: "10.0.0.1",
        }),
      ),
    );
    for (const answer of answers) {
      expect(answer.statusCode).toBe(429);
      expect(Number(answer.headers["retry-after"])).toBe(300);
      expect(answer.json()).toEqual(answers[0]?.json());
      expect(answer.json().error).toMatchObject({ code: "RUNTIME_RATE_LIMITED", retryable: true });
    }
    expect(asked()).toBe(before);
    // Nothing else is refused: health checks, and other addresses.
    expect((await server.inject({ url: "/health/ready", remoteAddress: "10.0.0.1" })).statusCode).toBe(200);
    expect((await server.inject({ url: "/health", remoteAddress: "10.0.0.1" })).statusCode).toBe(401);
    expect(await ask("fresh-token", "10.0.0.2")).toBe(200);
  });

  test("tokens that a node has made get in, wrong ones of their shape do not", async () => {
    const { ask, lockOut } = start();
    const made = `cairn_${"a".repeat(43)}`;
    TOKENS.push(made);
    await lockOut();
    expect(await ask(`cairn_${"b".repeat(43)}`)).toBe(429);
    expect(await ask(made)).toBe(200);
    expect(await ask(`${made}a`)).toBe(429);
    TOKENS.pop();
  });

  test("tokens that it has used before go on, until they are revoked", async () => {
    const { ask, lockOut } = start();
    expect(await ask("hook-token")).toBe(200);
    await lockOut();
    expect(await ask("hook-token")).toBe(200);
    TOKENS.shift();
    expect(await ask("hook-token")).toBe(401);
    TOKENS.unshift("hook-token");
    expect(await ask("hook-token")).toBe(429);
  });

  test("a token that another address has used is a guess here", async () => {
    const { ask, lockOut } = start();
    expect(await ask("hook-token", "10.0.0.2")).toBe(200);
    await lockOut();
    expect(await ask("hook-token")).toBe(429);
  });

  test("it ends, and begins anew", async () => {
    const { ask, lockOut, later } = start();
    await lockOut();
    later(299_999);
    expect(await ask("fresh-token")).toBe(429);
    later(1);
    expect(await ask("fresh-token")).toBe(200);
    await lockOut();
    expect(await ask("guess-9")).toBe(429);
  });

  test("guesses at once are counted before they are looked at", async () => {
    const { ask, asked } = start();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => ask(`guess-${n}`)));
    expect(answers.filter((status) => status === 401)).toHaveLength(3);
    expect(answers.filter((status) => status === 429)).toHaveLength(47);
    expect(asked()).toBe(3);
  });

  test("a program that repeats an old token locks nothing out", async () => {
    const { ask } = start();
    for (let n = 0; n < 20; n++) expect(await ask("revoked-token")).toBe(401);
    expect(await ask("fresh-token")).toBe(200);
  });

  test("right tokens and missing ones do not count", async () => {
    const { server, ask, lockOut } = start();
    for (let n = 0; n < 5; n++) {
      expect(await ask("hook-token")).toBe(200);
      expect((await server.inject({ url: "/health", remoteAddress: "10.0.0.1" })).statusCode).toBe(401);
    }
    await lockOut();
  });

  test("addresses of one IPv6 network are one, and so are IPv4's two ways to be written", async () => {
    const { ask, lockOut } = start();
    await lockOut("2001:db8:1:2::1");
    expect(await ask("guess-9", "2001:db8:1:2:ffff::9")).toBe(429);
    expect(await ask("guess-9", "2001:db8:1:3::1")).toBe(401);
    await lockOut("192.0.2.7");
    expect(await ask("guess-9", "::ffff:192.0.2.7")).toBe(429);
  });

  test("a store that cannot tell counts nothing", async () => {
    const { app, ask } = start();
    app.authenticate = async () => {
      throw new Error("away");
    };
    for (let n = 0; n < 9; n++) expect(await ask(`maybe-${n}`)).toBe(500);
    app.authenticate = async () => null;
    expect(await ask("guess")).toBe(401);
  });

  test("leaves a trace: each wrong token, the lockout, what was refused in it", async () => {
    const { ask, lockOut, security } = start();
    await lockOut();
    await ask("guess-9");
    const refused = { outcome: "refused", address: "10.0.0.1", requestId: expect.any(String) };
    const wrong = { event: "token.wrong", ...refused };
    const details = { network: "10.0.0.1", seconds: 300 };
    expect(security).toEqual([
      wrong,
      wrong,
      wrong,
      { event: "token.lockout", outcome: "done", address: "10.0.0.1", requestId: expect.any(String), details },
      { event: "token.locked_out", ...refused },
    ]);
    expect(JSON.stringify(security)).not.toContain("guess");
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
