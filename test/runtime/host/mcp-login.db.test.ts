/** A node whose MCP server wants a login: it says so, uses the login that it is given, and refreshes it by itself. */

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { credentialsPath, readCredentials, writeCredentials } from "../../../runtime/config/credentials.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { deploymentDirectory } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { type GuardedServer, guardedServer } from "../../support/login/guarded-server.ts";
import { OWNER_ENV, startedHost } from "../../support/started-host.ts";

const REDIRECT = "http://127.0.0.1:1/callback";

/** What a login would give, by the whole way of one. */
async function firstTokens({ oauth, server }: GuardedServer) {
  const { createHash } = await import("node:crypto");
  const verifier = "v".repeat(43);
  const question = new URL(oauth.authorizeUrl);
  question.search = new URLSearchParams({
    response_type: "code",
    client_id: "registered-client",
    redirect_uri: REDIRECT,
    resource: server.url,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  const code = new URL(oauth.consent(question.href)).searchParams.get("code") ?? "";
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: "registered-client",
    resource: server.url,
    code,
    code_verifier: verifier,
    redirect_uri: REDIRECT,
  });
  // The stand-in's own answer.
  return (await (await fetch(oauth.tokenUrl, { method: "POST", body })).json()) as {
    access_token: string;
    refresh_token: string;
  };
}

async function node(guarded: GuardedServer) {
  const dir = await deploymentDirectory({
    yaml: `version: 1\nagents: { main: { provider: offline } }\nproviders: { offline: {} }\nmcp: { servers: { notes: { url: "${guarded.server.url}" } } }\n`,
    env: OWNER_ENV,
  });
  const home = join(dir, "home");
  await placeEmbeddedCopy(join(home, "store"));
  const { request } = await startedHost({ dir });
  const state = async () => JSON.parse(await (await request("/health")).text()).result.mcp.notes;
  return { home, request, state };
}

const given = ({ oauth, server }: GuardedServer, tokens: object) => ({
  client_id: "registered-client",
  token_url: oauth.tokenUrl,
  ...tokens,
  expires_in: 3_600,
  scopes: ["tools"],
  server: {
    server_url: server.url,
    issuer: oauth.url,
    client_secret: null,
    client_auth: null,
    resource: server.url,
  },
});

it("connects with the login that it is given, and refreshes it where the server refuses the token", async () => {
  const guarded = await guardedServer();
  const { oauth, server, authorizations } = guarded;
  const { home, request, state } = await node(guarded);
  await eventually(async () => {
    expect(await state()).toMatchObject({ state: "down", reason: "it wants a login: run `cairn login mcp.notes`" });
  });
  const listed = async () => JSON.parse(await (await request("/api/admin/logins")).text()).result.logins;
  expect(await listed()).toMatchObject([
    { provider: "mcp.notes", logged_in: false, server_url: server.url, token_url: null },
  ]);

  const { access_token, refresh_token } = await firstTokens(guarded);
  const login = given(guarded, { access_token, refresh_token });
  const put = (body: object) => request("/api/admin/logins/mcp.notes", body, undefined, "PUT");
  const elsewhere = { ...login, server: { ...login.server, server_url: "https://other.example.org/mcp" } };
  expect((await put(elsewhere)).status).toBe(409);
  expect((await put({ ...login, server: undefined })).status).toBe(409);
  expect((await put(login)).status).toBe(200);
  await eventually(async () => expect(await state()).toMatchObject({ state: "up" }));
  expect(authorizations.at(-1)).toBe(`Bearer ${access_token}`);
  expect(await listed()).toMatchObject([
    { logged_in: true, client_id: "registered-client", token_url: oauth.tokenUrl },
  ]);
  expect((await stat(credentialsPath(home, "mcp.notes"))).mode & 0o777).toBe(0o600);

  oauth.expire();
  server.forget();
  await eventually(async () => {
    expect(oauth.counts.refresh_token).toBe(1);
    expect(await state()).toMatchObject({ state: "up" });
    expect(authorizations.at(-1)).toBe(`Bearer ${oauth.accessToken()}`);
  });
  expect(oauth.reused()).toBe(false);
  expect(JSON.parse(await readFile(credentialsPath(home, "mcp.notes"), "utf8"))).toMatchObject({
    access_token: oauth.accessToken(),
    endpoint: { resource: server.url },
  });
  expect((await request("/api/admin/logins/mcp.notes", undefined, undefined, "DELETE")).status).toBe(200);
  expect(await readCredentials(home, "mcp.notes")).toBeNull();
});

it("says that a login has ended where the login server refuses its refresh", async () => {
  const guarded = await guardedServer();
  const { home, request, state } = await node(guarded);
  const { access_token } = await firstTokens(guarded);
  const login = given(guarded, { access_token, refresh_token: "of-somebody-else" });
  expect((await request("/api/admin/logins/mcp.notes", login, undefined, "PUT")).status).toBe(200);
  await eventually(async () => expect(await state()).toMatchObject({ state: "up" }));
  guarded.oauth.expire();
  guarded.server.forget();
  await eventually(async () => {
    expect(await state()).toMatchObject({ state: "down", reason: expect.stringContaining("its login cannot be used") });
  });
  const [listed] = JSON.parse(await (await request("/api/admin/logins")).text()).result.logins;
  expect(listed).toMatchObject({ logged_in: false, problem: expect.stringContaining("invalid_grant") });
  const stored = await readCredentials(home, "mcp.notes");
  if (stored === null) throw new Error("there is no login");
  // What is stored stays usable: a login in its place is taken at once.
  await writeCredentials(home, stored);
});
