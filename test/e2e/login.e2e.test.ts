/** `cairn login` of a deployed node, as processes: the tokens reach the node, are refreshed there, and are nowhere else. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { credentialsPath, readCredentials } from "../../runtime/config/credentials.ts";
import { deployedLogin, filesWith } from "../support/login/deployed.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { wrongWith } from "../support/result-schema.ts";
import { killed } from "../support/running-node.ts";

interface Reply {
  readonly text: string;
}

const say = async (node: NodeProcess, text: string) =>
  (await node.call<Reply>("/api/agents/main/messages", { text, session: "s" })).text;

it("a login reaches the running node, which refreshes it, keeps it over a restart and forgets it", async () => {
  const { oauth, api, deployment, start, cli, env, logIn } = await deployedLogin();
  const first = await start();
  expect(await cli.run(["login", "--status"], { env })).toMatchObject({
    code: 1,
    stdout: "one: not logged in to anthropic. Run `cairn login anthropic --node one`.\n",
  });

  const done = await logIn("--json");
  expect(done).toMatchObject({ code: 0 });
  const result = JSON.parse(done.stdout);
  expect(wrongWith("login", result)).toBeNull();
  expect(result).toMatchObject({
    deployed: true,
    logged_in: true,
    changed: true,
    file: null,
    nodes: [{ node: "one", logged_in: true, renewable: true, in_use: true, problem: null }],
  });
  const given = await readCredentials(deployment.home, "anthropic");
  expect(given?.access_token).toBe(oauth.accessToken());
  expect((await stat(credentialsPath(deployment.home, "anthropic"))).mode & 0o777).toBe(0o600);

  // Without a restart.
  expect(await say(first, "hello")).toContain("hello");
  expect(api.requests.at(-1)?.headers["authorization"]).toBe(`Bearer ${given?.access_token}`);
  oauth.expire();
  expect(await say(first, "once more")).toContain("once more");
  expect(oauth.counts).toEqual({ authorization_code: 1, refresh_token: 1, registrations: 0 });
  const refreshed = await readCredentials(deployment.home, "anthropic");
  expect(refreshed?.refresh_token).not.toBe(given?.refresh_token);

  await killed(first);
  const second = await start();
  oauth.expire();
  expect(await say(second, "again")).toContain("again");
  expect(oauth.reused()).toBe(false);

  const last = await readCredentials(deployment.home, "anthropic");
  const secrets = [given, refreshed, last].flatMap((one) => [one?.access_token ?? "", one?.refresh_token ?? ""]);
  expect(new Set(secrets).size).toBe(6);
  const out = await cli.run(["login", "--logout"], { env });
  expect(out).toMatchObject({ code: 0, stdout: "Logged out of anthropic on one.\n" });
  expect(await readCredentials(deployment.home, "anthropic")).toBeNull();
  await expect(say(second, "still there?")).rejects.toMatchObject({ code: "PROVIDER_UNAUTHORIZED" });

  expect(await filesWith(cli.home, secrets)).toEqual([]);
  expect(await filesWith(deployment.dir, secrets)).toEqual([]);
  expect(await filesWith(deployment.dir, ["login.stored"])).toEqual([
    expect.stringContaining(join("home", "logs", "audit")),
  ]);
  const printed = [done, out].map(({ stdout, stderr }) => stdout + stderr).join("") + first.output() + second.output();
  for (const secret of secrets) expect(printed).not.toContain(secret);
});

it("nobody logs in for a node that could not use it: the tokens are never asked for", async () => {
  const other = await deployedLogin({ login: { client_id: "another-client" } });
  await other.start();
  expect(await other.logIn()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/node one has another client id.*\n.*cairn infra up/),
  });
  const keyed = await deployedLogin({ key: "sk-of-the-node" });
  expect(await keyed.logIn()).toMatchObject({ code: 1, stderr: expect.stringContaining("No node answers") });
  await keyed.start();
  expect(await keyed.logIn()).toMatchObject({ code: 1, stderr: expect.stringContaining("would not use a login") });
  const wrong = await keyed.cli.run(["login"], { env: { SERVICE_API_TOKEN: "cairn_of-somebody-else" } });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("token") });
  for (const { oauth } of [other, keyed]) expect(oauth.counts.authorization_code).toBe(0);
});

it("a node refuses the login of another client, and keeps the one that it has", async () => {
  const { oauth, deployment, start, logIn } = await deployedLogin();
  const node = await start();
  expect(await logIn()).toMatchObject({ code: 0 });
  const before = await readCredentials(deployment.home, "anthropic");
  const put = (login: object) =>
    node.call("/api/admin/logins/anthropic", undefined, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_id: "somebody-else",
        token_url: oauth.tokenUrl,
        access_token: "a",
        refresh_token: null,
        expires_in: null,
        scopes: [],
        ...login,
      }),
    });
  await expect(put({})).rejects.toMatchObject({
    code: "RUNTIME_CONFLICT",
    message: expect.stringContaining("client_id"),
  });
  expect(await readCredentials(deployment.home, "anthropic")).toEqual(before);
});

it("doctor names the node that nobody has logged in to, and nothing after the login", async () => {
  const { start, cli, env, logIn } = await deployedLogin();
  await start();
  const check = async () => {
    const { stdout } = await cli.runInOwnProcess(["doctor", "--only", "providers.logins,providers.keys", "--json"], {
      env,
    });
    return JSON.parse(stdout).checks.map(({ id, status, message, fix }: Record<string, string>) => ({
      id,
      status,
      message,
      fix,
    }));
  };
  expect(await check()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id: "providers.keys", status: "pass" }),
      expect.objectContaining({
        id: "providers.logins",
        status: "fail",
        message: "No login that can be used: anthropic on one.",
        fix: "Run `cairn login anthropic --node one`.",
      }),
    ]),
  );
  expect(await logIn()).toMatchObject({ code: 0 });
  expect(await check()).toEqual(
    expect.arrayContaining([expect.objectContaining({ id: "providers.logins", status: "pass" })]),
  );
});
