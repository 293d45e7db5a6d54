/** `cairn login mcp.<id>`: the server says where its logins are, and the program registers itself. */

import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { credentialsPath } from "../../../runtime/config/credentials.ts";
import { startMcpHttpFake } from "../../fakes/mcp/http.ts";
import type { OAuthFake } from "../../fakes/oauth/index.ts";
import { type Cli, createCli } from "../../support/cli.ts";
import { guardedServer } from "../../support/login/guarded-server.ts";
import { startLogin } from "../../support/login/started-login.ts";

const yaml = (url: string, more = ""): string =>
  `version: 1\nagents: { main: { provider: offline } }\nproviders: { offline: {} }\nmcp:\n  servers:\n    # notes of the team\n    notes:\n      url: ${url}\n${more}    local: { command: no-such-program }\n`;

async function prepared(url: string, more?: string): Promise<Cli> {
  const cli = await createCli();
  await writeFile(join(cli.home, "cairn.yaml"), yaml(url, more));
  return cli;
}

/** What the command ends with, when the user agrees at the page. */
async function login(cli: Cli, oauth: OAuthFake, argv: readonly string[] = []) {
  const { address, outcome } = startLogin(cli, oauth, ["mcp.notes", "--json", ...argv]);
  await address.then((shown) => fetch(oauth.consent(shown))).catch(() => undefined);
  return outcome;
}

const stored = async (cli: Cli) => JSON.parse(await readFile(credentialsPath(cli.home, "mcp.notes"), "utf8"));

it("keeps the tokens and what a refresh needs in the home alone, and shows and removes the login", async () => {
  const { server, oauth } = await guardedServer();
  const cli = await prepared(server.url);
  const { code, stdout } = await login(cli, oauth);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ provider: "mcp.notes", logged_in: true, in_use: true });
  expect(stdout).not.toContain(oauth.accessToken());
  expect(await stored(cli)).toMatchObject({
    access_token: oauth.accessToken(),
    endpoint: {
      server_url: server.url,
      issuer: oauth.url,
      token_url: oauth.tokenUrl,
      client_id: "registered-client",
      client_secret: null,
      resource: server.url,
    },
  });
  expect((await stat(credentialsPath(cli.home, "mcp.notes"))).mode & 0o777).toBe(0o600);
  expect(oauth.counts).toMatchObject({ registrations: 1, authorization_code: 1 });

  expect((await cli.run(["login", "mcp.notes", "--status"])).code).toBe(0);
  expect((await cli.run(["login", "mcp.notes", "--logout"])).code).toBe(0);
  expect((await cli.run(["login", "mcp.notes", "--status"])).code).toBe(1);
});

it("keeps the secret of a program that is registered with one", async () => {
  const { server, oauth } = await guardedServer({ registers: "confidential" });
  const cli = await prepared(server.url);
  const { code, stdout, stderr } = await login(cli, oauth);
  expect(code).toBe(0);
  expect(`${stdout}${stderr}`).not.toContain(oauth.clientSecret);
  expect((await stored(cli)).endpoint).toMatchObject({
    client_secret: oauth.clientSecret,
    client_auth: "client_secret_basic",
  });
});

it("takes the client id of the operator's own registration, which --client-id writes down", async () => {
  const { server, oauth } = await guardedServer({
    clientId: "own-client",
    metadata: { registration_endpoint: undefined },
  });
  const cli = await prepared(server.url);
  expect(await login(cli, oauth)).toMatchObject({ code: 1, stdout: expect.stringContaining("registers no programs") });
  expect(await login(cli, oauth, ["--client-id", "own-client"])).toMatchObject({ code: 0 });
  expect(oauth.counts.registrations).toBe(0);
  const written = await readFile(join(cli.home, "cairn.yaml"), "utf8");
  expect(written).toContain("# notes of the team");
  expect(written).toMatch(/login:\n\s+client_id: own-client\n/);
});

it.each<[string, Parameters<typeof guardedServer>, string]>([
  [
    "whose tokens would be sent in the clear",
    [{ metadata: { token_endpoint: "http://login.example.org/token" } }],
    "not encrypted",
  ],
  [
    "whose page is in the clear",
    [{ metadata: { authorization_endpoint: "http://login.example.org/" } }],
    "not encrypted",
  ],
  [
    "that calls itself another one",
    [{ metadata: { issuer: "https://login.example.org" } }],
    "has another name than it says",
  ],
  ["without PKCE", [{ metadata: { code_challenge_methods_supported: ["plain"] } }], "does not take PKCE"],
  ["for another server", [{}, { resource: "https://other.example.org/mcp" }], "names another server"],
  ["on another machine in the clear", [{}, { authorization_servers: ["http://login.example.org"] }], "not encrypted"],
])("asks nobody to log in at a login server %s", async (_what, options, words) => {
  const { server, oauth } = await guardedServer(...options);
  const { code, stdout } = await login(await prepared(server.url), oauth);
  expect(code).toBe(1);
  expect(JSON.parse(stdout).error.message).toContain(words);
  expect(oauth.counts).toEqual({ authorization_code: 0, refresh_token: 0, registrations: 0 });
});

it("says why there is nothing to log in to", async () => {
  const open = await startMcpHttpFake();
  onTestFinished(() => open.close());
  const cli = await prepared(open.url);
  const said = async (cli: Cli, server: string) => (await cli.run(["login", server])).stderr;
  expect(await said(cli, "mcp.notes")).toContain("asks for no login");
  expect(await said(cli, "mcp.local")).toContain("is a program, which has no login");
  expect(await said(cli, "mcp.none")).toContain("no MCP server none");
  const withHeader = await prepared(open.url, "      headers: { authorization: Bearer abc }\n");
  expect(await said(withHeader, "mcp.notes")).toContain("comes before a login");
  const nowhere = await prepared("http://127.0.0.1:9/mcp");
  expect(await said(nowhere, "mcp.notes")).toContain("cannot be reached");
});
