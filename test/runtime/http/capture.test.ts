import { describe, expect, test } from "vitest";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const batch = (change: object = {}, events: readonly object[] = [{ event_id: "1", role: "user", content: "hi" }]) => ({
  session_key: "s",
  agent: "claude-code",
  channel: "claude-code",
  events,
  ...change,
});

function post(payload: object | string, started = startServer(), headers: Record<string, string> = OWNER) {
  const answer = started.server.inject({
    method: "POST",
    url: "/api/capture",
    headers: { "content-type": "application/json", ...headers },
    payload: typeof payload === "string" ? payload : JSON.stringify(payload),
  });
  return { app: started.app, answer };
}

describe("POST /api/capture", () => {
  test("hands the batch over as it is and answers what became of it", async () => {
    const given = batch({ source: "hook", title: "T", finalize: true }, [
      {
        event_id: "a/1",
        role: "assistant",
        content: null,
        tool_name: "Bash",
        tool_args: { command: "ls", deep: [1, null] },
        created_at: "2026-01-02T03:04:05.678Z",
        metadata: { session_jsonl_path: "/x.jsonl", session_jsonl_line: 3 },
      },
      { event_id: "a/2", role: "tool", tool_result: "out" },
    ]);
    const { app, answer } = post(given);
    expect((await answer).json()).toEqual({
      ok: true,
      result: { conversation_id: "c", inserted: 2, deduplicated: 0, truncated: 0, finalized: true },
    });
    expect(app.captured).toEqual([given]);
  });

  test("more events than a batch may have are refused before each is looked at", async () => {
    const many = { ...batch(), events: Array.from({ length: 1_001 }, () => ({})) };
    const answer = await post(many).answer;
    expect([answer.statusCode, answer.json().error.issues]).toEqual([413, undefined]);
  });

  test("a body of few bytes and many values is refused before it is parsed", async () => {
    const events = [
      { event_id: "1", role: "tool", tool_name: "t", tool_args: Array.from({ length: 300_000 }, () => ({})) },
    ];
    const answer = await post({ ...batch(), events }).answer;
    expect([answer.statusCode, answer.json().error.message]).toEqual([413, expect.stringContaining("250000 values")]);
    const text = { event_id: "1", role: "user", content: "a,[{".repeat(100_000) };
    expect((await post({ ...batch(), events: [text] }).answer).statusCode).toBe(200);
  });

  test("is for the scope `capture` alone, and a token of that scope opens nothing else", async () => {
    const started = startServer();
    started.app.authenticate = async (token) =>
      token === "hook" ? principal("hook", ["capture"]) : principal("other", ["memory", "agent", "admin"]);
    const hook = { authorization: "Bearer hook" };
    expect((await post(batch(), started, hook).answer).statusCode).toBe(200);
    expect((await post(batch(), started, { authorization: "Bearer other" }).answer).statusCode).toBe(403);
    for (const [method, url] of [
      ["POST", "/api/memory/tool/memory_search"],
      ["POST", "/api/admin/drain"],
      ["POST", "/api/agents/main/messages"],
      ["GET", "/api/admin/tokens"],
    ] as const) {
      expect((await started.server.inject({ method, url, headers: hook })).statusCode, url).toBe(403);
    }
    // What any token reads (docs/http.md).
    for (const url of ["/health", "/metrics", "/api/mesh"]) {
      expect((await started.server.inject({ method: "GET", url, headers: hook })).statusCode, url).toBe(200);
    }
    expect(started.app.captured).toHaveLength(1);
  });

  test.each([
    ["an unknown role", [{ event_id: "1", role: "developer" }], "events.0.role"],
    ["no role", [{ event_id: "1", content: "x" }], "events.0.role"],
    ["no event id", [{ role: "user", content: "x" }], "events.0.event_id"],
    ["a blank event id", [{ event_id: " ", role: "user", content: "x" }], "events.0.event_id"],
    ["a member that is not known", [{ event_id: "1", role: "user", content: "x", text: "y" }], "events.0"],
    ["content that is no text", [{ event_id: "1", role: "user", content: { text: "y" } }], "events.0.content"],
    ["metadata that is no object", [{ event_id: "1", role: "user", content: "x", metadata: [1] }], "events.0.metadata"],
    [
      "the second of three",
      [
        { event_id: "1", role: "user", content: "x" },
        { event_id: "2", role: "nobody", content: "x" },
        { event_id: "3", role: "user", content: "x" },
      ],
      "events.1.role",
    ],
  ])("refuses a batch for %s, and says which event it is", async (_name, events, path) => {
    const { app, answer } = post(batch({}, events));
    const response = await answer;
    expect(response.statusCode).toBe(400);
    const { code, issues, retryable } = response.json().error;
    expect({ code, retryable }).toEqual({ code: "RUNTIME_INVALID_REQUEST", retryable: false });
    expect(issues.map((issue: { path: string }) => issue.path)).toEqual([path]);
    expect(app.captured).toEqual([]);
  });

  test.each([
    [{ session_key: "" }, "session_key"],
    [{ session_key: 7 }, "session_key"],
    [{ agent: " " }, "agent"],
    [{ channel: undefined }, "channel"],
    [{ finalize: "yes" }, "finalize"],
    [{ events: {} }, "events"],
  ])("refuses %j", async (change, path) => {
    const response = await post(batch(change)).answer;
    expect(response.statusCode).toBe(400);
    expect(response.json().error.issues[0].path).toBe(path);
  });

  test("a body that is no JSON, or none at all, is 400", async () => {
    for (const payload of ["", "{", "[]", "null"]) expect((await post(payload).answer).statusCode).toBe(400);
  });

  test("a body of more than 32 MiB is 413, one of less is taken", async () => {
    const text = (bytes: number) => batch({}, [{ event_id: "1", role: "user", content: "x".repeat(bytes) }]);
    const large = await post(text(32 * 1024 * 1024)).answer;
    expect([large.statusCode, large.json().error.code]).toEqual([413, "RUNTIME_BODY_TOO_LARGE"]);
    expect((await post(text(31 * 1024 * 1024)).answer).statusCode).toBe(200);
  });
});
