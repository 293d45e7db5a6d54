import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createRedactor, loadConfig } from "../../../runtime/config/index.ts";
import { lacks } from "../../lanes/tools.ts";
import {
  bareEnvironment,
  deploymentDirectory,
  inspectText,
  MINIMAL,
  temporaryDirectory,
} from "../../support/deployment.ts";

const WITH_KEY = `
version: 1
agents:
  main: { provider: anthropic }
providers:
  anthropic: { model: claude }
`;

async function load(yaml: string, env = bareEnvironment()) {
  const dir = await deploymentDirectory({ yaml });
  return loadConfig({ dir, home: join(dir, "home"), env });
}

describe("a file that cannot be used at all", () => {
  test("that is not there is named, with what to do", async () => {
    const dir = await temporaryDirectory();
    const loading = loadConfig({ dir, env: bareEnvironment() });
    await expect(loading).rejects.toMatchObject({
      code: "CONFIG_UNREADABLE",
      details: { hint: expect.stringContaining("cairn init") },
    });
    await expect(loading).rejects.toThrow(join(dir, "cairn.yaml"));
  });

  test("that is a directory is not taken for a missing one", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "cairn.yaml"));
    await expect(loadConfig({ dir, env: bareEnvironment() })).rejects.toThrow(/EISDIR/);
  });

  test.each([
    ["agents:\n  main: {}\n  bad: [1, 2\nproviders: {}\n", /line 4, column 1/],
    ["version: 1\nversion: 2\n", /line 2, column 1/],
    ["a: 'open\n", /line 2, column 1/],
    ["a: &x [*x, *y]\n", /line \d+/],
    ["- a list\n", /mapping/],
    ["just text", /mapping/],
    ["\tversion: 1", /line 1/],
  ])("that is broken YAML gives the place: %j", async (yaml, words) => {
    await expect(load(yaml)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(load(yaml)).rejects.toThrow(words);
  });

  test("that grows without bounds through aliases is refused", async () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 9; level += 1)
      lines.push(
        `a${level}: &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join(", ")}]`,
      );
    await expect(load(lines.join("\n"))).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  test("of a newer version is refused before anything else is said about it", async () => {
    const loading = load("version: 2\nagents: nonsense\n");
    await expect(loading).rejects.toMatchObject({ code: "CONFIG_VERSION_UNSUPPORTED" });
    await expect(loading).rejects.toThrow(/version 2.*version 1/s);
  });
});

describe("a structural error", () => {
  test("is reported with path, place, what was found and what is allowed", async () => {
    const { errors, loaded, error } = await inspectText(`${MINIMAL}runtime:\n  listen: nowhere\n  timezone: 5\n`);
    expect(loaded).toBeNull();
    expect(errors).toMatchObject([
      {
        path: "runtime.listen",
        line: 7,
        column: 3,
        found: '"nowhere"',
        allowed: expect.stringContaining("127.0.0.1:7433"),
      },
      { path: "runtime.timezone", line: 8, column: 3, found: "5", allowed: expect.stringContaining("IANA") },
    ]);
    expect(error).toMatchObject({ name: "ConfigValidationError", code: "CONFIG_INVALID", details: { issues: errors } });
    expect(error?.message).toContain("runtime.listen (line 7, column 3)");
    expect(error?.message).toContain('found "nowhere"; allowed: host:port');
  });

  test("lists the options of a choice and suggests the nearest", async () => {
    const { errors } = await inspectText(MINIMAL.replace("main: {}", "main: { default_thinking: hihg }"));
    expect(errors[0]).toMatchObject({ allowed: "one of off, low, medium, high", hint: "did you mean high?" });
  });

  test("does not hide the next one", async () => {
    const yaml =
      "version: 1\nruntime: { turn_timeout: soon }\nagents: { main: { provider: nobody } }\nproviders: { offline: {} }\n";
    const { errors } = await inspectText(yaml);
    expect(errors.map(({ path }) => path)).toEqual(["runtime.turn_timeout", "agents.main.provider"]);
  });

  test.each([
    ["agents: []", "agents"],
    ["agents: { '': {} }", 'agents[""]'],
    ["agents: { 'a b': {} }", 'agents["a b"]'],
    ["agents: { __proto__: {} }", "agents"],
    ["agents: { main: text }", "agents.main"],
    ["providers: { mine: { model: x } }", "providers.mine.kind"],
    ["agents: { main: {} }\nproviders: { ollama: {} }", "providers.ollama.model"],
    ["runtime: { max_tool_iterations: 0 }", "runtime.max_tool_iterations"],
    ["deployment: { nodes: [{ name: 'a; rm -rf /' }] }", "deployment.nodes[0].name"],
    ["deployment: { nodes: [{ name: a, host: 'ssh://-oProxyCommand=x' }] }", "deployment.nodes[0].host"],
    ["deployment: { docker: { network: '$(id)' } }", "deployment.docker.network"],
    ["deployment: { target: cloud }", "deployment.target"],
    ["memory: { postgres: { connection_string: 'mysql://h/d' } }", "memory.postgres.connection_string"],
    ["version: one", "version"],
  ])("%s is an error at %s", async (part, path) => {
    const { errors } = await inspectText(part);
    expect(errors.map((issue) => issue.path)).toContain(path);
  });

  test("never repeats a secret, wherever it stands", async () => {
    const secret = "hunter2-hunter2";
    const yaml = `
agents: { main: { provider: anthropic, default_thinking: "\${SECRET}" } }
providers: { anthropic: { model: x, api_key: [${secret}], base_url: "ftp://u:${secret}@h" } }
channels: { telegram: { token: { a: ${secret} } } }
memory: { postgres: { connection_string: "mysql://u:${secret}@h/d" } }
`;
    const { errors, warnings, error } = await inspectText(yaml, { env: { SECRET: secret } });
    expect(errors.length).toBeGreaterThan(3);
    expect(JSON.stringify([errors, warnings, error?.message])).not.toContain(secret);
  });
});

describe("a reference", () => {
  test("that is not set, of a provider in use, is an error that names path and variable", async () => {
    const { errors } = await inspectText(WITH_KEY);
    expect(errors).toMatchObject([
      { path: "providers.anthropic.api_key", message: expect.stringContaining("ANTHROPIC_API_KEY is not set") },
    ]);
  });

  test("that is not set, of a provider that no agent uses, is a warning, and the provider is left out", async () => {
    const { loaded, warnings } = await inspectText(
      `${MINIMAL}  openai: { model: gpt, api_key: "\${OPENAI_API_KEY}" }\n`.replace(
        "main: {}",
        "main: { provider: offline }",
      ),
    );
    expect(loaded?.config.providers).not.toHaveProperty("openai");
    expect(warnings).toMatchObject([
      { path: "providers.openai.api_key", message: expect.stringContaining("OPENAI_API_KEY") },
    ]);
  });

  test("counts as used when the provider is only a fallback", async () => {
    const yaml = MINIMAL.replace("main: {}", "main: { provider: offline, fallbacks: ['openai:gpt'] }");
    const { errors } = await inspectText(`${yaml}  openai: { model: gpt }\n`);
    expect(errors).toMatchObject([{ path: "providers.openai.api_key" }]);
  });

  test("of a channel that is switched off is not needed", async () => {
    const yaml = (enabled: string) =>
      `${MINIMAL}channels: { telegram: { enabled: ${enabled}, token: "\${TELEGRAM_TOKEN}", owner_id: 1 } }\n`;
    expect((await inspectText(yaml("no"))).errors).toEqual([]);
    expect((await inspectText(yaml("yes"))).errors).toMatchObject([{ path: "channels.telegram.token" }]);
  });

  test("that only a deployment needs is asked for by deployment commands alone", async () => {
    const yaml = `${MINIMAL}deployment: { image: { password: "\${REGISTRY_PASSWORD}" } }\n`;
    expect((await inspectText(yaml)).errors).toEqual([]);
    expect((await inspectText(yaml, { deployment: true })).errors).toMatchObject([
      { path: "deployment.image.password" },
    ]);
  });

  test("comes from .env, and the environment of the process wins", async () => {
    const files = { env: "ANTHROPIC_API_KEY=from-file\n" };
    const key = async (env: Record<string, string>) =>
      (await inspectText(WITH_KEY, { files, env })).loaded?.config.providers["anthropic"]?.api_key;
    expect(await key({})).toBe("from-file");
    expect(await key({ ANTHROPIC_API_KEY: "from-process" })).toBe("from-process");
    expect(await key({ ANTHROPIC_API_KEY: "" })).toBe("from-file");
  });

  test("gives text, from which numbers and switches are read", async () => {
    const yaml = `${MINIMAL}runtime: { max_tool_iterations: "\${N}" }\nmesh: { mdns: "\${MDNS}" }\n`;
    const { loaded } = await inspectText(yaml, { env: { N: "12", MDNS: "true" } });
    expect(loaded?.config).toMatchObject({ runtime: { max_tool_iterations: 12 }, mesh: { mdns: true } });
  });

  test("that is malformed is an error even where nothing uses it", async () => {
    const yaml = `${MINIMAL}  openai: { model: "\${" }\n`.replace("main: {}", "main: { provider: offline }");
    expect((await inspectText(yaml)).errors).toMatchObject([{ path: "providers.openai.model" }]);
  });

  test("to the password manager without its command is CONFIG_SECRET_UNRESOLVED, with path and reference", async () => {
    const yaml = WITH_KEY.replace("model: claude", "model: claude, api_key: op://vault/anthropic/key");
    const loading = load(yaml, bareEnvironment({ PATH: await temporaryDirectory() }));
    await expect(loading).rejects.toMatchObject({
      code: "CONFIG_SECRET_UNRESOLVED",
      details: { issues: [{ path: "providers.anthropic.api_key" }] },
    });
    await expect(loading).rejects.toThrow(/op:\/\/vault\/anthropic\/key/);
  });

  test("to the password manager is read through `op`, and what it gave is a secret", async () => {
    const bin = await temporaryDirectory();
    await writeFile(join(bin, "op"), '#!/bin/sh\nprintf "value-of-%s" "$(basename "$3")"\n');
    await chmod(join(bin, "op"), 0o755);
    const yaml = WITH_KEY.replace(
      "model: claude",
      "model: op://vault/anthropic/model, api_key: op://vault/anthropic/key",
    );
    const loaded = await load(yaml, bareEnvironment({ PATH: `${bin}:/usr/bin:/bin` }));
    expect(loaded.config.providers["anthropic"]).toMatchObject({ model: "value-of-model", api_key: "value-of-key" });
    expect(loaded.secrets).toEqual(expect.arrayContaining(["value-of-key", "value-of-model"]));
  });
});

describe("the secrets file", () => {
  test("of mode 0644 is repaired, and that is a warning", async () => {
    const { warnings, errors } = await inspectText(MINIMAL, { files: { env: "A=1\n", mode: 0o644 } });
    expect(errors).toEqual([]);
    expect(warnings).toMatchObject([{ path: ".env", message: expect.stringContaining("0644") }]);
  });

  test.skipIf(lacks("root"))("of another user ends the start", async () => {
    const dir = await deploymentDirectory({ yaml: MINIMAL, env: "A=1\n" });
    await chown(join(dir, ".env"), 12_345, 12_345);
    await expect(loadConfig({ dir, env: bareEnvironment() })).rejects.toMatchObject({
      code: "CONFIG_SECRETS_FILE_UNSAFE",
    });
  });
});

describe("a warning", () => {
  test("is given for an unknown key, with the nearest known one, and the key is kept", async () => {
    const { loaded, warnings } = await inspectText(`${MINIMAL}runtime:\n  max_tool_iteration: 5\n  my_own: 1\n`);
    expect(warnings).toMatchObject([
      { path: "runtime.max_tool_iteration", line: 7, hint: "did you mean max_tool_iterations?" },
      { path: "runtime.my_own" },
    ]);
    expect(warnings[1]).not.toHaveProperty("hint");
    expect(loaded?.config.runtime).toMatchObject({ max_tool_iteration: 5, my_own: 1, max_tool_iterations: 75 });
  });

  test.each([
    ["temperature: 3", "temperature"],
    ["temperature: -1", "temperature"],
    ["max_tokens: 0", "max_tokens"],
    ["max_tokens: 2000000", "max_tokens"],
    ["context_window: 10", "context_window"],
  ])("is given for %s, which is kept", async (setting, key) => {
    const { loaded, warnings } = await inspectText(MINIMAL.replace("offline: {}", `offline: { ${setting} }`));
    expect(warnings).toMatchObject([{ path: `providers.offline.${key}` }]);
    expect(loaded?.config.providers["offline"]).toMatchObject({ [key]: Number(setting.split(": ")[1]) });
  });

  test("knows that one provider's temperatures end at 1", async () => {
    const { warnings } = await inspectText(WITH_KEY.replace("model: claude", "model: claude, temperature: 1.5"), {
      env: { ANTHROPIC_API_KEY: "k" },
    });
    expect(warnings).toMatchObject([
      { path: "providers.anthropic.temperature", message: expect.stringContaining("0 to 1") },
    ]);
  });

  test.each([
    ["providers: { anthropic: { model: x, api_key: my-own-key } }", "providers.anthropic.api_key"],
    ["channels: { telegram: { token: abc, owner_id: 1 } }", "channels.telegram.token"],
    ["memory: { postgres: { connection_string: 'postgres://u:pass@h/d' } }", "memory.postgres.connection_string"],
    ["mcp: { servers: { x: { command: y, env: { SOME_TOKEN: abc } } } }", "mcp.servers.x.env.SOME_TOKEN"],
    ["mcp: { servers: { x: { command: y, args: [--key, sk-abcdefghijklmnopqrst] } } }", "mcp.servers.x.args[1]"],
    [
      "mcp: { servers: { x: { url: 'https://h', headers: { Authorization: 'Bearer abc' } } } }",
      "mcp.servers.x.headers.Authorization",
    ],
    ["deployment: { image: { password: abc } }", "deployment.image.password"],
  ])("is given for the secret in %s", async (part, path) => {
    const { warnings } = await inspectText(part);
    expect(
      warnings.filter(({ message }) => message.includes("a secret stands in the file")).map((issue) => issue.path),
    ).toEqual([path]);
  });

  test("is not given for references, for addresses without a password, or for words like max_tokens", async () => {
    const { warnings } = await inspectText(
      `
version: 1
agents: { main: { provider: anthropic, budget: { daily_tokens: 5 } } }
providers: { anthropic: { model: x, api_key: "\${ANTHROPIC_API_KEY}", max_tokens: 100 } }
memory: { postgres: { connection_string: "postgres://cairn:\${PG_PASSWORD}@localhost/cairn", direct_url: "postgres://cairn@localhost/cairn" } }
`,
      { env: { ANTHROPIC_API_KEY: "k", PG_PASSWORD: "p" } },
    );
    expect(warnings).toEqual([]);
  });

  test("is given for a file without a version", async () => {
    const { warnings } = await inspectText(MINIMAL.replace("version: 1\n", ""));
    expect(warnings).toMatchObject([{ path: "version" }]);
  });
});

test("the shell's working directory is no secret, a password is", async () => {
  const env = { PWD: "/srv/agents", OLDPWD: "/srv/before", MAIL_PWD: "geheim-7" };
  const { loaded } = await inspectText(MINIMAL, { env });
  expect(loaded?.secrets).toContain("geheim-7");
  expect(loaded?.secrets).not.toContain("/srv/agents");
  expect(loaded?.secrets).not.toContain("/srv/before");
});

describe("what is derived", () => {
  test("kinds and addresses come from well-known ids, and what is written wins", async () => {
    const { loaded } = await inspectText(
      `
version: 1
agents: { main: { provider: openai, fallbacks: ["mine:m"] } }
providers:
  openai: { model: gpt }
  mine: { kind: openai-compatible, model: m, base_url: "http://127.0.0.1:8080/v1" }
`,
      { env: { OPENAI_API_KEY: "key" } },
    );
    expect(loaded?.config.providers).toMatchObject({
      openai: { kind: "openai-compatible", base_url: "https://api.openai.com/v1", api_key: "key" },
      mine: { kind: "openai-compatible", base_url: "http://127.0.0.1:8080/v1" },
    });
    // The key of one service is never sent to another address.
    expect(loaded?.config.providers["mine"]?.api_key).toBeUndefined();
  });

  test("a key of the environment is not given to an address of one's own", async () => {
    const yaml = WITH_KEY.replace("model: claude", "model: claude, base_url: 'http://127.0.0.1:9'");
    const { loaded } = await inspectText(yaml, { env: { ANTHROPIC_API_KEY: "key" } });
    expect(loaded?.config.providers["anthropic"]?.api_key).toBeUndefined();
  });

  test("the default agent is the only one, else main, else it must be named", async () => {
    const withAgents = (agents: string) =>
      inspectText(`version: 1\nagents: { ${agents} }\nproviders: { offline: {} }\n`);
    expect((await withAgents("nova: {}")).loaded?.config.runtime.default_agent).toBe("nova");
    expect((await withAgents("nova: {}, main: {}")).loaded?.config.runtime.default_agent).toBe("main");
    expect((await withAgents("nova: {}, iris: {}")).errors).toMatchObject([
      { path: "runtime.default_agent", allowed: "the name of an agent: nova, iris" },
    ]);
  });

  test("paths are absolute: from the deployment directory, the home directory and the user's home", async () => {
    const dir = await deploymentDirectory({ yaml: `${MINIMAL}plugin_dirs: [plugins, ~/mine, /opt/plugins]\n` });
    const { config } = await loadConfig({ dir, home: "/data", env: bareEnvironment() });
    expect(config.runtime.workspace).toBe(join(dir, "workspace"));
    expect(config.memory.embedded.path).toBe("/data/store");
    expect(config.plugin_dirs).toEqual([join(dir, "plugins"), "/home/somebody/mine", "/opt/plugins"]);
  });

  test("SERVICE_LISTEN overrides the address and is checked like it", async () => {
    const yaml = `${MINIMAL}runtime: { listen: "127.0.0.1:1" }\n`;
    expect((await inspectText(yaml, { env: { SERVICE_LISTEN: "0.0.0.0:2" } })).loaded?.config.runtime.listen).toBe(
      "0.0.0.0:2",
    );
    expect((await inspectText(yaml, { env: { SERVICE_LISTEN: "nowhere" } })).errors).toMatchObject([
      { path: "SERVICE_LISTEN" },
    ]);
    expect((await inspectText(yaml, { env: { SERVICE_LISTEN: "7455" } })).loaded?.config.runtime.listen).toBe(
      "127.0.0.1:7455",
    );
  });

  test("an empty memory.postgres takes SERVICE_PG_URL", async () => {
    const yaml = `${MINIMAL}memory:\n  postgres:\n`;
    const { loaded } = await inspectText(yaml, {
      env: { SERVICE_PG_URL: "postgres://h/d", SERVICE_PG_DIRECT_URL: "postgres://direct/d" },
    });
    expect(loaded?.config.memory).toMatchObject({
      backend: "postgres",
      postgres: { connection_string: "postgres://h/d", direct_url: "postgres://direct/d", pool: 10 },
    });
  });

  describe("with a database that the deployment brings", () => {
    const deployed = (memory: string, name = "") =>
      `${MINIMAL}deployment: { target: docker, ${name}datahub: { postgres: true } }\n${memory}`;

    test.each([
      ["nothing", ""],
      ["an empty memory.postgres", "memory: { postgres: {} }\n"],
      ["the usual variable", 'memory: { postgres: { connection_string: "${SERVICE_PG_URL}" } }\n'],
    ])("%s is enough, on a machine that has no SERVICE_PG_URL", async (_what, memory) => {
      const { errors, loaded } = await inspectText(deployed(memory, "name: fleet, "), { deployment: true });
      expect(errors).toEqual([]);
      expect(loaded?.config.memory).toMatchObject({
        backend: "postgres",
        postgres: { connection_string: "postgresql://cairn@fleet-postgres:5432/cairn", pool: 10 },
      });
    });

    test("SERVICE_PG_URL counts where it is set: on the nodes themselves", async () => {
      const { loaded } = await inspectText(deployed(""), { env: { SERVICE_PG_URL: "postgres://h/d" } });
      expect(loaded?.config.memory.postgres?.connection_string).toBe("postgres://h/d");
    });

    test("an address of one's own and the embedded store stay what they are", async () => {
      const own = await inspectText(deployed('memory: { postgres: { connection_string: "postgres://own/d" } }\n'));
      expect(own.loaded?.config.memory.postgres?.connection_string).toBe("postgres://own/d");
      const embedded = await inspectText(deployed("memory: { embedded: {} }\n"));
      expect(embedded.loaded?.config.memory.backend).toBe("embedded");
    });

    test("the manual target still needs the variable, and a bad name is reported once", async () => {
      const manual = await inspectText(
        `${MINIMAL}deployment: { datahub: { postgres: true } }\nmemory: { postgres: {} }\n`,
      );
      expect(manual.errors).toMatchObject([{ path: "memory.postgres.connection_string" }]);
      const bad = await inspectText(deployed("", 'name: "a; rm -rf /", '));
      expect(bad.errors.map(({ path }) => path)).toEqual(["deployment.name"]);
    });
  });

  test("identifiers longer than a number can hold keep all their digits", async () => {
    const yaml = `${MINIMAL}channels:\n  discord:\n    token: \${T}\n    owner_id: 1234567890123456789\n    channel_bindings: { 9876543210987654321: main }\n`;
    const { loaded } = await inspectText(yaml, { env: { T: "t" } });
    expect(loaded?.config.channels["discord"]).toMatchObject({
      owner_id: "1234567890123456789",
      channel_bindings: { "9876543210987654321": "main" },
    });
  });

  test("sections and keys that are left empty mean their defaults", async () => {
    const { errors, loaded } = await inspectText(
      `${MINIMAL}runtime:\n  listen:\nchannels:\nmesh:\nplugin_dirs:\ndeployment:\n  docker:\n`,
    );
    expect(errors).toEqual([]);
    expect(loaded?.config.runtime.listen).toBe("127.0.0.1:7433");
  });
});

describe("secrets for the log", () => {
  test("are the keys in use, passwords inside addresses, and what .env calls a key", async () => {
    const yaml = `${WITH_KEY}memory: { postgres: { connection_string: "\${SERVICE_PG_URL}" } }\n`;
    const { loaded } = await inspectText(yaml, {
      files: { env: "SERVICE_API_TOKEN=cairn-token-1\nTOOL_SYNTH_MODEL=qwen3:8b\n" },
      env: { ANTHROPIC_API_KEY: "key-value-1", SERVICE_PG_URL: "postgres://cairn:p%40ssword@db/cairn" },
    });
    expect(loaded?.secrets).toEqual(expect.arrayContaining(["key-value-1", "cairn-token-1", "p%40ssword", "p@ssword"]));
    const redact = createRedactor(loaded?.secrets ?? []);
    expect(redact("qwen3:8b at postgres://cairn:p%40ssword@db/cairn with key-value-1")).toBe(
      "qwen3:8b at postgres://cairn:[redacted]@db/cairn with [redacted]",
    );
  });
});
