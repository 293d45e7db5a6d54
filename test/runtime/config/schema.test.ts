import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { configJsonSchema } from "../../../runtime/config/schema.ts";
import { inspectText, MINIMAL } from "../../support/deployment.ts";

/** Every key that the specification and the design name, with a value that is allowed. */
const EVERYTHING = `
version: 1
runtime:
  listen: 0.0.0.0:7433
  workspace: workspace
  default_agent: main
  max_tool_iterations: 75
  timezone: Europe/Berlin
  turn_timeout: 900s
  drain_deadline: 60s
  tls: { cert: tls/cert.pem, key: tls/key.pem }
  safety:
    shell_danger: true
    workspace_fence: true
    audit: true
    rules:
      - { name: no-push, tools: [shell], pattern: "git push", action: refuse, message: Ask first. }
  auto_actions: { format: npm run format, lint: off, test: off, git_check: off, commit: turn }
agents:
  main:
    provider: anthropic
    model: claude
    default_thinking: high
    fallbacks: ["openai:gpt-5.5", "ollama:qwen3:8b"]
    node: node-1
    workspace: ~/agents/main
    tools: { include: [shell, file_read], exclude: [shell] }
    schedules: [{ cron: "0 8 * * 1-5", prompt: Good morning., channel: telegram, conversation: "1" }]
    budget: { daily_tokens: 100000, daily_usd: 2.5 }
providers:
  anthropic:
    model: claude
    api_key: \${ANTHROPIC_API_KEY}
    max_tokens: 8192
    temperature: 0.7
    context_window: 200k
    prices: { input: 3, output: 15 }
  openai: { kind: openai-compatible, model: gpt-5.5, base_url: "https://proxy.example.org/v1", api_key: op://vault/openai/key, prices: { input: 1, output: 4 } }
  ollama: { model: "qwen3:8b", prices: { input: 0, output: 0 } }
channels:
  agent: {}
  telegram:
    kind: telegram
    token: \${TELEGRAM_TOKEN}
    owner_id: 123456789
    channel_bindings: { "-100123": main }
    reconnect: { max_retries: 5 }
    pairing: true
memory:
  postgres: { connection_string: "\${SERVICE_PG_URL}", pool: 10 }
  embedding: { provider: ollama, base_url: "http://192.168.1.5:11434", model: minilm, dimensions: 384, batch: 32, interval: 10s }
  summarizer: { base_url: "http://192.168.1.5:11434/v1", model: qwen3, interval: 5m, context_window: 128k }
  search: { weights: { fts: 0.6, semantic: 0.3, temporal: 0.05, importance: 0.05 } }
mesh: { enabled: true, name: node-1, advertise: node-1.example.org:7433, seeds: [node-2.example.org:7433], mdns: false }
tools:
  web_search: { backend: searxng, base_url: "http://192.168.1.5:8888" }
  shell: { sandbox: none }
mcp:
  servers:
    files: { command: npx, args: [some-server] }
    remote: { url: "https://mcp.example.org", headers: { Authorization: "Bearer \${MCP_TOKEN}" } }
plugin_dirs: [plugins]
skill_dirs: [skills]
deployment:
  target: proxmox
  nodes:
    - { name: node-1, host: "ssh://deploy@host-1.example.org:2222", memory: 1Gi }
    - { name: node-2, host: local, vmid: 701, address: 192.168.1.40/24 }
  datahub: { postgres: true, publish: "10.0.0.5:5432", shared_storage: false, image: "pgvector/pgvector:0.8.1-pg17" }
  image: { build_from_source: false, registry: registry.example.org/cairn, tag: "1.2.3" }
  docker: { network: cairn }
  proxmox: { host: 192.168.1.2, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", storage: local-lvm, data_dir: /srv/data, postgres_address: 192.168.1.50/24 }
  kubernetes: { namespace: cairn, storage_class: fast }
telemetry: { otlp: on }
`;

const ENV = {
  ANTHROPIC_API_KEY: "k",
  TELEGRAM_TOKEN: "t",
  SERVICE_PG_URL: "postgres://cairn@db/cairn",
  MCP_TOKEN: "m",
};

describe("the schema of cairn.yaml", () => {
  test("knows every documented key", async () => {
    const options = { env: ENV, readSecret: async () => "from the manager" };
    const { errors, warnings } = await inspectText(EVERYTHING, options);
    // Each is allowed; what this version does not do, or the target does not read, is said, and nothing else.
    const missing = [...errors, ...warnings].filter(
      ({ code }) => code !== "not-implemented" && code !== "other-target",
    );
    expect(missing).toEqual([]);
    expect(errors).toEqual([]);
    const { loaded } = await inspectText(EVERYTHING, options);
    expect(loaded?.config).toMatchObject({
      runtime: {
        turn_timeout: 900_000,
        drain_deadline: 60_000,
      },
      providers: {
        anthropic: { kind: "anthropic", context_window: 200_000 },
        openai: { api_key: "from the manager", base_url: "https://proxy.example.org/v1" },
        ollama: { kind: "ollama", context_window: 32_768 },
      },
      channels: { telegram: { owner_id: "123456789", reconnect: { max_retries: 5 } } },
      memory: { backend: "postgres", summarizer: { interval: 300_000, context_window: 128_000 } },
      mcp: { servers: { remote: { headers: { Authorization: "Bearer m" } } } },
      deployment: { nodes: [{ memory: 1_073_741_824 }, { vmid: 701 }] },
      telemetry: { otlp: true },
    });
  });

  test("fills in the documented defaults", async () => {
    const { loaded } = await inspectText(MINIMAL);
    expect(loaded?.config).toMatchObject({
      version: 1,
      runtime: {
        listen: "127.0.0.1:7433",
        default_agent: "main",
        timezone: "UTC",
        max_tool_iterations: 75,
        turn_timeout: 900_000,
        drain_deadline: 60_000,
        tls: "off",
        safety: { shell_danger: true, workspace_fence: true, audit: true, rules: [] },
        auto_actions: { format: false, lint: false, test: false, git_check: false },
      },
      agents: {
        main: { provider: "offline", default_thinking: "off", fallbacks: [], tools: { exclude: [] }, schedules: [] },
      },
      providers: { offline: { kind: "offline", model: "offline", context_window: 128_000 } },
      channels: { agent: { kind: "agent", channel_bindings: {}, pairing: false } },
      memory: {
        backend: "embedded",
        embedding: { provider: "off", batch: 32, interval: 10_000 },
        summarizer: { interval: 300_000, context_window: 128_000 },
      },
      mesh: { enabled: false, name: "box", seeds: [], mdns: false, heartbeat: 15_000 },
      plugin_dirs: [],
      skill_dirs: [],
      deployment: {
        target: "manual",
        nodes: [],
        datahub: { postgres: false, shared_storage: false },
        image: { build_from_source: true },
      },
      telemetry: { otlp: false },
    });
    expect(loaded?.config.memory.postgres).toBeUndefined();
    expect(loaded?.config.memory.summarizer.base_url).toBeUndefined();
  });

  test.each([
    ["datahub: { publish: 5432 }", "deployment.datahub.publish"],
    ["datahub: { publish: 'db.example.org:5432' }", "deployment.datahub.publish"],
    ["datahub: { publish: '10.0.0.5:0' }", "deployment.datahub.publish"],
    ["proxmox: { host: h, host_key: ssh-ed25519 AAAA, data_dir: data }", "deployment.proxmox.data_dir"],
    ["proxmox: { host: h, host_key: ssh-ed25519 AAAA, data_dir: '/x; rm -rf /' }", "deployment.proxmox.data_dir"],
    ["proxmox: { host: h, host_key: ssh-ed25519 AAAA, data_dir: /x/../etc }", "deployment.proxmox.data_dir"],
    ["proxmox: { host: h, host_key: ssh-ed25519 AAAA, postgres_address: dhcp }", "deployment.proxmox.postgres_address"],
    ['proxmox: { host: h, host_key: "ssh-ed25519 AAAA\\nProxyCommand id" }', "deployment.proxmox.host_key"],
    ['proxmox: { host: h, host_key: "ssh-ed25519 AAAA\\n" }', "deployment.proxmox.host_key"],
    ['proxmox: { host: h, host_key: "h\\nssh-ed25519 AAAA" }', "deployment.proxmox.host_key"],
    ["kubernetes: { denied_networks: [10.96.0.1] }", "deployment.kubernetes.denied_networks[0]"],
    ["kubernetes: { denied_networks: [0.0.0.0/0] }", "deployment.kubernetes.denied_networks[0]"],
    ["kubernetes: { denied_networks: [10.96.0.0/33] }", "deployment.kubernetes.denied_networks[0]"],
    ['kubernetes: { denied_networks: ["::ffff:10.96.0.0/108"] }', "deployment.kubernetes.denied_networks[0]"],
    ['kubernetes: { denied_networks: ["0:0::ffff:a60:0/108"] }', "deployment.kubernetes.denied_networks[0]"],
    ["nodes: [{ name: 'a; rm -rf /' }]", "deployment.nodes[0].name"],
  ])("refuses `%s`", async (deployment, path) => {
    const { errors } = await inspectText(`${MINIMAL}deployment: { ${deployment} }\n`);
    expect(errors.map((issue) => issue.path)).toEqual([path]);
  });

  test("takes a certificate as text, by reference", async () => {
    const key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n";
    const { loaded } = await inspectText(`${MINIMAL}runtime: { tls: { cert: tls/cert.pem, key: "\${TLS_KEY}" } }\n`, {
      env: { TLS_KEY: key },
    });
    expect(loaded?.config.runtime.tls).toEqual({ cert: expect.stringMatching(/^\/.*\/tls\/cert\.pem$/), key });
  });

  test("becomes a JSON Schema that accepts what the loader accepts and refuses what it refuses", () => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(configJsonSchema());
    expect(validate(parse(EVERYTHING))).toBe(true);
    expect(validate(parse(MINIMAL.replace("offline: {}", "offline: { model: none }")))).toBe(true);
    expect(validate(parse("agents: []"))).toBe(false);
    expect(validate(parse("runtime: { listen: 7433 }"))).toBe(false);
    expect(validate(parse("deployment: { nodes: [{ name: 'a; rm -rf /' }] }"))).toBe(false);
    expect(validate(parse("agents: { main: { provider: x, default_thinking: sometimes } }"))).toBe(false);
  });

  test("accepts the template that a setup starts from", async () => {
    const template = await readFile(new URL("../../../templates/cairn.yaml", import.meta.url), "utf8");
    expect(await inspectText(template)).toMatchObject({ errors: [], warnings: [] });
  });
});
