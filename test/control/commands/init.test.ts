import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createCli } from "../../support/cli.ts";

/** Detection looks at local ports of this machine: a key in the environment decides before it gets there. */
const env = { ANTHROPIC_API_KEY: "sk-ant-of-this-test-only" };

describe("cairn init", () => {
  test("--yes --json prints exactly one document, without a secret in it", async () => {
    const cli = await createCli({ configured: false });
    const { code, stdout, stderr } = await cli.run(["init", "--yes", "--json"], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      dir: cli.home,
      agent: "main",
      provider: { id: "anthropic" },
    });
    expect(stdout).not.toMatch(/cairn_|sk-ant/);
    await access(join(cli.home, "cairn.yaml"));
  });

  test("--yes says in words what it found and what comes next", async () => {
    const cli = await createCli({ configured: false });
    const { code, stdout } = await cli.run(["init", "--yes", "--dir", "sub"], { env });
    expect(code).toBe(0);
    expect(stdout).toContain(join(cli.home, "sub"));
    expect(stdout).toContain("ANTHROPIC_API_KEY is set");
    expect(stdout).toContain("cairn start");
    expect(stdout).not.toMatch(/cairn_|sk-ant/);
  });

  test("takes another port where a program has the usual one, and says so", async () => {
    const cli = await createCli({ configured: false });
    const holder = createServer();
    // A node of this machine's user may have it already.
    await new Promise((resolve) => holder.once("error", resolve).listen(7433, "127.0.0.1", () => resolve(null)));
    onTestFinished(() => void holder.close());
    const { stdout } = await cli.run(["init", "--yes", "--json"], { env: { ...env, SERVICE_LISTEN: "" } });
    const { listen, notes } = JSON.parse(stdout);
    expect(listen).toMatch(/^127\.0\.0\.1:74(3[4-9]|4\d|5\d)$/);
    expect(notes).toContain(`Another program has 127.0.0.1:7433: the node listens at ${listen} (runtime.listen).`);
    expect(await readFile(join(cli.home, "cairn.yaml"), "utf8")).toContain(`listen: ${listen}`);
    const free = await cli.run(["init", "--yes", "--json", "--dir", "sub", "--listen", "7555"], { env });
    expect(JSON.parse(free.stdout).listen).toBe("127.0.0.1:7555");
  });

  test("takes answers from a file, and flags over them", async () => {
    const cli = await createCli({ configured: false });
    await writeFile(
      join(cli.home, "answers.yaml"),
      "agents: [{ name: nova }]\ntimezone: UTC\nprovider: { id: offline }\n",
    );
    const { code } = await cli.run(["init", "--answers", "answers.yaml", "--agent", "iris"]);
    expect(code).toBe(0);
    const yaml = await readFile(join(cli.home, "cairn.yaml"), "utf8");
    expect(yaml).toContain("default_agent: iris");
    expect(yaml).toContain("timezone: UTC");
    expect(yaml).toContain("kind: offline");
  });

  test("a second time fails with exit code 1 and one document", async () => {
    const cli = await createCli();
    const before = await readFile(join(cli.home, "cairn.yaml"), "utf8");
    const { code, stdout } = await cli.run(["init", "--yes", "--json"], { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: "CONFIG_EXISTS" } });
    expect(await readFile(join(cli.home, "cairn.yaml"), "utf8")).toBe(before);
  });

  test.each([
    [["init"], /--yes/],
    [["init", "--yes", "--memory", "mysql"], /embedded/],
    [["init", "--yes", "--what"], /--what/],
    [["init", "--yes", "--listen", "nowhere"], /--listen: HOST:PORT/],
    [["init", "--yes", "--docker-host", "ssh://a@b"], /--docker-host does not apply/],
    [["init", "--yes", "--provider", "anthropic", "--model", env.ANTHROPIC_API_KEY], /--model: .*\.env/],
  ])("%j is a wrong use: exit code 2, and the flag is named", async (argv, words) => {
    const cli = await createCli({ configured: false });
    const { code, stdout, stderr } = await cli.run(argv, { env });
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(words);
    await expect(access(join(cli.home, "cairn.yaml"))).rejects.toThrow();
  });

  test.each([
    ["there is none", undefined, "CONFIG_UNREADABLE"],
    ["it is broken", "a: [", "CONFIG_UNREADABLE"],
    ["it has an unknown answer", "agnet: x", "CONFIG_INVALID"],
  ])("an answers file fails when %s", async (_when, content, expected) => {
    const cli = await createCli({ configured: false });
    if (content !== undefined) await writeFile(join(cli.home, "answers.yaml"), content);
    const { code, stdout } = await cli.run(["init", "--answers", "answers.yaml", "--json"], { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: expected } });
  });
});

describe("cairn init without a terminal", () => {
  test("and without answers names every flag that is missing, and exits 2", async () => {
    const cli = await createCli({ configured: false });
    const { code, stdout, stderr } = await cli.run(["init", "--target", "proxmox", "--timezone", "UTC"], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const asked = ["proxmox-host", "proxmox-host-key", "postgres-address", "node", "agent", "provider"];
    for (const flag of asked) expect(stderr).toContain(`--${flag}`);
    // Chat platforms are not in this version: none is asked for.
    expect(stderr).not.toMatch(/--target|--timezone|--channel/);
    expect(stderr).toContain("--yes");
    await expect(access(join(cli.home, "cairn.yaml"))).rejects.toThrow();
  });

  test("and with --yes names what nothing is usual for", async () => {
    const cli = await createCli({ configured: false });
    const { code, stdout } = await cli.run(["init", "--yes", "--target", "proxmox", "--json"], { env });
    expect(code).toBe(2);
    expect(JSON.parse(stdout).error.message).toContain(": --proxmox-host, --proxmox-host-key, --postgres-address.");
  });

  test("works where HOME is not set", async () => {
    const cli = await createCli({ configured: false });
    const { code, stdout } = await cli.run(["init", "--yes", "--json"], { env: { ...env, HOME: undefined } });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ home: cli.home });
  });
});

describe("cairn config", () => {
  test("changes what the flags say, in place, and shows the difference", async () => {
    const cli = await createCli();
    const before = await readFile(join(cli.home, "cairn.yaml"), "utf8");
    const { code, stdout } = await cli.run(["config", "--yes", "--timezone", "Europe/Berlin"]);
    expect(code).toBe(0);
    expect(stdout).toContain("+  timezone: Europe/Berlin");
    expect(stdout).toContain("cairn restart");
    const after = await readFile(join(cli.home, "cairn.yaml"), "utf8");
    expect(after).toContain("timezone: Europe/Berlin");
    expect(after.startsWith(before)).toBe(true);
  });

  test("says that there is nothing to change", async () => {
    const cli = await createCli();
    const first = await cli.run(["config", "--yes", "--timezone", "UTC"]);
    const second = await cli.run(["config", "--yes", "--timezone", "UTC", "--json"]);
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(JSON.parse(second.stdout)).toMatchObject({ files: [], diff: "" });
  });

  test.each([
    ["there is none", undefined, "CONFIG_UNREADABLE"],
    ["it is newer", "version: 2\n", "CONFIG_VERSION_UNSUPPORTED"],
    ["it is no YAML", "version: 1\na: [\n", "CONFIG_INVALID"],
  ])("fails where %s, and writes nothing", async (_what, yaml, expected) => {
    const cli = await createCli({ configured: false });
    if (yaml !== undefined) await writeFile(join(cli.home, "cairn.yaml"), yaml);
    const { code, stdout } = await cli.run(["config", "--yes", "--timezone", "UTC", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: expected } });
    if (yaml !== undefined) expect(await readFile(join(cli.home, "cairn.yaml"), "utf8")).toBe(yaml);
  });

  test("asks nothing without a terminal", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["config"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--yes");
  });
});

describe("cairn config validate", () => {
  test("says that a valid configuration is valid", async () => {
    const cli = await createCli();
    expect(await cli.run(["config", "validate"])).toMatchObject({
      code: 0,
      stdout: `Valid: ${cli.home}/cairn.yaml\n`,
      stderr: "",
    });
    const { stdout } = await cli.run(["config", "validate", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ valid: true, file: join(cli.home, "cairn.yaml"), errors: [], warnings: [] });
  });

  test("reports errors with exit code 1, as one document with --json", async () => {
    const cli = await createCli();
    await writeFile(
      join(cli.home, "cairn.yaml"),
      "version: 1\nagents: { main: { provider: ofline } }\nproviders: { offline: {} }\nmehs: {}\n",
    );
    const words = await cli.run(["config", "validate"]);
    expect(words.code).toBe(1);
    expect(words.stdout).toContain("agents.main.provider (line 2, column 19)");
    expect(words.stdout).toContain("did you mean offline?");
    expect(words.stdout).toContain("did you mean mesh?");
    const json = await cli.run(["config", "validate", "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      valid: false,
      errors: [{ path: "agents.main.provider", line: 2 }],
      warnings: [{ path: "mehs", hint: "did you mean mesh?" }],
    });
  });

  test("prints warnings and still succeeds, unless it is strict", async () => {
    const cli = await createCli();
    await writeFile(join(cli.home, ".env"), "A=1\n", { mode: 0o644 });
    const first = await cli.run(["config", "validate"]);
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toContain("1 warning");
    await writeFile(join(cli.home, "cairn.yaml"), "agents: { main: {} }\nproviders: { offline: {} }\n");
    expect(await cli.run(["config", "validate", "--strict"])).toMatchObject({ code: 1 });
  });

  test.each([
    ["broken YAML", "a: [\n", "CONFIG_INVALID"],
    ["a newer version", "version: 2\n", "CONFIG_VERSION_UNSUPPORTED"],
    ["no file", undefined, "CONFIG_UNREADABLE"],
  ])("fails on %s with its code", async (_what, yaml, expected) => {
    const cli = await createCli({ configured: false });
    if (yaml !== undefined) await writeFile(join(cli.home, "cairn.yaml"), yaml);
    const { code, stdout } = await cli.run(["config", "validate", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: expected } });
  });

  test("never prints a secret", async () => {
    const cli = await createCli();
    await mkdir(join(cli.home, "x"));
    await writeFile(
      join(cli.home, "cairn.yaml"),
      "agents: { main: {} }\nproviders: { anthropic: { model: m, api_key: my-hard-coded-secret, kind: [] } }\n",
    );
    const { stdout, stderr } = await cli.run(["config", "validate"]);
    expect(stdout + stderr).not.toContain("my-hard-coded-secret");
    expect(stdout).toContain("a secret stands in the file itself");
  });
});
