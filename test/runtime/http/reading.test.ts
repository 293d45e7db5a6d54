import { describe, expect, test } from "vitest";
import { principal } from "../../support/fake-application.ts";
import { MESSAGE_ID, SUMMARY_ID } from "../../support/fake-reading.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const get = async (path: string) => {
  const { server } = startServer();
  const answer = await server.inject({ url: `/api/admin/memory/${path}`, headers: OWNER });
  return { status: answer.statusCode, ...answer.json() };
};

describe("reading the memory over HTTP", () => {
  test("lists sessions, or conversations, of an agent and as many as are asked for", async () => {
    const { result } = await get("sessions");
    expect(result.sessions).toMatchObject([
      { name: "terminal", agent: "main", title: "session, at most 50", messages: 7 },
    ]);
    const asked = await get("sessions?of=conversation&agent=other&limit=3");
    expect(asked.result.sessions).toMatchObject([{ agent: "other", title: "conversation, at most 3" }]);
  });

  test("shows a row with as many neighbours as are asked for, and a summary with its sources", async () => {
    const { result } = await get(`rows/${MESSAGE_ID}?around=3`);
    expect(result).toMatchObject({ kind: "message", message: { content: "hello" }, missing: null });
    expect(result.after).toHaveLength(3);
    expect((await get(`rows/${MESSAGE_ID}`)).result.after).toHaveLength(2);
    expect((await get(`rows/${SUMMARY_ID}`)).result).toMatchObject({ kind: "summary", sources: [{ id: MESSAGE_ID }] });
    expect(await get("rows/ffffffff")).toMatchObject({ status: 404, error: { code: "MEMORY_NOT_FOUND" } });
  });

  test("lists the pages of a wiki, and shows one", async () => {
    expect((await get("wiki/main")).result).toMatchObject({ agent: "main", enabled: true, pages: [{ slug: "bees" }] });
    expect((await get("wiki/main/bees")).result).toMatchObject({ title: "Bees", text: "# Bees\n" });
    expect((await get("wiki/main/wasps")).status).toBe(404);
  });

  test.each([
    "sessions?of=turn",
    "sessions?limit=0",
    "sessions?limit=1001",
    "sessions?user=x",
    "rows/0198",
    "rows/not-an-id",
    `rows/${MESSAGE_ID}0`,
    `rows/${MESSAGE_ID}?around=51`,
  ])("refuses %s", async (path) => {
    expect((await get(path)).status).toBe(400);
  });

  test.each(["sessions", `rows/${MESSAGE_ID}`, "wiki/main", "wiki/main/bees"])(
    "is for tokens with both scopes, admin and memory: %s",
    async (path) => {
      const { app, server } = startServer();
      const url = `/api/admin/memory/${path}`;
      const as = async (scopes: ("admin" | "memory")[]) => {
        app.authenticate = async () => principal(scopes.join("-"), scopes);
        return (await server.inject({ url, headers: { authorization: "Bearer one" } })).statusCode;
      };
      expect([await as(["admin"]), await as(["memory"]), await as(["admin", "memory"])]).toEqual([403, 403, 200]);
    },
  );
});
