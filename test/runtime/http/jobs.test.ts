import { describe, expect, test } from "vitest";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const post = (url: string, payload?: object) =>
  ({ method: "POST", url, headers: OWNER, ...(payload === undefined ? {} : { payload }) }) as const;

describe("the job queues over HTTP", () => {
  test("tell their state", async () => {
    const { server } = startServer();
    const answer = await server.inject({ url: "/api/admin/jobs", headers: OWNER });
    expect(answer.json().result).toEqual({
      queues: [
        {
          queue: "embed",
          waiting: 2,
          active: 1,
          failed: 1,
          completed: 4,
          last_error: "the model is unavailable",
          oldest_waiting_ms: 1_500,
        },
      ],
    });
  });

  test("are backfilled, or only counted", async () => {
    const { server } = startServer();
    const counts = { candidates: 9, enqueued: 5, queued: 3, failed: 1 };
    const url = "/api/admin/memory/backfill-tool-synth";
    expect((await server.inject(post(url))).json().result).toEqual({ dry_run: false, ...counts });
    expect((await server.inject(post(url, { dry_run: true }))).json().result).toEqual({ dry_run: true, ...counts });
  });

  test("let dead jobs of a known task wait again", async () => {
    const { server } = startServer();
    const answer = await server.inject(post("/api/admin/jobs/embed/retry-failed", { error: "away", dry_run: true }));
    expect(answer.json().result).toEqual({ task: "embed", dry_run: true, matched: 3, retried: 2, skipped: 1 });
    const unknown = await server.inject(post("/api/admin/jobs/embedd/retry-failed", {}));
    expect(unknown.statusCode).toBe(400);
    expect(unknown.json().error.message).toMatch(/synthesize-tool-call.*extract-wiki.*embed/);
  });

  test.each([[{ error: "(" }], [{ error: "" }], [{ error: "x".repeat(1_001) }], [{ pattern: "x" }]])(
    "refuse %j",
    async (payload) => {
      const { server } = startServer();
      expect((await server.inject(post("/api/admin/jobs/embed/retry-failed", payload))).statusCode).toBe(400);
    },
  );

  test("are for the scope `admin` alone", async () => {
    const { app, server } = startServer();
    app.authenticate = async () => principal("hook", ["capture", "memory", "agent"]);
    const headers = { authorization: "Bearer hook" };
    for (const [method, url] of [
      ["GET", "/api/admin/jobs"],
      ["POST", "/api/admin/jobs/embed/retry-failed"],
      ["POST", "/api/admin/memory/backfill-tool-synth"],
    ] as const) {
      expect((await server.inject({ method, url, headers })).statusCode).toBe(403);
    }
  });
});
