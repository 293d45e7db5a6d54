import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, onTestFinished, test } from "vitest";
import { localServers } from "../../../control/wizard/catalogue.ts";
import { unattended } from "../../../control/wizard/dialog.ts";
import { type InitOptions, initialize } from "../../../control/wizard/init.ts";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { startOllamaFake } from "../../fakes/ollama/index.ts";
import { bareEnvironment, temporaryDirectory } from "../../support/deployment.ts";

const GOLDEN = new URL("../../fixtures/init/", import.meta.url);
const isRoot = process.getuid?.() === 0;

/** Random bytes that are the same each time. */
const predictable = (size: number) => createHash("sha512").update("seed").digest().subarray(0, size);

function setup(dir: string, options: Partial<InitOptions> = {}) {
  return initialize({
    directories: { dir, home: dir, file: join(dir, "cairn.yaml") },
    env: bareEnvironment(),
    localServers: [],
    timezone: "Europe/Berlin",
    ...options,
  });
}

/** Every file below the directory with its content, and the mode of .env. */
async function contents(dir: string): Promise<Record<string, string>> {
  const names = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = await Promise.all(
    files.map(async (file) => [file.slice(dir.length + 1), await readFile(file, "utf8")] as const),
  );
  return Object.fromEntries(read.sort());
}

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe("init --yes on a fresh machine", () => {
  test("writes a configuration that is valid as it stands, and all the files that belong to it", async () => {
    const dir = join(await temporaryDirectory(), "home", ".cairn");
    const result = await setup(dir);
    expect(Object.keys(await contents(dir))).toEqual([
      ".env",
      ".gitignore",
      "cairn.yaml",
      ...["AGENTS", "CAPABILITIES", "CORE", "IDENTITY", "MEMORY", "SOUL", "TOOLS", "USER", "WORKSPACE"].map(
        (name) => `workspace/${name}.md`,
      ),
    ]);
    expect(await modeOf(join(dir, ".env"))).toBe(0o600);
    expect(await modeOf(dir)).toBe(0o700);
    expect(result).toMatchObject({
      agent: "main",
      memory: "embedded",
      provider: { id: "offline" },
      token: "generated",
    });
    expect(result.files.every(({ action }) => action === "created")).toBe(true);

    const inspection = await inspectConfig({ dir, home: dir, env: bareEnvironment() });
    expect(inspection).toMatchObject({ errors: [], warnings: [] });
    expect(inspection.loaded?.env["SERVICE_API_TOKEN"]).toMatch(/^cairn_[A-Za-z0-9_-]{43}$/);
  });

  test.each([
    ["offline", {}, {}],
    ["anthropic", { ANTHROPIC_API_KEY: "sk-ant-example" }, {}],
    [
      "postgres",
      { OPENAI_API_KEY: "sk-example", SERVICE_PG_URL: "postgres://cairn@db/cairn" },
      { agents: [{ name: "nova", thinking: "low" }], listen: "0.0.0.0:80" },
    ],
  ])("writes exactly what is agreed: %s", async (golden, env, answers) => {
    const dir = join(await temporaryDirectory(), "d");
    await setup(dir, { env: bareEnvironment(env), answers, random: predictable });
    const written = await contents(dir);
    await expect(written["cairn.yaml"]).toMatchFileSnapshot(new URL(`${golden}.yaml`, GOLDEN).pathname);
    if (golden === "offline")
      await expect(written[".env"]).toMatchFileSnapshot(new URL("secrets.txt", GOLDEN).pathname);
  });

  test("says of a model that its server does not have what is near, and writes it all the same", async () => {
    const server = await startOllamaFake(["qwen3:8b"]);
    onTestFinished(() => server.close());
    const local = localServers({}).filter(({ id }) => id === "ollama");
    const localServer = local.map((one) => ({
      ...one,
      modelsUrl: `${server.url}/api/tags`,
      baseUrl: `${server.url}/v1`,
    }));
    const given = (model: string) => ({ provider: { id: "ollama", base_url: `${server.url}/v1`, model } });
    const dir = join(await temporaryDirectory(), "d");
    const result = await setup(dir, { localServers: localServer, answers: given("qwen3:9b") });
    expect(result.notes.join()).toContain(
      "ollama does not list the model qwen3:9b. Nearest of those that it lists: qwen3:8b.",
    );
    expect((await contents(dir))["cairn.yaml"]).toContain("qwen3:9b");
    const listed = await setup(join(await temporaryDirectory(), "d"), {
      localServers: localServer,
      answers: given("qwen3:8b"),
    });
    expect(listed.notes.join()).not.toContain("does not list");
  });

  test("never writes the API key that it found, unless it is asked to", async () => {
    const env = bareEnvironment({ ANTHROPIC_API_KEY: "sk-ant-very-secret" });
    const dir = join(await temporaryDirectory(), "d");
    const result = await setup(dir, { env });
    expect(JSON.stringify([await contents(dir), result])).not.toContain("sk-ant-very-secret");
    expect(result.notes.join()).toContain("--save-key");

    const saved = join(await temporaryDirectory(), "d");
    await setup(saved, { env, answers: { save_key: true } });
    const written = await contents(saved);
    expect(written[".env"]).toContain("ANTHROPIC_API_KEY=sk-ant-very-secret\n");
    expect(written["cairn.yaml"]).not.toContain("sk-ant-very-secret");
    expect((await inspectConfig({ dir: saved, env: bareEnvironment() })).errors).toEqual([]);
  });

  test.each([{}, { agents: [{ name: "main" }, { name: "iris", provider: "openai" }] }, { provider: { id: "openai" } }])(
    "never pairs the key of OPENAI_BASE_URL's server with the public address: %j",
    async (answers) => {
      const dir = join(await temporaryDirectory(), "d");
      const env = bareEnvironment({
        OPENAI_API_KEY: "sk-gateway",
        OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
        ...("agents" in answers ? { ANTHROPIC_API_KEY: "sk-ant-example" } : {}),
      });
      await setup(dir, { env, answers });
      const { loaded } = await inspectConfig({ dir, home: dir, env });
      expect(loaded?.config.providers["openai"]).toMatchObject({
        base_url: "http://127.0.0.1:1/v1",
        api_key: "sk-gateway",
      });
    },
  );

  test("never shows the token in its result", async () => {
    const dir = join(await temporaryDirectory(), "d");
    const result = await setup(dir, { random: predictable });
    expect(JSON.stringify(result)).not.toContain("cairn_");
  });

  test("makes no token where the environment has one", async () => {
    const dir = join(await temporaryDirectory(), "d");
    const result = await setup(dir, { env: bareEnvironment({ SERVICE_API_TOKEN: "given" }) });
    expect(result.token).toBe("environment");
    expect((await contents(dir))[".env"]).not.toContain("SERVICE_API_TOKEN=");
  });
});

describe("init --yes where something is already", () => {
  test("keeps every file that exists and adds only what is missing", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "workspace"));
    await writeFile(join(dir, "workspace", "USER.md"), "My user is Ada.\n");
    await writeFile(join(dir, ".env"), "OTHER=1\nSERVICE_API_TOKEN=mine\n", { mode: 0o600 });
    await writeFile(join(dir, ".gitignore"), "dist/\n.env");
    const result = await setup(dir);
    const files = await contents(dir);
    expect(files["workspace/USER.md"]).toBe("My user is Ada.\n");
    expect(files[".env"]).toBe("OTHER=1\nSERVICE_API_TOKEN=mine\n");
    expect(files[".gitignore"]?.split("\n").slice(0, 2)).toEqual(["dist/", ".env"]);
    expect(files[".gitignore"]?.match(/^\.env$/gm)).toHaveLength(1);
    expect(files[".gitignore"]).toContain("*.key");
    expect(Object.fromEntries(result.files.map(({ path, action }) => [path, action]))).toMatchObject({
      ".env": "kept",
      ".gitignore": "extended",
      "workspace/USER.md": "kept",
      "workspace/CORE.md": "created",
      "cairn.yaml": "created",
    });
  });

  test("adds the token to an .env that has none, and repairs its mode", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, ".env"), "OTHER=1");
    await chmod(join(dir, ".env"), 0o644);
    await setup(dir);
    expect((await contents(dir))[".env"]).toMatch(/^OTHER=1\n[\s\S]*SERVICE_API_TOKEN=cairn_/);
    expect(await modeOf(join(dir, ".env"))).toBe(0o600);
  });

  test("finds a key in an existing .env", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, ".env"), "OPENAI_API_KEY=k\n", { mode: 0o600 });
    expect((await setup(dir)).provider).toMatchObject({ id: "openai" });
  });

  test("refuses a second time and changes nothing", async () => {
    const dir = join(await temporaryDirectory(), "d");
    await setup(dir);
    const before = await contents(dir);
    await expect(setup(dir, { answers: { agents: [{ name: "other" }] } })).rejects.toMatchObject({
      code: "CONFIG_EXISTS",
    });
    expect(await contents(dir)).toEqual(before);
  });

  test("refuses also when the configuration that is there is broken", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "cairn.yaml"), "broken: [");
    await expect(setup(dir)).rejects.toMatchObject({ code: "CONFIG_EXISTS" });
    expect(await contents(dir)).toEqual({ "cairn.yaml": "broken: [" });
  });

  test("with --force writes a new cairn.yaml and keeps a copy of every old one", async () => {
    const dir = join(await temporaryDirectory(), "d");
    await setup(dir);
    const first = await contents(dir);
    await setup(dir, { force: true, answers: { agents: [{ name: "second" }] } });
    await setup(dir, { force: true, answers: { agents: [{ name: "third" }] } });
    const files = await contents(dir);
    expect(files["cairn.yaml"]).toContain("third:");
    expect(files["cairn.yaml.bak"]).toBe(first["cairn.yaml"]);
    expect(files["cairn.yaml.bak-2"]).toContain("second:");
    expect(files[".env"]).toBe(first[".env"]);
  });

  test("refuses a secrets file that it may not trust, before anything is written", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, ".env"));
    await expect(setup(dir)).rejects.toMatchObject({ code: "CONFIG_SECRETS_FILE_UNSAFE" });
    expect(await readdir(dir)).toEqual([".env"]);
  });
});

describe("answers", () => {
  test("decide over what is found", async () => {
    const dir = join(await temporaryDirectory(), "d");
    const env = bareEnvironment({ ANTHROPIC_API_KEY: "k" });
    const provider = { id: "mine", model: "m", base_url: "http://127.0.0.1:8080/v1", api_key_variable: "MY_KEY" };
    const result = await setup(dir, { env, answers: { provider, timezone: "UTC" } });
    expect(result.notes.join()).toContain("MY_KEY is not set");
    const { loaded } = await inspectConfig({ dir, env: bareEnvironment({ MY_KEY: "k" }) });
    expect(loaded?.config).toMatchObject({
      runtime: { timezone: "UTC" },
      agents: { main: { provider: "mine" } },
      providers: { mine: { kind: "openai-compatible", base_url: "http://127.0.0.1:8080/v1", api_key: "k" } },
    });
  });

  test.each([
    [{ agnet: "x" }, /agnet: no such answer/],
    [{ agents: [{ name: "a b" }] }, /agents.0.name: an agent's name: letters, digits/],
    [{ agents: [{ name: "a", colour: "red" }] }, /agents.0.colour: no such answer; there are name, provider/],
    [{ provider: { id: "x", api_key: "sk-1" } }, /provider.api_key: no such answer/],
    [{ listen: "nowhere" }, /listen: HOST:PORT/],
    [{ timezone: "Mars" }, /timezone: an IANA time zone/],
    [{ deployment: { proxmox: { bridge: "a b" } } }, /deployment.proxmox.bridge: a bridge's name/],
  ])("that are not allowed are named, and nothing is written: %j", async (answers, words) => {
    const dir = join(await temporaryDirectory(), "d");
    await expect(setup(dir, { answers })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(setup(dir, { answers })).rejects.toThrow(words);
    expect(await readdir(dir).catch(() => [])).toEqual([]);
  });
});

describe("a setup that cannot be written", () => {
  test("says so when the directory's path leads through a file", async () => {
    const base = await temporaryDirectory();
    await writeFile(join(base, "file"), "");
    await expect(setup(join(base, "file", "d"))).rejects.toMatchObject({ code: expect.stringMatching(/^CONFIG_UN/) });
  });

  test("says so when the directory is read-only, and leaves nothing behind", async () => {
    const dir = join(await temporaryDirectory(), "d");
    await mkdir(dir);
    await chmod(join(dir, ".."), 0o755);
    await chmod(dir, 0o555);
    await asOrdinaryUser(() => expect(setup(dir)).rejects.toMatchObject({ code: "CONFIG_UNWRITABLE" }));
    expect(await readdir(dir)).toEqual([]);
  });
});

/** Permissions mean nothing to root: for the time of the work this process is nobody. */
async function asOrdinaryUser(work: () => Promise<void>): Promise<void> {
  if (!isRoot) return work();
  process.seteuid?.(65_534);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
  }
}

test("a setup that somebody is asked in asks nothing where nothing could be written", async () => {
  const dir = join(await temporaryDirectory(), "d");
  await mkdir(dir);
  await chmod(join(dir, ".."), 0o755);
  await chmod(dir, 0o555);
  const unexpected = (): never => {
    throw new Error("somebody was asked");
  };
  const dialog = { ...unattended({ lenient: true }), attended: true, found: unexpected, answer: unexpected };
  await asOrdinaryUser(() => expect(setup(dir, { dialog })).rejects.toMatchObject({ code: "CONFIG_UNWRITABLE" }));
});

describe("a setup that is interrupted", () => {
  const script = new URL("../../fixtures/init/interrupted.ts", import.meta.url).pathname;

  /** Runs a setup in a process that is killed once it has written the file. */
  async function killedAfter(dir: string, file: string, purpose = "create"): Promise<void> {
    const result = await execa(process.execPath, [script, dir, file, purpose], {
      reject: false,
      env: { HOME: dir },
      extendEnv: false,
    });
    expect(result.signal).toBe("SIGKILL");
  }

  test.each([".env", "workspace/AGENTS.md", "workspace/WORKSPACE.md", ".gitignore"])(
    "after it has written %s has no configuration, and the next one completes it with the same token",
    async (file) => {
      const dir = join(await temporaryDirectory(), "d");
      await killedAfter(dir, file);
      const before = await contents(dir);
      expect(Object.keys(before)).not.toContain("cairn.yaml");
      expect(before[".env"]).toMatch(/^SERVICE_API_TOKEN=cairn_/m);
      const result = await setup(dir, { answers: { agents: [{ name: "interrupted" }] } });
      expect(result).toMatchObject({ agent: "interrupted", token: "file" });
      expect((await readdir(dir)).sort()).toEqual([".env", ".gitignore", "cairn.yaml", "workspace"]);
      const files = await contents(dir);
      expect(files).toMatchObject(before);
      expect(Object.keys(files)).toHaveLength(12);
      expect((await inspectConfig({ dir, env: bareEnvironment() })).errors).toEqual([]);
    },
  );

  test("after it has written cairn.yaml is complete", async () => {
    const dir = join(await temporaryDirectory(), "d");
    await killedAfter(dir, "cairn.yaml");
    expect(Object.keys(await contents(dir))).toHaveLength(12);
    const { errors, loaded } = await inspectConfig({ dir, env: bareEnvironment() });
    expect(errors).toEqual([]);
    expect(loaded?.config.runtime.default_agent).toBe("interrupted");
    await expect(setup(dir)).rejects.toMatchObject({ code: "CONFIG_EXISTS" });
  });

  test.each([".env", "infra/index.ts", "cairn.yaml"])(
    "while it changes a configuration leaves the old one or the new one (%s), and the next one completes it",
    async (file) => {
      const dir = await temporaryDirectory();
      await setup(dir, { timezone: "UTC" });
      const before = await contents(dir);
      await killedAfter(dir, file, "change");
      const changed = /timezone: Europe\/Berlin.*target: docker/s;
      const after = await contents(dir);
      if (file === "cairn.yaml") expect(after["cairn.yaml"]).toMatch(changed);
      else expect(after["cairn.yaml"]).toBe(before["cairn.yaml"]);
      await setup(dir, {
        purpose: "change",
        flags: { timezone: "Europe/Berlin", target: "docker", "docker-host": "ssh://a@b" },
      });
      const files = await contents(dir);
      expect(files["cairn.yaml"]).toMatch(changed);
      expect(Object.hasOwn(files, "infra/index.ts")).toBe(true);
      expect(Object.keys(files).filter((name) => /\.bak|\.cairn-init/.test(name))).toEqual([]);
      expect(files[".env"]).toBe(before[".env"]);
    },
  );

  test("never overwrites what the user has changed in the meantime", async () => {
    const dir = join(await temporaryDirectory(), "d");
    await killedAfter(dir, "workspace/USER.md");
    await writeFile(join(dir, "workspace", "USER.md.new"), "changed\n");
    await rename(join(dir, "workspace", "USER.md.new"), join(dir, "workspace", "USER.md"));
    await setup(dir);
    expect((await contents(dir))["workspace/USER.md"]).toBe("changed\n");
  });

  test("at the same moment as others leaves one whole setup", async () => {
    for (let round = 0; round < 5; round += 1) {
      const dir = join(await temporaryDirectory(), "d");
      const names = ["one", "two", "three", "four"];
      const results = await Promise.allSettled(
        names.map((agent) => setup(dir, { answers: { agents: [{ name: agent }] } })),
      );
      const won = results.filter((result) => result.status === "fulfilled");
      const lost = results.filter((result) => result.status === "rejected").map((result): unknown => result.reason);
      expect(won.length).toBeGreaterThanOrEqual(1);
      for (const reason of lost) expect(reason).toMatchObject({ code: "CONFIG_EXISTS" });
      const files = await contents(dir);
      expect(Object.keys(files)).toHaveLength(12);
      expect(files[".env"]?.match(/^SERVICE_API_TOKEN=/gm)).toHaveLength(1);
      const { loaded } = await inspectConfig({ dir, env: bareEnvironment() });
      expect(names).toContain(loaded?.config.runtime.default_agent);
    }
  });
});

test("a link in place of the workspace is followed, not replaced", async () => {
  const dir = await temporaryDirectory();
  await mkdir(join(dir, "elsewhere"));
  await symlink("elsewhere", join(dir, "workspace"));
  await setup(dir);
  expect(await readdir(join(dir, "elsewhere"))).toContain("CORE.md");
});
