import { describe, expect, test } from "vitest";
import { SCOPES } from "../../../runtime/contracts/tokens.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const selection = { kind: "matching", text: "hunter2" };
const given = { selection, expected: 1, reason: "asked for" };

describe("forgetting", () => {
  test.each([
    ["/api/admin/memory/forget/preview", { selection }],
    ["/api/admin/memory/forget", given],
  ])("%s is for the owner's token: a token with every scope is refused", async (url, payload) => {
    const { app, server } = startServer();
    app.authenticate = async () => ({
      id: "t",
      name: "admin",
      scopes: new Set(SCOPES),
      owner: false,
    });
    const refused = await server.inject({
      method: "POST",
      url,
      headers: { authorization: "Bearer other-token" },
      payload,
    });
    expect(refused.statusCode).toBe(403);
    expect(refused.json().error.message).toBe("Only the owner's token forgets.");
    expect(app.forgotten).toEqual([]);
    expect((await server.inject({ method: "POST", url, headers: OWNER, payload })).statusCode).toBe(200);
  });

  test("the audit log has who, why and how much, and not the words that were searched for", async () => {
    const { app, server, security } = startServer();
    await server.inject({ method: "POST", url: "/api/admin/memory/forget", headers: OWNER, payload: given });
    expect(app.forgotten).toEqual([{ selection, given: { expected: 1, reason: "asked for", by: "owner" } }]);
    expect(JSON.stringify(security)).not.toContain("hunter2");
    expect(security.at(-1)).toMatchObject({
      event: "memory.forget",
      outcome: "done",
      details: { selection: { kind: "matching" }, reason: "asked for", messages: 1 },
    });
  });

  test.each([
    { ...given, selection: { kind: "matching", text: "ab" } },
    { ...given, selection: { kind: "messages", ids: ["no-uuid"] } },
    { ...given, selection: { kind: "everything" } },
    { selection, expected: 1 },
  ])("refuses %j", async (payload) => {
    const { app, server } = startServer();
    const answer = await server.inject({ method: "POST", url: "/api/admin/memory/forget", headers: OWNER, payload });
    expect(answer.statusCode).toBe(400);
    expect(app.forgotten).toEqual([]);
  });
});
