import { expect, test } from "vitest";
import { principal } from "../../support/fake-application.ts";
import { OWNER, startServer } from "../../support/http-server.ts";

const URL = "/api/admin/logins/anthropic";
const LOGIN = {
  client_id: "client-of-the-operator",
  token_url: "https://login.example.org/token",
  access_token: "access-very-secret",
  refresh_token: "refresh-very-secret",
  expires_in: 3_600,
  scopes: ["user:inference"],
};

test("a login is given, listed and removed; no answer, log or security event has a token", async () => {
  const { app, server, security, log } = startServer();
  const stored = await server.inject({ method: "PUT", url: URL, headers: OWNER, payload: LOGIN });
  expect(stored.statusCode).toBe(200);
  expect(app.givenLogins).toEqual([LOGIN]);
  const listed = await server.inject({ url: "/api/admin/logins", headers: OWNER });
  expect(listed.json().result.logins).toMatchObject([{ provider: "anthropic", logged_in: true }]);
  const removed = await server.inject({ method: "DELETE", url: URL, headers: OWNER });
  expect(removed.json().result).toEqual({ provider: "anthropic", removed: true });
  await expect
    .poll(() => security.filter(({ outcome }) => outcome === "done").map(({ event }) => event), { timeout: 5_000 })
    .toEqual(["login.stored", "login.removed"]);
  expect(security[0]).toMatchObject({ by: "owner", event: "login.stored" });
  expect(security.at(-1)).toMatchObject({ by: "owner", details: { provider: "anthropic" } });
  const said = [stored.body, listed.body, removed.body, JSON.stringify(security), ...log].join("\n");
  expect(said).not.toContain("very-secret");
});

test.each([
  ["an empty token", { access_token: "" }],
  ["a token with a line break", { refresh_token: "refresh-very-secret\r\nX: 1" }],
  ["a token that is too long", { access_token: `access-very-secret${"x".repeat(16_384)}` }],
  ["no client", { client_id: undefined }],
  ["a life that is over", { expires_in: 0 }],
  ["a field of its own", { password: "very-secret" }],
])("%s is refused, and not quoted", async (_what, wrong) => {
  const { app, server, log } = startServer();
  const answer = await server.inject({ method: "PUT", url: URL, headers: OWNER, payload: { ...LOGIN, ...wrong } });
  expect(answer.json().error.code).toBe("RUNTIME_INVALID_REQUEST");
  expect(app.givenLogins).toEqual([]);
  expect([answer.body, ...log].join("\n")).not.toContain("very-secret");
});

test("a body of more than 64 KB is not read", async () => {
  const { server } = startServer();
  const scopes = Array.from({ length: 100 }, () => "x".repeat(1_000));
  const answer = await server.inject({ method: "PUT", url: URL, headers: OWNER, payload: { ...LOGIN, scopes } });
  expect(answer.statusCode).toBe(413);
});

test("logins are for the scope `admin` alone", async () => {
  const { app, server } = startServer();
  app.authenticate = async () => principal("hook", ["capture", "memory", "agent"]);
  const headers = { authorization: "Bearer hook" };
  expect((await server.inject({ url: "/api/admin/logins", headers })).statusCode).toBe(403);
  expect((await server.inject({ method: "PUT", url: URL, headers, payload: LOGIN })).statusCode).toBe(403);
  expect((await server.inject({ method: "DELETE", url: URL, headers })).statusCode).toBe(403);
  expect(app.givenLogins).toEqual([]);
});
