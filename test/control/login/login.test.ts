import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { credentialsPath } from "../../../runtime/config/credentials.ts";
import type { OAuthFake } from "../../fakes/oauth/index.ts";
import { type Cli, createCli, outcomeOf } from "../../support/cli.ts";
import { CLIENT_ID, oauthFake } from "../../support/login/credentials.ts";
import { startLogin } from "../../support/login/started-login.ts";

// Each test runs several processes, which take their time on a busy machine.

const yaml = (login: string): string =>
  `version: 1\nagents:\n  main:\n    provider: anthropic\nproviders:\n  # the subscription\n  anthropic:\n    model: claude-sonnet-4-6\n${login}`;

function loginSection({ authorizeUrl, tokenUrl }: OAuthFake, clientId = CLIENT_ID): string {
  return `    login:\n      client_id: ${clientId}\n      authorize_url: ${authorizeUrl}\n      token_url: ${tokenUrl}\n`;
}

async function fixture(
  section?: (oauth: OAuthFake) => string,
): Promise<{ readonly cli: Cli; readonly oauth: OAuthFake }> {
  const [cli, oauth] = await Promise.all([createCli(), oauthFake()]);
  await writeFile(join(cli.home, "cairn.yaml"), yaml((section ?? loginSection)(oauth)));
  return { cli, oauth };
}

async function tokensOf(cli: Cli): Promise<{ access_token: string; refresh_token: string }> {
  return JSON.parse(await readFile(credentialsPath(cli.home, "anthropic"), "utf8"));
}

describe("login", () => {
  it("before the first start makes a home that git takes no token of", async () => {
    const { cli, oauth } = await fixture();
    const dir = join(cli.home, "deployment");
    await mkdir(dir);
    await writeFile(join(dir, "cairn.yaml"), yaml(loginSection(oauth)));
    const { address, outcome } = startLogin(cli, oauth, ["--dir", dir], { env: { SERVICE_HOME: "" } });
    await fetch(oauth.consent(await address));
    expect(await outcome).toMatchObject({ code: 0 });
    expect((await stat(credentialsPath(join(dir, ".cairn"), "anthropic"))).isFile()).toBe(true);
    expect(await readFile(join(dir, ".cairn", ".gitignore"), "utf8")).toContain("*\n");
  });

  it("takes the browser's answer, keeps the tokens private and prints none of them", async () => {
    const { cli, oauth } = await fixture();
    const { address, outcome } = startLogin(cli, oauth, ["--json"]);
    const page = await fetch(oauth.consent(await address));
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("You are logged in");
    const { code, stdout, stderr } = await outcome;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      action: "login",
      provider: "anthropic",
      logged_in: true,
      renewable: true,
      in_use: true,
      scopes: ["user:inference"],
    });
    const tokens = await tokensOf(cli);
    expect(tokens.access_token).toBe(oauth.accessToken());
    expect(stdout + stderr).not.toContain(tokens.access_token);
    expect(stdout + stderr).not.toContain(tokens.refresh_token);
    expect((await stat(credentialsPath(cli.home, "anthropic"))).mode & 0o777).toBe(0o600);

    const status = await cli.run(["login", "--status", "--json"]);
    expect(status.code).toBe(0);
    expect(JSON.parse(status.stdout)).toMatchObject({ action: "status", logged_in: true });
    expect(status.stdout).not.toContain(tokens.access_token);

    const out = await cli.run(["login", "--logout", "--json"]);
    expect(JSON.parse(out.stdout)).toMatchObject({ action: "logout", logged_in: false, changed: true });
    expect(await cli.run(["login", "--status"])).toMatchObject({
      code: 1,
      stdout: "Not logged in to anthropic. Run `cairn login anthropic`.\n",
    });
    expect((await cli.run(["login", "--logout"])).stdout).toBe("There was no login to anthropic.\n");
  });

  it("is none any more once the login server has refused to refresh it", async () => {
    const { cli, oauth } = await fixture();
    const { address, outcome } = startLogin(cli, oauth);
    await fetch(oauth.consent(await address));
    expect(await outcome).toMatchObject({ code: 0 });
    const file = credentialsPath(cli.home, "anthropic");
    const refresh_refused = "the login server refused (invalid_grant)";
    await writeFile(file, JSON.stringify({ ...(await tokensOf(cli)), refresh_refused }));
    expect(await cli.run(["login", "--status"])).toMatchObject({
      code: 1,
      stdout: `The login could not be refreshed: ${refresh_refused}. Run \`cairn login anthropic\`.\n`,
    });
    const { stdout } = await cli.run(["login", "--status", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ logged_in: false, problem: expect.stringContaining(refresh_refused) });
  });

  it("refuses an answer with another state, and still takes the right one", async () => {
    const { cli, oauth } = await fixture();
    const { address, outcome } = startLogin(cli, oauth);
    const right = oauth.consent(await address);
    const wrong = new URL(right);
    wrong.searchParams.set("state", "of-somebody-else");
    const refused = await fetch(wrong);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("belongs to another login");
    const denied = new URL(wrong.origin + wrong.pathname);
    denied.search = "error=access_denied&state=of-somebody-else";
    expect((await fetch(denied)).status).toBe(400);
    expect(oauth.counts.authorization_code).toBe(0);
    expect((await fetch(right)).status).toBe(200);
    expect((await outcome).code).toBe(0);
  });

  it("tells the provider's refusal in words", async () => {
    const { cli, oauth } = await fixture();
    const { address, outcome } = startLogin(cli, oauth);
    await fetch(oauth.consent(await address, "deny"));
    const { code, stderr } = await outcome;
    expect(code).toBe(1);
    expect(stderr).toContain("The provider refused the login (access_denied): The user said no.");
    expect(stderr).toContain("cairn login anthropic");
    expect((await cli.run(["login", "--status"])).code).toBe(1);
  });

  it("tells that the login server is broken", async () => {
    const { cli, oauth } = await fixture();
    oauth.fail({ status: 500 });
    const { address, outcome } = startLogin(cli, oauth);
    expect((await fetch(oauth.consent(await address))).status).toBe(502);
    const { code, stderr } = await outcome;
    expect(code).toBe(1);
    expect(stderr).toContain("HTTP 500");
  });

  it("does not drop a code that came within the deadline and is exchanged after it", async () => {
    const { cli, oauth } = await fixture();
    const answer = Promise.withResolvers<void>();
    oauth.fail({ hold: answer.promise });
    const { address, outcome } = startLogin(cli, oauth, ["--timeout", "2"]);
    const page = fetch(oauth.consent(await address));
    await expect.poll(() => oauth.counts.authorization_code).toBe(1);
    await sleep(2_500);
    answer.resolve();
    expect((await page).status).toBe(200);
    expect(await outcome).toMatchObject({ code: 0 });
    expect((await tokensOf(cli)).access_token).toBe(oauth.accessToken());
  });

  it("is given up after its deadline, and at Ctrl-C", async () => {
    const { cli, oauth } = await fixture();
    const late = await cli.run(["login", "--timeout", "1", "--json"]);
    expect(late.code).toBe(1);
    expect(JSON.parse(late.stdout).error).toMatchObject({
      code: "PROVIDER_TIMEOUT",
      message: "The login was not finished within 1 s.",
    });
    const { child, address, outcome } = startLogin(cli, oauth);
    await address;
    child.kill("SIGINT");
    expect((await outcome).code).toBe(130);
    expect((await cli.run(["login", "--status"])).code).toBe(1);
  });
});

describe("login without a browser", () => {
  it("takes the address that another machine's browser ended at", async () => {
    const { cli, oauth } = await fixture();
    const { child, address, outcome } = startLogin(cli, oauth, ["--no-browser", "--code-stdin"]);
    child.stdin?.end(`${oauth.consent(await address)}\n`);
    expect(await outcome).toMatchObject({ code: 0 });
    expect((await tokensOf(cli)).access_token).toBe(oauth.accessToken());
  });

  it("takes a code with its state, and refuses one with another", async () => {
    const { cli, oauth } = await fixture();
    const first = startLogin(cli, oauth, ["--code-stdin"]);
    const answer = new URL(oauth.consent(await first.address)).searchParams;
    first.child.stdin?.end(`${answer.get("code")}#of-somebody-else\n`);
    const refused = await first.outcome;
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("belongs to another login");
    expect(oauth.counts.authorization_code).toBe(0);

    const second = startLogin(cli, oauth, ["--code-stdin"]);
    const right = new URL(oauth.consent(await second.address)).searchParams;
    second.child.stdin?.end(`${right.get("code")}#${right.get("state")}\n`);
    expect(await second.outcome).toMatchObject({ code: 0 });
  });

  it("asks nobody without a terminal: it names the flag", async () => {
    const { cli } = await fixture();
    const { code, stderr } = await cli.run(["login", "--no-browser"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--code-stdin");
  });
});

describe("login with a configuration that is not ready for it", () => {
  it("says that a client id is needed, and where it goes", async () => {
    const { cli } = await fixture(() => "");
    const { code, stderr } = await cli.run(["login"]);
    expect(code).toBe(1);
    expect(stderr).toContain("providers.anthropic.login.client_id");
    expect(stderr).toContain("--client-id");
  });

  it("writes the client id in place with --client-id", async () => {
    const { cli } = await fixture(() => "");
    const { code } = await cli.run(["login", "--client-id", "my-own", "--timeout", "1"]);
    expect(code).toBe(1);
    const text = await readFile(join(cli.home, "cairn.yaml"), "utf8");
    expect(text).toContain("# the subscription");
    expect(text).toMatch(/login:\n\s+client_id: my-own/);
  });

  it("asks for a restart of a node after --client-id alone", async () => {
    const { cli, oauth } = await fixture();
    for (const argv of [[], ["--client-id", CLIENT_ID]]) {
      const { address, outcome } = startLogin(cli, oauth, argv);
      await fetch(oauth.consent(await address));
      const { code, stdout, stderr } = await outcome;
      expect(code).toBe(0);
      expect((stdout + stderr).includes("cairn restart")).toBe(argv.length > 0);
    }
  });

  it("refuses a provider that has no login, and one that is not there", async () => {
    const cli = await createCli();
    expect((await cli.run(["login", "offline"])).stderr).toContain("has no subscription login");
    expect((await cli.run(["login", "anthropic"])).stderr).toContain("cairn provider anthropic");
    const unknown = await cli.run(["login", "nosuch"]);
    expect(unknown.stderr).toContain("A subscription login has: anthropic");
    expect(unknown.stderr).not.toContain("cairn provider nosuch");
  });

  it("refuses addresses that would show the tokens to the network", async () => {
    const { cli } = await fixture(
      () => "    login:\n      client_id: c\n      token_url: http://login.example.org/token\n",
    );
    const { code, stderr } = await cli.run(["login"]);
    expect(code).toBe(1);
    expect(stderr).toContain("providers.anthropic.login.token_url");
  });

  it("says that a key comes first", async () => {
    const { cli, oauth } = await fixture((fake) => `    api_key: \${ANTHROPIC_API_KEY}\n${loginSection(fake)}`);
    const { address, outcome } = startLogin(cli, oauth);
    await fetch(oauth.consent(await address));
    const { stdout } = await outcome;
    expect(stdout).toContain("providers.anthropic.api_key comes first");
  });
});

describe("what is for a new login", () => {
  it.each([["--client-id", "another"], ["--port", "4711"], ["--timeout", "60"], ["--no-browser"], ["--code-stdin"]])(
    "is refused with --status and --logout: %s",
    async (...flag) => {
      const { cli } = await fixture();
      for (const other of ["--status", "--logout"]) {
        const { code, stderr } = await cli.run(["login", other, ...flag]);
        expect(code).toBe(2);
        expect(stderr).toContain(other);
      }
    },
  );
});

describe("the browser of a login", () => {
  it("is opened with the address, and one that fails leaves the address to be opened by hand", async () => {
    const { cli, oauth } = await fixture();
    const browser = join(cli.home, "browser");
    await writeFile(browser, `#!/bin/sh\nprintf '%s' "$1" > "${cli.home}/opened"\n`, { mode: 0o755 });
    const child = cli.start(["login", "--timeout", "600"], { env: { BROWSER: browser } });
    const outcome = outcomeOf(child);
    await expect.poll(() => readFile(join(cli.home, "opened"), "utf8").catch(() => "")).not.toBe("");
    await fetch(oauth.consent(await readFile(join(cli.home, "opened"), "utf8")));
    expect(await outcome).toMatchObject({ code: 0, stderr: expect.stringContaining("The browser shows the login") });

    const failing = await cli.run(["login", "--timeout", "1"], { env: { BROWSER: "/no/such/browser" } });
    expect(failing.stderr).toContain("Open this address in a browser");
  });
});
