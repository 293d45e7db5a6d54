import { describe, expect, test } from "vitest";
import { principal } from "../../support/fake-application.ts";
import { listening, OWNER, startServer } from "../../support/http-server.ts";
import { head, rawRequest } from "../../support/raw-http.ts";

const about = { address: "127.0.0.1", by: "owner", requestId: "r-1" };
const headers = { ...OWNER, "x-request-id": "r-1" };

describe("what leaves a line in the security log", () => {
  test.each([
    ["POST", "/api/admin/drain", {}, "node.drain", undefined],
    ["POST", "/api/admin/resume", {}, "node.resume", undefined],
    [
      "POST",
      "/api/admin/schedules/main/morning/pause",
      undefined,
      "schedule.paused",
      { agent: "main", name: "morning" },
    ],
    ["POST", "/api/admin/schedules/main/morning/run", undefined, "schedule.run", { agent: "main", name: "morning" }],
    ["GET", "/api/admin/memory/backup", undefined, "memory.backup", undefined],
    [
      "GET",
      "/api/admin/memory/backups/cairn-20260101T020304Z.backup",
      undefined,
      "memory.backup",
      { name: "cairn-20260101T020304Z.backup" },
    ],
    ["GET", "/api/admin/memory/export", undefined, "memory.export", undefined],
    // A route that the framework makes of the one above.
    ["HEAD", "/api/admin/memory/export", undefined, "memory.export", undefined],
    ["DELETE", "/api/admin/tokens/hook", undefined, "token.revoked", { id: "1", name: "hook" }],
    [
      "POST",
      "/api/admin/tokens/hook/rotate",
      undefined,
      "token.rotated",
      { id: "1", name: "hook", scopes: ["capture"] },
    ],
    [
      "POST",
      "/api/admin/tokens",
      { name: "ci", scopes: ["memory", "capture"] },
      "token.created",
      { id: "id-of-ci", name: "ci", scopes: ["memory", "capture"] },
    ],
  ] as const)("%s %s", async (method, url, payload, event, details) => {
    const { server, security, log } = startServer();
    const answer = await server.inject({ method, url, headers, ...(payload ? { payload } : {}) });
    expect(answer.statusCode).toBe(200);
    await expect.poll(() => security.length, { timeout: 5_000 }).toBe(2);
    expect(security).toEqual([
      { event, outcome: "begun", ...about },
      { event, outcome: "done", ...about, ...(details ? { details } : {}) },
    ]);
    expect(JSON.stringify(security)).not.toContain("cairn_value");
    const line = log.map((text) => JSON.parse(text)).find(({ msg }) => msg === "request");
    expect(line).toMatchObject({ level: 30, by: "owner", address: "127.0.0.1", request_id: "r-1" });
  });

  test.each([
    ["restore", "application/octet-stream", { counts: { messages: 3 }, tokens_left_out: 1, tokens_restored: [] }],
    ["import", "application/x-ndjson", { imported: 1, skipped: 0 }],
  ])("%s, with its counts", async (name, type, details) => {
    const { server, security } = startServer();
    const url = `/api/admin/memory/${name}`;
    await server.inject({ method: "POST", url, headers: { ...headers, "content-type": type }, payload: "{}\n" });
    await expect.poll(() => security.at(-1)?.outcome, { timeout: 5_000 }).toBe("done");
    expect(security.at(-1)).toEqual({ event: `memory.${name}`, outcome: "done", ...about, details });
  });

  test("what failed, and a download that was cut off", async () => {
    const { server, security, app } = startServer();
    await server.inject({ method: "DELETE", url: "/api/admin/tokens/2", headers });
    await expect.poll(() => security.at(-1)?.outcome, { timeout: 5_000 }).toBe("failed");
    const started = startServer({ app });
    app.backupChunks = async function* () {
      for (;;) yield Buffer.alloc(1024 * 1024);
    };
    const url = await listening(started);
    const authorization = `authorization: ${OWNER.authorization}`;
    const download = await rawRequest(
      url,
      head("GET /api/admin/memory/export HTTP/1.1", "host: localhost", authorization),
    );
    expect(await download.status()).toBe(200);
    expect(started.security).toMatchObject([{ event: "memory.export", outcome: "begun", by: "owner" }]);
    download.socket.destroy();
    await expect.poll(() => started.security.at(-1)?.outcome, { timeout: 5_000 }).toBe("cut");
  });

  test("a token without the scope, and a page of another origin", async () => {
    const { server, security, app } = startServer();
    app.authenticate = async () => principal("hook", ["capture"]);
    const given = { authorization: "Bearer x", "x-request-id": "r-1" };
    await server.inject({ url: "/api/admin/memory/export", headers: given });
    await server.inject({ method: "POST", url: "/api/capture", headers: { origin: "https://evil.example", ...given } });
    const refused = { event: "access.refused", outcome: "refused", address: "127.0.0.1", requestId: "r-1" };
    expect(security).toEqual([
      { ...refused, by: "hook", details: { method: "GET", route: "/api/admin/memory/export" } },
      { ...refused, details: { method: "POST", route: "/api/capture" } },
    ]);
  });
});
