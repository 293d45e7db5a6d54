import { Agent } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { MemoryError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import { listening, OWNER, sendWhole, startServer } from "../../support/http-server.ts";

const json = { ...OWNER, "content-type": "application/json" };

describe("every failure has the envelope", () => {
  test("an unknown route is 404, without a token too", async () => {
    const { server } = startServer();
    const answer = await server.inject({ url: "/nowhere?secret=1" });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toEqual({
      ok: false,
      error: {
        code: "RUNTIME_NOT_FOUND",
        message: "There is no route GET /nowhere.",
        severity: "error",
        retryable: false,
      },
    });
    expect(answer.headers["x-request-id"]).toBeTruthy();
  });

  test("an unknown route does not read its body", async () => {
    const { server } = startServer();
    const answer = await server.inject({ method: "POST", url: "/nowhere", headers: json, payload: "{" });
    expect(answer.statusCode).toBe(404);
  });

  test("a known path with another method is 405 and names the right ones", async () => {
    const { server } = startServer();
    const answer = await server.inject({ method: "DELETE", url: "/api/agents/main/messages", headers: OWNER });
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe("POST");
    expect(answer.json().error.code).toBe("RUNTIME_METHOD_NOT_ALLOWED");
  });

  test("a body that is not JSON is 400 and is not repeated", async () => {
    const { server } = startServer();
    const answer = await server.inject({
      method: "POST",
      url: "/api/agents/main/messages",
      headers: json,
      payload: '{"session": hunter2',
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error).toMatchObject({ code: "RUNTIME_INVALID_REQUEST", retryable: false });
    expect(answer.body).not.toContain("hunter2");
  });

  test("an empty JSON body is 400", async () => {
    const { server } = startServer();
    const answer = await server.inject({ method: "POST", url: "/api/agents/main/messages", headers: json });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.code).toBe("RUNTIME_INVALID_REQUEST");
  });

  test("a body with a __proto__ key is 400", async () => {
    const { server } = startServer();
    const payload = '{"__proto__": {"session": "x"}, "session": "s", "text": "t"}';
    const answer = await server.inject({ method: "POST", url: "/api/agents/main/messages", headers: json, payload });
    expect(answer.statusCode).toBe(400);
  });

  test.each(["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"])(
    "%s is 415",
    async (type) => {
      const { server } = startServer();
      const answer = await server.inject({
        method: "POST",
        url: "/api/agents/main/messages",
        headers: { ...OWNER, "content-type": type },
        payload: '{"session":"a","text":"b"}',
      });
      expect(answer.statusCode).toBe(415);
      expect(answer.json().error.code).toBe("RUNTIME_UNSUPPORTED_MEDIA_TYPE");
    },
  );

  test("invalid fields are all named", async () => {
    const { server } = startServer();
    const answer = await server.inject({
      method: "POST",
      url: "/api/agents/main/messages",
      headers: json,
      payload: { text: "  ", attachments: [{ name: "a.png", media_type: "image/png", data: "%%%" }], colour: 1 },
    });
    expect(answer.statusCode).toBe(400);
    const paths = answer.json().error.issues.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(expect.arrayContaining(["session", "text", "attachments.0.data"]));
    expect(answer.json().error.message).toContain("colour");
  });

  test("an unknown agent is 404 before its body is looked at", async () => {
    const { server } = startServer();
    for (const url of ["/api/agents/nobody/messages", "/api/agents/nobody/commands"]) {
      const answer = await server.inject({ method: "POST", url, headers: json, payload: "{" });
      expect(answer.statusCode).toBe(404);
      expect(answer.json().error).toMatchObject({ code: "RUNTIME_AGENT_UNKNOWN", hint: "Agents: main, other." });
    }
  });

  test("an unknown turn is 404", async () => {
    const { server } = startServer();
    const answer = await server.inject({ url: "/api/agents/main/turns/nope", headers: OWNER });
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.code).toBe("RUNTIME_TURN_UNKNOWN");
  });

  test("an unknown memory tool is 404 before its arguments are looked at", async () => {
    const { server } = startServer();
    const answer = await server.inject({
      method: "POST",
      url: "/api/memory/tool/memory_append",
      headers: json,
      payload: "{",
    });
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.code).toBe("MEMORY_TOOL_UNKNOWN");
  });

  test("a malformed path is 400", async () => {
    const { server } = startServer();
    const answer = await server.inject({ url: "/api/agents/%E0%A4%A/turns/1", headers: OWNER });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ ok: false, error: { code: "RUNTIME_INVALID_REQUEST" } });
  });

  test("an unreachable store is 503 with Retry-After, and the error keeps its code", async () => {
    const { app, server } = startServer();
    app.authenticate = async () => {
      throw new MemoryError("MEMORY_UNAVAILABLE", "The store cannot be reached.");
    };
    const answer = await server.inject({ url: "/health", headers: { authorization: "Bearer something" } });
    expect(answer.statusCode).toBe(503);
    expect(answer.headers["retry-after"]).toBe("2");
    expect(answer.json().error).toMatchObject({ code: "MEMORY_UNAVAILABLE", retryable: true });
  });

  test("what a driver or a bug says stays in the log", async () => {
    const { app, server, log } = startServer();
    for (const error of [
      new Error("password=hunter2"),
      new MemoryError("MEMORY_QUERY_FAILED", "insert into x values ('hunter2')"),
    ]) {
      app.script = async () => {
        throw error;
      };
      app.health.report = async () => {
        throw error;
      };
      const answer = await server.inject({ url: "/health", headers: OWNER });
      expect(answer.statusCode).toBe(500);
      expect(answer.json().error.code).toBe("RUNTIME_INTERNAL");
      expect(answer.body).not.toContain("hunter2");
    }
    expect(log.filter((line) => line.includes("hunter2"))).toHaveLength(2);
  });

  test("an error says when to come again", async () => {
    const { app, server } = startServer();
    app.authenticate = async () => {
      throw new RuntimeError("RUNTIME_RATE_LIMITED", "Slower.", { retryAfterS: 41.2 });
    };
    const answer = await server.inject({ url: "/health", headers: { authorization: "Bearer x" } });
    expect(answer.headers["retry-after"]).toBe("42");
  });
});

test("no token is ever logged or repeated", async () => {
  const { server, log } = startServer();
  const answers = [
    await server.inject({ url: "/health", headers: OWNER }),
    await server.inject({ url: "/health", headers: { authorization: "Bearer wrong-hunter2" } }),
    await server.inject({ url: "/nowhere?token=wrong-hunter2", headers: OWNER }),
    await server.inject({
      method: "POST",
      url: "/api/admin/tokens",
      headers: json,
      payload: { name: "n", scopes: ["agent"] },
    }),
  ];
  expect(log.length).toBeGreaterThan(3);
  const everything = log.join("") + answers.slice(0, 3).map(({ body }) => body);
  for (const secret of [OWNER.authorization.slice("Bearer ".length), "hunter2", "cairn_value"]) {
    expect(everything).not.toContain(secret);
  }
});

describe("bodies that are too large", () => {
  test("33 MiB is 413 for a sender that sends it all, and the connection goes on", async () => {
    const started = startServer();
    const url = await listening(started);
    const body = JSON.stringify({ query: "x".repeat(33 * 1024 * 1024) });
    for (const path of ["/api/memory/tool/memory_search", "/api/agents/main/messages", "/api/admin/drain"]) {
      const answer = await fetch(url + path, { method: "POST", headers: json, body });
      expect(answer.status).toBe(413);
      expect(await answer.json()).toMatchObject({ ok: false, error: { code: "RUNTIME_BODY_TOO_LARGE" } });
    }
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect(started.app.memoryCalls).toEqual([]);
  });

  test("33 MiB is 413 for a sender that reads nothing before it has sent all", async () => {
    const started = startServer();
    const url = await listening(started);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    for (const path of ["/api/memory/tool/memory_search", "/api/admin/drain", "/nowhere"]) {
      const answer = await sendWhole(agent, url + path, json, Buffer.alloc(33 * 1024 * 1024, "x"));
      expect(answer.status).toBe(path === "/nowhere" ? 404 : 413);
      expect(answer.body.ok).toBe(false);
    }
  });

  test("a chunked body is measured as it comes", async () => {
    const started = startServer({ limits: { bodyBytes: 1000 } });
    const { server } = started;
    const answer = await server.inject({
      method: "POST",
      url: "/api/memory/tool/memory_search",
      headers: { ...json, "transfer-encoding": "chunked" },
      payload: JSON.stringify({ query: "x".repeat(2000) }),
    });
    expect(answer.statusCode).toBe(413);
  });

  test("32 MiB less a little is accepted", async () => {
    const { app, server } = startServer();
    const query = "x".repeat(32 * 1024 * 1024 - 100);
    const answer = await server.inject({
      method: "POST",
      url: "/api/memory/tool/memory_search",
      headers: json,
      payload: JSON.stringify({ query }),
    });
    expect(answer.statusCode).toBe(200);
    expect(app.memoryCalls).toHaveLength(1);
  });
});

describe("bytes that are no HTTP", () => {
  test("are answered with the envelope", async () => {
    const url = new URL(await listening(startServer()));
    const { connect } = await import("node:net");
    const socket = connect(Number(url.port), url.hostname);
    socket.write("NONSENSE\r\n\r\n");
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(text.slice(text.indexOf("{")))).toMatchObject({
      ok: false,
      error: { code: "RUNTIME_INVALID_REQUEST" },
    });
  });
});
