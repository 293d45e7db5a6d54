import { once } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { ProviderError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const url = "/api/agents/main/messages";

describe("a message as JSON", () => {
  test("is answered with its turn's result, and names the turn", async () => {
    const { app, server } = startServer();
    const text = "  Hello,\u2028 Zoë 🗿\n";
    const answer = await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s 1", text } });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["x-turn-id"]).toBe("turn-1");
    expect(answer.json()).toEqual({
      ok: true,
      result: {
        turn_id: "turn-1",
        session: "s 1",
        text: `You said: ${text}`,
        usage: { inputTokens: 10, outputTokens: 5 },
        interrupted: false,
      },
    });
    expect(app.accepted[0]).toMatchObject({
      address: { channel: "agent", conversation: "s 1", user: "" },
      agent: "main",
      text,
      owner: true,
    });
  });

  test("carries its attachments", async () => {
    const { app, server } = startServer();
    const attachments = [{ name: "a.png", media_type: "image/png", data: "aGVsbG8=" }];
    await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "see", attachments } });
    expect(app.accepted[0]?.attachments).toEqual([{ name: "a.png", mediaType: "image/png", data: "aGVsbG8=" }]);
  });

  test("names no attachment that the store has: it brings the bytes", async () => {
    const { app, server } = startServer();
    const stored = { name: "a.png", media_type: "image/png", sha256: "0".repeat(64), size: 5 };
    for (const attachment of [stored, { ...stored, data: "aGVsbG8=" }]) {
      const payload = { session: "s", text: "see", attachments: [attachment] };
      const { statusCode } = await server.inject({ method: "POST", url, headers: OWNER, payload });
      expect(statusCode).toBe(400);
    }
    expect(app.accepted).toEqual([]);
  });

  test("sent twice under one key is one turn, at the same time and later", async () => {
    const { app, server } = startServer();
    const gate = Promise.withResolvers<void>();
    app.script = async () => {
      await gate.promise;
      return { text: "once" };
    };
    const send = (text: string) =>
      server.inject({
        method: "POST",
        url,
        headers: { ...OWNER, "idempotency-key": "k-1" },
        payload: { session: "s", text },
      });
    const both = [send("do it"), send("do it")];
    await expect.poll(() => app.accepted.length).toBe(1);
    gate.resolve();
    const [first, second] = await Promise.all(both);
    const third = await send("do it");
    expect(first?.json().result).toMatchObject({ turn_id: "turn-1", text: "once" });
    expect(second?.json()).toEqual(first?.json());
    expect(third.json()).toEqual(first?.json());
    expect(app.accepted).toHaveLength(1);

    const other = await send("do something else");
    expect(other.statusCode).toBe(409);
    expect(other.json().error.code).toBe("RUNTIME_CONFLICT");
  });

  test("is answered with what its turn ended with, also when the server closes at that moment", async () => {
    const { app, server } = startServer();
    vi.spyOn(app.turns, "waitForEndOrQuestion").mockImplementation(async (_agent, turnId, signal) => {
      void server.close();
      if (signal) await once(signal, "abort");
      throw new RuntimeError("RUNTIME_TURN_INTERRUPTED", "It goes on after the restart.", { turnId });
    });
    const answer = await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "hi" } });
    expect(answer.json()).toMatchObject({ ok: false, error: { code: "RUNTIME_TURN_INTERRUPTED", turn_id: "turn-1" } });
  });

  test("without a key is a turn each time", async () => {
    const { app, server } = startServer();
    for (let n = 0; n < 2; n++) {
      await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "again" } });
    }
    expect(app.accepted).toHaveLength(2);
  });

  test("under another user's equal key is another message", async () => {
    const { app, server } = startServer();
    const headers = { ...OWNER, "idempotency-key": "k" };
    for (const user of ["ann", "bob", undefined]) {
      await server.inject({ method: "POST", url, headers, payload: { session: "s", text: "hi", user } });
    }
    expect(app.accepted.map(({ address }) => address.user)).toEqual(["ann", "bob", ""]);
  });

  test.each(["", " ", "x".repeat(256), "a\tb", "schlüssel"])("with the key %j is 400", async (key) => {
    const { server } = startServer();
    const headers = { ...OWNER, "idempotency-key": key };
    const answer = await server.inject({ method: "POST", url, headers, payload: { session: "s", text: "hi" } });
    expect(answer.statusCode).toBe(400);
  });

  test("fails with its turn's error, which names the turn", async () => {
    const { app, server } = startServer();
    app.script = async () => {
      throw new ProviderError("PROVIDER_OVERLOADED", "The provider is overloaded.");
    };
    const answer = await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "hi" } });
    expect(answer.statusCode).toBe(503);
    expect(answer.headers["x-turn-id"]).toBe("turn-1");
    expect(answer.json().error).toEqual({
      code: "PROVIDER_OVERLOADED",
      message: "The provider is overloaded.",
      severity: "transient",
      retryable: true,
      turn_id: "turn-1",
    });
  });

  test("that takes longer than the wait is 202; the turn goes on and is fetched later", async () => {
    const { app, server } = startServer({ limits: { waitMs: 20 } });
    const gate = Promise.withResolvers<void>();
    app.script = async () => {
      await gate.promise;
      return { text: "late" };
    };
    const answer = await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "hi" } });
    expect(answer.statusCode).toBe(202);
    expect(answer.json().result).toEqual({ turn_id: "turn-1", session: "s", state: "running" });

    const fetchTurn = () => server.inject({ url: "/api/agents/main/turns/turn-1", headers: OWNER });
    expect((await fetchTurn()).statusCode).toBe(202);
    gate.resolve();
    await expect.poll(() => app.finished("turn-1")).toBe(true);
    const fetched = await fetchTurn();
    expect(fetched.statusCode).toBe(200);
    expect(fetched.json().result).toMatchObject({ turn_id: "turn-1", text: "late" });
    expect(fetched.json().result).not.toHaveProperty("type");
  });
});

describe("who speaks", () => {
  test.each([
    [undefined, true, ""],
    ["me", true, ""],
    ["ann", false, "ann"],
  ])("the owner's token with user %s", async (user, owner, recorded) => {
    const { app, server } = startServer({ ownerId: "me" });
    await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "hi", user } });
    expect(app.accepted[0]).toMatchObject({ owner, address: { user: recorded } });
  });

  test.each([
    [undefined, "token:id-of-bridge"],
    ["me", "token:id-of-bridge/me"],
    ["ann", "token:id-of-bridge/ann"],
    ["token:other", "token:id-of-bridge/token:other"],
  ])("another token with user %s is never the owner", async (user, recorded) => {
    const { app, server } = startServer({ ownerId: "me" });
    app.authenticate = async () => principal("bridge", ["agent"]);
    const headers = { authorization: "Bearer bridge" };
    await server.inject({ method: "POST", url, headers, payload: { session: "s", text: "hi", user } });
    expect(app.accepted[0]).toMatchObject({ owner: false, address: { user: recorded } });
    const payload = { session: "s", command: "/status", user };
    await server.inject({ method: "POST", url: "/api/agents/main/commands", headers, payload });
    expect(app.commandsSeen[0]).toMatchObject({ owner: false, address: { user: recorded } });
  });
});

describe("a turn of somebody else", () => {
  test("is not to be found, whether it is fetched or followed; the owner sees every turn", async () => {
    const { app, server } = startServer({ ownerId: "me" });
    app.authenticate = async (token) => (token === "ann" ? principal("ann", ["agent"]) : principal("bob", ["agent"]));
    const of = (token: string) => ({ authorization: `Bearer ${token}` });
    const said = await server.inject({
      method: "POST",
      url,
      headers: of("ann"),
      payload: { session: "s", text: "hi" },
    });
    const path = `/api/agents/main/turns/${said.json().result.turn_id}`;
    expect((await server.inject({ url: path, headers: of("ann") })).statusCode).toBe(200);
    for (const headers of [of("bob"), { ...of("bob"), accept: "text/event-stream" }]) {
      const answer = await server.inject({ url: path, headers });
      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toMatchObject({ error: { code: "RUNTIME_TURN_UNKNOWN" } });
    }
    app.authenticate = async () => ({ ...principal("owner", ["agent"]), owner: true });
    expect((await server.inject({ url: path, headers: of("owner") })).statusCode).toBe(200);
  });
});

describe("a turn that waits for an answer", () => {
  const question = { id: "q-1", text: "Which one?", choices: ["red"], expires_at: "2026-12-01T00:00:00.000Z" };
  const answerTo = (turn: string) => `/api/agents/main/turns/${turn}/answer`;

  function startAsking() {
    const started = startServer({ ownerId: "me" });
    started.app.script = async ({ turnId, say }) => {
      say({ type: "turn.waiting", turn_id: turnId, session: "s", question });
      return new Promise(() => undefined);
    };
    return started;
  }

  test("is 202 with the question, to the sender at once and whenever it is fetched", async () => {
    const { server } = startAsking();
    const sent = await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "go" } });
    expect(sent.statusCode).toBe(202);
    expect(sent.json().result).toEqual({ turn_id: "turn-1", session: "s", state: "waiting", question });
    const fetched = await server.inject({ url: "/api/agents/main/turns/turn-1", headers: OWNER });
    expect(fetched.statusCode).toBe(202);
    expect(fetched.json().result).toEqual({ turn_id: "turn-1", state: "waiting", question });
  });

  test("takes the answer of its own user and of the owner, and no other", async () => {
    const { app, server } = startAsking();
    app.authenticate = async (token) => (token === "ann" ? principal("ann", ["agent"]) : principal("bob", ["agent"]));
    const of = (token: string) => ({ authorization: `Bearer ${token}` });
    await server.inject({ method: "POST", url, headers: of("ann"), payload: { session: "s", text: "go" } });
    const give = (headers: Record<string, string>, payload: object) =>
      server.inject({ method: "POST", url: answerTo("turn-1"), headers, payload });
    const refused = await give(of("bob"), { text: "red" });
    expect(refused.statusCode).toBe(404);
    expect(refused.json().error.code).toBe("RUNTIME_TURN_UNKNOWN");
    const taken = await give(of("ann"), { text: "red", question_id: "q-1" });
    expect(taken.json().result).toEqual({ turn_id: "turn-1", question_id: "q-1" });
    await give(OWNER, { text: "blue" });
    expect(app.answers).toEqual([
      { agent: "main", turnId: "turn-1", text: "red", questionId: "q-1", by: "token:id-of-ann" },
      { agent: "main", turnId: "turn-1", text: "blue", by: "" },
    ]);
  });

  test("takes no blank answer, and a turn that does not wait takes none: 409", async () => {
    const { app, server } = startServer();
    await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "hi" } });
    const late = await server.inject({
      method: "POST",
      url: answerTo("turn-1"),
      headers: OWNER,
      payload: { text: "red" },
    });
    expect(late.statusCode).toBe(409);
    expect(late.json().error).toMatchObject({ code: "RUNTIME_CONFLICT", retryable: false });
    const blank = await server.inject({
      method: "POST",
      url: answerTo("turn-1"),
      headers: OWNER,
      payload: { text: " " },
    });
    expect(blank.statusCode).toBe(400);
    expect(app.answers).toEqual([]);
  });
});

describe("a turn that has ended", () => {
  test("with a failure is fetched as that failure", async () => {
    const { app, server } = startServer();
    app.script = async () => {
      throw new ProviderError("PROVIDER_UNAUTHORIZED", "The provider refused the key.");
    };
    await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "hi" } });
    const answer = await server.inject({ url: "/api/agents/main/turns/turn-1", headers: OWNER });
    expect(answer.statusCode).toBe(502);
    expect(answer.json().error).toMatchObject({ code: "PROVIDER_UNAUTHORIZED", turn_id: "turn-1" });
  });

  test("of another agent is unknown", async () => {
    const { server } = startServer();
    await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "hi" } });
    const answer = await server.inject({ url: "/api/agents/other/turns/turn-1", headers: OWNER });
    expect(answer.statusCode).toBe(404);
  });

  test("says that it was interrupted", async () => {
    const { app, server } = startServer();
    app.script = async () => ({ text: "half", notice: "The node was restarted." });
    const answer = await server.inject({ method: "POST", url, headers: OWNER, payload: { session: "s", text: "hi" } });
    expect(answer.json().result).toMatchObject({ interrupted: true, notice: "The node was restarted." });
  });
});

describe("commands", () => {
  test("are answered with text and data", async () => {
    const { app, server } = startServer();
    const payload = { session: "s", command: "/think high" };
    const answer = await server.inject({ method: "POST", url: "/api/agents/main/commands", headers: OWNER, payload });
    expect(answer.json()).toEqual({ ok: true, result: { text: "did /think high", data: { owner: true } } });
    expect(app.commandsSeen[0]?.address).toEqual({ channel: "agent", conversation: "s", user: "" });
  });

  test("that are none are an error", async () => {
    const { server } = startServer();
    const payload = { session: "s", command: "think" };
    const answer = await server.inject({ method: "POST", url: "/api/agents/main/commands", headers: OWNER, payload });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.code).toBe("RUNTIME_COMMAND_UNKNOWN");
  });
});
