import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createCli, TOKEN } from "../../support/cli.ts";

it("says beside a new token what it may do, and nothing but the token on standard output", async () => {
  const cli = await createCli();
  await cli.node();
  const create = ["token", "create", "website", "--scope", "agent"];
  const { code, stdout, stderr } = await cli.run(create);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) });
  expect(stderr).toContain("With the scope agent it may");
  expect(stderr).toContain("main: memory_search, memory_browse");

  const file = join(cli.home, "cairn.yaml");
  const given = "main: { tools: { others: { include: [shell] } } }";
  await writeFile(file, (await readFile(file, "utf8")).replace(/main: .*/, given));
  const { grants } = JSON.parse((await cli.run([...create, "--json"])).stdout);
  expect(grants[0].agents).toEqual([{ agent: "main", tools: ["shell"], commands: "sandbox", network: false }]);
});

it("gives a token an expiry, lists it with that, and revokes it by name", async () => {
  const cli = await createCli();
  await cli.node();
  const create = (expires: string) =>
    cli.run(["token", "create", "laptop", "--scope", "capture", "--expires", expires, "--json"]);
  expect(JSON.parse((await create("2199-01-31")).stdout).expires_at).toBe("2199-01-31T00:00:00.000Z");
  const relative = new Date(JSON.parse((await create("90d")).stdout).expires_at);
  expect(Math.round((relative.getTime() - Date.now()) / 86_400_000)).toBe(90);
  for (const wrong of ["soon", "2199-02-31", "2020-01-01", "90"]) {
    expect(await create(wrong), wrong).toMatchObject({ code: 2 });
  }
  expect((await cli.run(["token", "list"])).stdout).toMatch(/laptop +capture +\S+ +never +active until 2199-01-31/);
  expect((await cli.run(["token", "revoke", "laptop"])).stdout).toBe("The token laptop (id-1) is revoked.\n");
});

it("gives a named token another value, with another end where that is asked for", async () => {
  const cli = await createCli();
  await cli.node();
  await cli.run(["token", "create", "laptop", "--scope", "capture"]);
  expect(await cli.run(["token", "rotate", "laptop"])).toMatchObject({
    code: 0,
    stdout: "cairn_rotated\n",
    stderr: expect.stringContaining("The token laptop has another value; the former one is refused within seconds."),
  });
  const { stdout } = await cli.run(["token", "rotate", "id-1", "--expires", "2199-01-31", "--json"]);
  expect(JSON.parse(stdout)).toEqual({
    id: "id-1",
    name: "laptop",
    scopes: ["capture"],
    expires_at: "2199-01-31T00:00:00.000Z",
    token: "cairn_rotated",
    capture: null,
  });
  expect(await cli.run(["token", "rotate", "nobody"])).toMatchObject({ code: 1, stdout: "" });
  expect(await cli.run(["token", "rotate", "laptop", "--expires", "soon"])).toMatchObject({ code: 2, stdout: "" });
  expect(await cli.run(["token", "rotate", "--expires", "90d"])).toMatchObject({ code: 2, stdout: "" });
});

it("refuses flags that are not for the token that it rotates", async () => {
  const cli = await createCli();
  await cli.node();
  await cli.run(["token", "create", "laptop", "--scope", "capture"]);
  expect(await cli.run(["token", "rotate", "laptop", "--show"])).toMatchObject({ code: 2, stdout: "" });
  expect(await cli.run(["token", "rotate", "--node", "nova-1"])).toMatchObject({ code: 2, stdout: "" });
});

it("hands the other value of its token to the capture hook of this machine", async () => {
  const cli = await createCli();
  await cli.node();
  await cli.run(["capture", "install", "claude-code"]);
  expect((await cli.run(["token", "rotate", "id-1"])).stderr).toContain("Capture on this machine has the new one.");
  expect(await readFile(join(cli.home, "capture", "token"), "utf8")).toContain("cairn_rotated");
});

const FROM_FILE = { env: { SERVICE_API_TOKEN: "" } };

it("gives the owner another token, restarts the node with it, and leaves the rest of .env as it is", async () => {
  const cli = await createCli();
  const file = join(cli.home, ".env");
  await writeFile(file, `# mine\nexport SERVICE_API_TOKEN="${TOKEN}"\nOTHER=1\n`, { mode: 0o600 });
  const { pid } = JSON.parse((await cli.run(["start", "--detach", "--json"], FROM_FILE)).stdout);
  const { code, stdout, stderr } = await cli.run(["token", "rotate", "--json"], FROM_FILE);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const result = JSON.parse(stdout);
  expect(result).toMatchObject({ token: null, file, holders: [] });
  expect(result.node.pid).not.toBe(pid);
  const text = await readFile(file, "utf8");
  expect(text).toMatch(/^# mine\nexport SERVICE_API_TOKEN=cairn_[\w-]{43}\nOTHER=1\n$/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse((await cli.run(["status", "--json"], FROM_FILE)).stdout)).toMatchObject({ running: true });
});

it("shows the new token where that is asked for, and says that capture was given the former one", async () => {
  const cli = await createCli();
  const file = join(cli.home, ".env");
  await writeFile(file, `SERVICE_API_TOKEN=${TOKEN}\n`, { mode: 0o600 });
  const given = join(cli.home, "given");
  await writeFile(given, TOKEN, { mode: 0o600 });
  const install = ["capture", "install", "claude-code", "--url", "http://127.0.0.1:9", "--token-file", given];
  expect(await cli.run(install, FROM_FILE)).toMatchObject({ code: 0 });
  const { stdout } = await cli.run(["token", "rotate", "--show"], FROM_FILE);
  expect(stdout).toContain("No node runs on this machine");
  expect(stdout).toContain("run `cairn capture install HARNESS`");
  expect(await readFile(file, "utf8")).toBe(`SERVICE_API_TOKEN=${stdout.trimEnd().split("\n").at(-1)}\n`);
});

it("says that a node which is given its token elsewhere has not taken the new one", async () => {
  const cli = await createCli();
  const file = join(cli.home, ".env");
  await writeFile(file, `SERVICE_API_TOKEN=${TOKEN}\n`, { mode: 0o600 });
  const own = { env: { ...FROM_FILE.env, STAND_IN: "own-token" } };
  await cli.run(["start", "--detach", "--json"], own);
  const { code, stdout, stderr } = await cli.run(["token", "rotate"], own);
  expect({ code, stdout, stderr }).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("refuses the new token"),
  });
});

it("leaves the token and the node as they are where the trial start fails", async () => {
  const cli = await createCli();
  const file = join(cli.home, ".env");
  await writeFile(file, `SERVICE_API_TOKEN=${TOKEN}\n`, { mode: 0o600 });
  await cli.node();
  const { code, stderr } = await cli.run(["token", "rotate"], { env: { ...FROM_FILE.env, STAND_IN: "fail" } });
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("was left as it is") });
  expect(await readFile(file, "utf8")).toBe(`SERVICE_API_TOKEN=${TOKEN}\n`);
});

it.each([
  ["the environment", "OTHER=1\n", { SERVICE_API_TOKEN: TOKEN }, "SERVICE_API_TOKEN of the environment"],
  ["the password manager", "SERVICE_API_TOKEN=op://v/i/f\n", FROM_FILE.env, "kept in the password manager"],
  [
    "lines with other values",
    `A="\nSERVICE_API_TOKEN=x"\nSERVICE_API_TOKEN=y\n`,
    FROM_FILE.env,
    "not a line of its own",
  ],
])("changes nothing where the token is in %s", async (_, text, env, words) => {
  const cli = await createCli();
  const file = join(cli.home, ".env");
  await writeFile(file, text, { mode: 0o600 });
  const { code, stderr } = await cli.run(["token", "rotate"], { env });
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
  expect(await readFile(file, "utf8")).toBe(text);
});
