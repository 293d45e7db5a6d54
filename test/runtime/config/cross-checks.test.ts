import { describe, expect, test } from "vitest";
import { inspectText } from "../../support/deployment.ts";

const BASE = { agents: "agents: { main: {} }", providers: "providers: { offline: {} }" };
const ENV = { TG: "token-1", DC: "token-2", SERVICE_PG_URL: "postgres://127.0.0.1/d" };

/** The given top-level parts over the smallest valid file. */
function file(parts: Record<string, string>): string {
  return ["version: 1", ...Object.values({ ...BASE, ...parts })].join("\n");
}

const AUDIO = "transcription: { base_url: http://h, model: m }, speech: { base_url: http://h, model: m }";
const TELEGRAM = 'telegram: { token: "${TG}", owner_id: 1 }';

const errors: [string, Record<string, string>, string, RegExp][] = [
  ["no agent at all", { agents: "agents: {}" }, "agents", /at least one agent/],
  [
    "a limit of money where a provider has no price",
    {
      agents: "agents: { main: { provider: offline, budget: { monthly_usd: 5, daily_tokens: 9 } } }",
      providers:
        "providers: { offline: {}, o: { kind: openai-compatible, base_url: 'http://127.0.0.1:1', model: m, prices: { input: 1 } } }",
    },
    "agents.main.budget.monthly_usd",
    /calls of o have no price/,
  ],
  [
    "a default agent that is none",
    { runtime: "runtime: { default_agent: maim }" },
    "runtime.default_agent",
    /did you mean main/,
  ],
  [
    "a provider that is none",
    { agents: "agents: { main: { provider: ofline } }" },
    "agents.main.provider",
    /did you mean offline/,
  ],
  [
    "a fallback to a provider that is none",
    { agents: "agents: { main: { fallbacks: ['x:m'] } }" },
    "agents.main.fallbacks[0]",
    /the id of a provider: offline/,
  ],
  [
    "a fallback without a model",
    { agents: "agents: { main: { fallbacks: [offline] } }" },
    "agents.main.fallbacks[0]",
    /<provider>:<model>/,
  ],
  [
    "a binding to an agent that is none",
    { channels: "channels: { agent: { channel_bindings: { room: nobody } } }" },
    "channels.agent.channel_bindings.room",
    /the name of an agent: main/,
  ],
  [
    "a binding of what is no chat of Telegram's",
    { channels: "channels: { telegram: { token: t, owner_id: 1, channel_bindings: { '@room': main } } }" },
    'channels.telegram.channel_bindings["@room"]',
    /the number of a chat/,
  ],
  [
    "a binding of what is no channel of Discord's",
    {
      channels:
        "channels: { discord: { token: t, owner_id: 100000000000000001, channel_bindings: { general: main } } }",
    },
    "channels.discord.channel_bindings.general",
    /the id of a channel or thread/,
  ],
  [
    "a binding of what is no channel of Slack's",
    {
      channels:
        "channels: { slack: { token: t, app_token: a, owner_id: U012AB3CD, channel_bindings: { '#general': main } } }",
    },
    'channels.slack.channel_bindings["#general"]',
    /the id of a channel, such as C012AB3CD/,
  ],
  [
    "a schedule in what is no channel of Discord's",
    {
      channels: "channels: { discord: { token: t, owner_id: 100000000000000001 } }",
      agents:
        "agents: { main: { schedules: [{ cron: '0 8 * * *', prompt: x, channel: discord, conversation: '#general' }] } }",
    },
    "agents.main.schedules[0].conversation",
    /the id of a channel or thread/,
  ],
  [
    "a schedule on a channel that is none",
    { agents: "agents: { main: { schedules: [{ cron: '0 8 * * *', prompt: x, channel: tg, conversation: y }] } }" },
    "agents.main.schedules[0].channel",
    /the id of a channel/,
  ],
  [
    "a schedule that names no conversation",
    { agents: "agents: { main: { schedules: [{ cron: '0 8 * * *', prompt: x, channel: agent }] } }" },
    "agents.main.schedules[0].conversation",
    /nothing/,
  ],
  [
    "a schedule on a channel that is switched off",
    {
      agents: "agents: { main: { schedules: [{ cron: '0 8 * * *', prompt: x, channel: telegram }] } }",
      channels: "channels: { telegram: { enabled: off, owner_id: 1 } }",
    },
    "agents.main.schedules[0].channel",
    /not enabled/,
  ],
  [
    "a schedule on a channel without an owner",
    {
      agents: "agents: { main: { schedules: [{ cron: '0 8 * * *', prompt: x, channel: telegram, conversation: 7 }] } }",
      channels: 'channels: { telegram: { token: "${TG}" } }',
    },
    "agents.main.schedules[0].channel",
    /no owner_id/,
  ],
  [
    "a schedule in a chat of Telegram that is none",
    {
      agents:
        "agents: { main: { schedules: [{ cron: '0 8 * * *', prompt: x, channel: telegram, conversation: '@ada' }] } }",
      channels: `channels: { ${TELEGRAM} }`,
    },
    "agents.main.schedules[0].conversation",
    /number of a chat/,
  ],
  [
    "a schedule with a conversation and no channel",
    { agents: "agents: { main: { schedules: [{ cron: '0 8 * * *', prompt: x, conversation: y }] } }" },
    "agents.main.schedules[0].channel",
    /nothing/,
  ],
  [
    "two schedules of one name",
    {
      agents:
        "agents: { main: { schedules: [{ name: a, cron: '0 8 * * *', prompt: x }, { name: a, cron: '0 9 * * *', prompt: y }] } }",
    },
    "agents.main.schedules[1].name",
    /schedules\[0\] has the name a/,
  ],
  [
    "a schedule named as the position of another",
    {
      agents:
        "agents: { main: { schedules: [{ name: '2', cron: '0 8 * * *', prompt: x }, { cron: '0 9 * * *', prompt: y }] } }",
    },
    "agents.main.schedules[1].name",
    /has the name 2/,
  ],
  [
    "a schedule whose name is none",
    { agents: "agents: { main: { schedules: [{ name: 'a b', cron: '0 8 * * *', prompt: x }] } }" },
    "agents.main.schedules[0].name",
    /a schedule's name/,
  ],
  [
    "a schedule in a time zone that is none",
    { agents: "agents: { main: { schedules: [{ cron: '0 8 * * *', prompt: x, timezone: Mars/Base }] } }" },
    "agents.main.schedules[0].timezone",
    /IANA time zone/,
  ],
  [
    "a schedule that is no cron expression",
    { agents: "agents: { main: { schedules: [{ cron: 'at eight', prompt: x }] } }" },
    "agents.main.schedules[0].cron",
    /cron expression/,
  ],
  [
    "an agent on a node that is none",
    { agents: "agents: { main: { node: node-9 } }", deployment: "deployment: { nodes: [{ name: node-1 }] }" },
    "agents.main.node",
    /deployment.nodes: node-1/,
  ],
  [
    "a chat channel without a token",
    { channels: "channels: { telegram: { owner_id: 1 } }" },
    "channels.telegram.token",
    /TELEGRAM_TOKEN/,
  ],
  [
    "two channels with one token",
    { channels: `channels: { ${TELEGRAM}, second: { kind: telegram, token: "\${TG}", owner_id: 1 } }` },
    "channels.second.token",
    /same token/,
  ],
  [
    "a channel with a token on several nodes",
    { channels: `channels: { ${TELEGRAM} }`, deployment: "deployment: { nodes: [{ name: a }, { name: b }] }" },
    "channels.telegram",
    /memory.postgres/,
  ],
  [
    "a voice channel without its routes",
    { channels: "channels: { voice: {} }" },
    "channels.voice",
    /transcription and speech/,
  ],
  [
    "a second voice channel",
    { channels: `channels: { voice: { ${AUDIO} }, other: { kind: voice, ${AUDIO} } }` },
    "channels.other",
    /channels.voice takes recordings already/,
  ],
  [
    "a first delay longer than the longest",
    { channels: "channels: { agent: { reconnect: { initial_delay: 5m } } }" },
    "channels.agent.reconnect.initial_delay",
    /max_delay/,
  ],
  [
    "both memory backends",
    { memory: "memory: { postgres: {}, embedded: {} }" },
    "memory.embedded",
    /exclude each other/,
  ],
  [
    "an embedding provider without a model",
    { memory: "memory: { embedding: { provider: ollama } }" },
    "memory.embedding.model",
    /name of the embedding model/,
  ],
  [
    "an embedding provider without an address",
    { memory: "memory: { embedding: { provider: openai-compatible, model: m } }" },
    "memory.embedding.base_url",
    /address/,
  ],
  [
    "a summarizer without a model",
    { memory: "memory: { summarizer: { base_url: 'http://h' } }" },
    "memory.summarizer.model",
    /summarizes/,
  ],
  [
    "a compatible provider without an address",
    {
      providers: "providers: { offline: {}, mine: { kind: openai-compatible, model: m } }",
      agents: "agents: { main: { provider: mine } }",
    },
    "providers.mine.base_url",
    /address/,
  ],
  [
    "a kill before the drain is over",
    { deployment: "deployment: { stop_timeout: 70s }" },
    "deployment.stop_timeout",
    /more than 70s/,
  ],
  [
    "a mesh whose TLS is off",
    { runtime: "runtime: { tls: off }", mesh: "mesh: { enabled: true, advertise: 'h:1' }" },
    "mesh.enabled",
    /runtime\.tls is off.*auto/,
  ],
  [
    "a search backend without its key",
    { tools: "tools: { web_search: { backend: brave } }" },
    "tools.web_search.api_key",
    /BRAVE_API_KEY/,
  ],
  [
    "a login whose tokens would go to another machine in the clear",
    { providers: "providers: { p: { kind: anthropic, model: m, base_url: 'http://h', login: { client_id: c } } }" },
    "providers.p.base_url",
    /https:/,
  ],
  [
    "an MCP server that is two",
    { mcp: "mcp: { servers: { x: { command: a, url: 'http://h' } } }" },
    "mcp.servers.x",
    /one of command and url/,
  ],
  [
    "an MCP server whose address has a password in it",
    { mcp: "mcp: { servers: { x: { url: 'https://ada:${DC}@h/mcp' } } }" },
    "mcp.servers.x.url",
    /without a user/,
  ],
  [
    "an MCP server with a header that is the protocol's own",
    { mcp: "mcp: { servers: { x: { url: 'https://h', headers: { mcp-session-id: a } } } }" },
    "mcp.servers.x.headers.mcp-session-id",
    /does not set by itself/,
  ],
  [
    "pages of which nothing is read",
    { tools: "tools: { web_fetch: { max_bytes: 0 } }" },
    "tools.web_fetch.max_bytes",
    /from 1Ki to 64Mi/,
  ],
  ["an MCP server that is nothing", { mcp: "mcp: { servers: { x: {} } }" }, "mcp.servers.x", /neither/],
  [
    "two nodes of one name",
    { deployment: "deployment: { nodes: [{ name: a }, { name: a }] }" },
    "deployment.nodes[1].name",
    /no other node/,
  ],
  [
    "a node on another machine whose key is not pinned",
    { deployment: "deployment: { nodes: [{ name: a, host: 10.0.0.2 }] }" },
    "deployment.nodes[0].host_key",
    /ssh-keyscan/,
  ],
  [
    "an SSH user of a node that is on this machine",
    { deployment: "deployment: { nodes: [{ name: a, user: cairn }] }" },
    "deployment.nodes[0].user",
    /`host` as well/,
  ],
  [
    "two nodes of one unit",
    { deployment: "deployment: { nodes: [{ name: a, unit: cairn-x }, { name: b, unit: cairn-x }] }" },
    "deployment.nodes[1].unit",
    /no other node of the machine/,
  ],
  [
    "a Docker host for a node that was set up by hand",
    { deployment: "deployment: { nodes: [{ name: a, host: 'ssh://u@h', host_key: ssh-ed25519 AAAA }] }" },
    "deployment.nodes[0].host",
    /settings of their own/,
  ],
  [
    "a host name for Docker",
    { deployment: "deployment: { target: docker, nodes: [{ name: a, host: 10.0.0.2 }] }" },
    "deployment.nodes[0].host",
    /ssh:\/\/user@host/,
  ],
  ["proxmox without its section", { deployment: "deployment: { target: proxmox }" }, "deployment.proxmox", /host_key/],
  [
    "an image that is neither built nor pulled",
    { deployment: "deployment: { target: docker, image: { build_from_source: false } }" },
    "deployment.image.registry",
    /repository/,
  ],
];

const warnings: [string, Record<string, string>, string, RegExp][] = [
  [
    "an agent with web_search that has no backend",
    { agents: "agents: { main: { tools: { include: [web_search] } } }" },
    "agents.main.tools.include",
    /tools\.web_search\.backend/,
  ],
  [
    "a search engine's address without its name",
    { tools: "tools: { web_search: { base_url: 'http://h' } }" },
    "tools.web_search.base_url",
    /no web_search without tools\.web_search\.backend/,
  ],
  ["SERVICE_PG_URL without memory.postgres", {}, "memory", /embedded store/],
  [
    "a drain longer than any turn",
    { runtime: "runtime: { turn_timeout: 10s }" },
    "runtime.drain_deadline",
    /turn_timeout/,
  ],
  [
    "checks of code that take longer than any turn",
    { runtime: "runtime: { turn_timeout: 5m }", tools: "tools: { coding_pipeline: { check_timeout: 5m } }" },
    "tools.coding_pipeline.check_timeout",
    /turn_timeout \(5m\)/,
  ],
  [
    "several nodes without one database",
    { deployment: "deployment: { nodes: [{ name: a }, { name: b }] }" },
    "deployment.nodes",
    /a memory of its own/,
  ],
  [
    "a node that may have less memory than a node takes",
    { deployment: "deployment: { target: docker, nodes: [{ name: a }, { name: b, memory: 20Mi }] }" },
    "deployment.nodes[1].memory",
    /less than 320Mi/,
  ],
  [
    "pods that may have less memory than a node takes, without a store of their own",
    {
      memory: "memory: { postgres: {} }",
      deployment: "deployment: { target: kubernetes, kubernetes: { limits: { memory: 64Mi } } }",
    },
    "deployment.kubernetes.limits.memory",
    /less than 128Mi/,
  ],
  ["plain HTTP beyond loopback", { runtime: "runtime: { listen: '[::]:7433' }" }, "runtime.listen", /can be read/],
  [
    "plain HTTP beyond loopback, said to be off",
    { runtime: "runtime: { listen: '192.168.1.2:7433', tls: off }" },
    "runtime.listen",
    /can be read/,
  ],
  [
    "plain HTTP beyond a cluster",
    { deployment: "deployment: { target: kubernetes, kubernetes: { service_type: LoadBalancer } }" },
    "deployment.kubernetes.service_type",
    /can be read/,
  ],
  [
    "a deployed database that nothing uses",
    { deployment: "deployment: { datahub: { postgres: true } }" },
    "deployment.datahub.postgres",
    /nothing uses it/,
  ],
  [
    "a wiki that nobody writes",
    { memory: "memory: { wiki: { enabled: true } }" },
    "memory.wiki.enabled",
    /needs memory\.summarizer/,
  ],
  [
    "an agent on a node that is not this one",
    { agents: "agents: { main: { node: elsewhere } }" },
    "agents.main.node",
    /called box/,
  ],
];

describe("settings that do not fit together", () => {
  test.each([
    [{ TOOL_SYNTH_ENDPOINT: "localhost:8080", TOOL_SYNTH_MODEL: "m" }, /no address/],
    [{ TOOL_SYNTH_ENDPOINT: "http://localhost:8080" }, /TOOL_SYNTH_MODEL is not/],
  ])("%j is a warning: tool calls stay without a sentence", async (env, words) => {
    const inspection = await inspectText(file({}), { env: { ...ENV, ...env } });
    expect(inspection.warnings.find(({ path }) => path === "memory.summarizer")?.message).toMatch(words);
    expect(inspection.errors).toEqual([]);
  });

  test.each(errors)("%s is an error", async (_what, parts, path, words) => {
    const inspection = await inspectText(file(parts), { env: ENV });
    // What this version does not do is a finding of its own.
    const found = inspection.errors.filter(({ code }) => code !== "not-implemented");
    const issue = found.find((candidate) => candidate.path === path);
    expect(found.map((candidate) => candidate.path)).toEqual([path]);
    expect(issue?.message).toMatch(words);
    expect(inspection.loaded).toBeNull();
  });

  test.each(warnings)("%s is a warning", async (_what, parts, path, words) => {
    const inspection = await inspectText(file(parts), { env: ENV });
    expect(inspection.errors).toEqual([]);
    expect(inspection.warnings.find((candidate) => candidate.path === path)?.message).toMatch(words);
  });

  test.each([
    ["telegram", TELEGRAM, ["1", "-100", "-100:7", "123456789012345"], ["-", "1:", "1:x", "1 ", "1:2:3", "@room"]],
    [
      "discord",
      'discord: { token: "${DC}", owner_id: 100000000000000001 }',
      ["10000000000000002", "99999999999999999999"],
      ["1000000000000000", "010000000000000002", "100000000000000002x", "100000000000000002 ", "#general"],
    ],
    [
      "slack",
      'slack: { token: "${DC}", app_token: "${TG}", owner_id: U012AB3CD }',
      ["C012AB3CD", "D012AB3CD", "G012AB3CD", "C012AB3CD:1700000000.000100"],
      ["U012AB3CD", "c012ab3cd", "C012AB3CD:1700000000", "C012AB3CD:1700000000.0001000", "C012AB3CD ", "#general"],
    ],
  ])("bindings are of conversations of the platform's alone: %s", async (id, channel, right, wrong) => {
    const bindings = Object.fromEntries([...right, ...wrong].map((conversation) => [conversation, "main"]));
    const bound = channel.replace(/ }$/, `, channel_bindings: ${JSON.stringify(bindings)} }`);
    const { errors: found } = await inspectText(file({ channels: `channels: { ${bound} }` }), { env: ENV });
    const refused = found.map(({ path }) =>
      path.slice(`channels.${id}.channel_bindings`.length).replaceAll(/^\.|[["\]]/g, ""),
    );
    expect(refused.toSorted()).toEqual(wrong.toSorted());
  });

  test("a channel with a token on several nodes is allowed with one database for all", async () => {
    const parts = {
      channels: `channels: { ${TELEGRAM} }`,
      deployment: "deployment: { nodes: [{ name: a }, { name: b }] }",
      memory: "memory: { postgres: {} }",
    };
    expect(await inspectText(file(parts), { env: ENV })).toMatchObject({
      errors: [],
      warnings: [],
    });
  });

  test.each([
    ["SERVICE_LISTEN", { SERVICE_LISTEN: "0.0.0.0:7433" }, ["runtime.listen"]],
    // `infra up` publishes the port of a container on loopback.
    ["a container", { SERVICE_LISTEN: "0.0.0.0:7433", SERVICE_CONTAINER: "1" }, []],
    ["loopback", { SERVICE_LISTEN: "127.0.0.2:7433" }, []],
  ])("plain HTTP is looked for where the node listens: %s", async (_what, env, paths) => {
    const inspection = await inspectText(file({}), { env });
    expect(inspection.errors).toEqual([]);
    expect(inspection.warnings.flatMap(({ path, code }) => (code === "plain-http" ? [path] : []))).toEqual(paths);
  });

  test.each([
    ["another machine", "postgresql://u:p@db.example.org/d", ["memory.postgres.connection_string"]],
    ["another machine, TLS refused", "postgresql://h/d?sslmode=disable", ["memory.postgres.connection_string"]],
    ["another machine that the query names", "postgresql://localhost/d?host=h", ["memory.postgres.connection_string"]],
    ["an address of the network", "postgresql://10.0.0.5/d?ssl=0", ["memory.postgres.connection_string"]],
    ["TLS", "postgresql://h/d?sslmode=verify-full", []],
    ["TLS that the server need not prove", "postgresql://h/d?sslmode=require", []],
    ["TLS by the driver's own word", "postgresql://h/d?ssl=true", []],
    ["an authority", "postgresql://h/d?sslrootcert=/ca.pem", []],
    ["this machine", "postgresql://localhost:5432/d", []],
    ["this machine over IPv6", "postgresql://[::1]/d", []],
    ["a socket", "postgresql://%2Fvar%2Frun%2Fpostgresql/d", []],
    ["a socket in the query", "postgresql://h/d?host=/var/run/postgresql", []],
  ])("a database is reached in the clear or not: %s", async (_what, url, paths) => {
    const { warnings } = await inspectText(file({ memory: "memory: { postgres: {} }" }), {
      env: { SERVICE_PG_URL: url },
    });
    const plain = warnings.filter(({ code }) => code === "plain-database");
    expect(plain.map(({ path }) => path)).toEqual(paths);
    for (const { hint, message } of plain) {
      expect(hint).toMatch(/sslmode=verify-full \(SERVICE_PG_URL\)/);
      expect(message).not.toContain("u:p");
    }
  });

  test.each([
    ["docker", "http://127.0.0.1:11434/v1", ["providers.local.base_url"]],
    ["kubernetes", "http://localhost:11434/v1", ["providers.local.base_url"]],
    ["proxmox", "http://[::1]:11434/v1", ["providers.local.base_url"]],
    ["docker", "http://192.168.1.5:11434/v1", []],
    ["manual", "http://127.0.0.1:11434/v1", []],
  ])("a model server at an address that the target's node does not reach: %s, %s", async (target, url, paths) => {
    const yaml = `version: 1
agents: { main: { provider: local } }
providers: { local: { kind: openai-compatible, model: m, api_key: "\${KEY}", base_url: "${url}" } }
deployment: { target: ${target} }`;
    const { warnings } = await inspectText(yaml, { env: { KEY: "k" } });
    expect(warnings.filter(({ code }) => code === "loopback-address").map(({ path }) => path)).toEqual(paths);
  });

  test("the direct address beside a pooler is looked at, too, and PGSSLMODE as the driver does", async () => {
    const memory = "memory: { postgres: {} }";
    const env = { SERVICE_PG_URL: "postgres://localhost/d", SERVICE_PG_DIRECT_URL: "postgres://h/d" };
    const plain = async (more: Record<string, string>) =>
      (await inspectText(file({ memory }), { env: { ...env, ...more } })).warnings.map(({ path }) => path);
    expect(await plain({})).toEqual(["memory.postgres.direct_url"]);
    expect(await plain({ PGSSLMODE: "require" })).toEqual([]);
  });

  test("the database that `infra up` deploys is no server beyond the stack", async () => {
    const deployment = "deployment: { target: kubernetes, datahub: { postgres: true } }";
    const { warnings } = await inspectText(file({ deployment }), { env: {} });
    expect(warnings.filter(({ code }) => code === "plain-database")).toEqual([]);
  });

  test.each([
    [
      "a mesh without TLS",
      "runtime: { tls: off }\nmesh: { enabled: true, mdns: true, seeds: ['h:1'] }",
      ["mesh.enabled tls-missing"],
    ],
    [
      "a mesh with a certificate, of a node on loopback",
      "runtime: { tls: { cert: c.pem, key: k.pem } }\nmesh: { enabled: true, mdns: true, seeds: ['h:1'] }",
      [],
    ],
    [
      "a mesh whose nodes make their certificates themselves",
      "mesh: { enabled: true, mdns: true, seeds: ['h:1'] }",
      [],
    ],
    ["a mesh in which no other node reaches this one", "mesh: { enabled: true }", ["mesh.advertise address-missing"]],
    [
      "a mesh that is off, and what belongs to it",
      "mesh: { mdns: true, seeds: ['h:1'] }",
      ["mesh.seeds no-effect", "mesh.mdns no-effect"],
    ],
    [
      "a channel that is not built, without an owner",
      'channels: { console: { token: "${TG}" } }',
      ["channels.console not-implemented"],
    ],
    [
      "a Discord channel without an owner",
      'channels: { discord: { token: "${TG}" } }',
      ["channels.discord.owner_id no-effect"],
    ],
    [
      "a Discord channel whose owner is given by a name",
      'channels: { discord: { token: "${TG}", owner_id: ada } }',
      ["channels.discord.owner_id invalid-value"],
    ],
    [
      "a Discord channel whose owner is given by a number that is none of Discord's",
      'channels: { discord: { token: "${TG}", owner_id: 123456789 } }',
      ["channels.discord.owner_id invalid-value"],
    ],
    [
      "a Slack channel without the app's token",
      'channels: { slack: { token: "${TG}", owner_id: U012AB3CD } }',
      ["channels.slack.app_token channel-token-missing"],
    ],
    [
      "a Slack channel whose app's token is not in the environment",
      'channels: { slack: { token: "${TG}", app_token: "${NONE}", owner_id: U012AB3CD } }',
      ["channels.slack.app_token channel-token-missing"],
    ],
    [
      "a Slack channel whose owner is given by a name",
      'channels: { slack: { token: "${TG}", app_token: "${TG}", owner_id: ada } }',
      ["channels.slack.owner_id invalid-value"],
    ],
    [
      "an app's token for a platform that has none",
      'channels: { discord: { token: "${TG}", app_token: "${TG}", owner_id: 123456789012345678 } }',
      ["channels.discord.app_token no-effect"],
    ],
    [
      "an MCP server at an address, with what only a program has",
      "mcp: { servers: { a: { url: 'https://h', args: [x], env: { A: b }, cwd: /tmp, headers: { X: y } } } }",
      ["mcp.servers.a.args no-effect", "mcp.servers.a.env no-effect", "mcp.servers.a.cwd no-effect"],
    ],
    [
      "an MCP server that is a program, with headers and a login",
      "mcp: { servers: { a: { command: x, args: [x], env: { A: b }, cwd: /tmp, headers: { X: y }, login: { client_id: c } } } }",
      ["mcp.servers.a.headers no-effect", "mcp.servers.a.login no-effect"],
    ],
    [
      "a login to an MCP server that gets an authorization",
      "mcp: { servers: { a: { url: 'https://h', headers: { authorization: '${T:-y}' }, login: { scopes: [read] } } } }",
      ["mcp.servers.a.login no-effect"],
    ],
    [
      "a login to an MCP server that gets another header",
      "mcp: { servers: { a: { url: 'https://h', headers: { X: y }, login: { scopes: [read] } } } }",
      [],
    ],
    [
      "more results than Brave gives",
      'tools: { web_search: { backend: brave, api_key: "${TG}", max_results: 21 } }',
      ["tools.web_search.max_results no-effect"],
    ],
    ["as many as it gives", 'tools: { web_search: { backend: tavily, api_key: "${TG}", max_results: 20 } }', []],
    [
      "a key for a search that takes none, which gives more results",
      'tools: { web_search: { backend: duckduckgo, api_key: "${TG}", max_results: 50 } }',
      ["tools.web_search.api_key no-effect"],
    ],
    [
      "a Telegram channel whose owner is given by a name",
      'channels: { telegram: { token: "${TG}", owner_id: ada } }',
      ["channels.telegram.owner_id invalid-value"],
    ],
  ])("one finding for one cause: %s", async (_what, parts, expected) => {
    const { errors, warnings } = await inspectText(file({ more: parts }), { env: { TG: "t" } });
    expect([...errors, ...warnings].map(({ path, code }) => `${path} ${code}`)).toEqual(expected);
  });

  test.each([
    ["beyond loopback", "runtime: { tls: auto, listen: '0.0.0.0:7433' }", "auto"],
    [
      "for nodes in containers that others reach",
      "runtime: { tls: auto }\ndeployment: { target: kubernetes, kubernetes: { service_type: LoadBalancer } }",
      "auto",
    ],
    ["in a mesh, where nothing is said", "mesh: { enabled: true, advertise: 'h:1' }", "auto"],
    ["nowhere else", "", "off"],
  ])("a node makes its certificate itself %s, and nothing is found", async (_where, more, expected) => {
    const { loaded, errors, warnings } = await inspectText(file({ more }));
    expect(loaded?.config.runtime.tls).toBe(expected);
    expect([...errors, ...warnings]).toEqual([]);
  });

  test("with a certificate, what a mesh was promised is kept and its listener may be anywhere", async () => {
    const runtime = "runtime: { listen: '0.0.0.0:7433', tls: { cert: c.pem, key: k.pem } }";
    const { errors, warnings } = await inspectText(
      file({ runtime, mesh: "mesh: { enabled: true, advertise: 'h:1' }" }),
    );
    expect([...errors, ...warnings]).toEqual([]);
  });
});
