import { expect, test } from "vitest";
import { NOT_IMPLEMENTED } from "../../../runtime/config/not-implemented.ts";
import { toolsSection } from "../../../runtime/config/schema/tools.ts";
import { builtInTools } from "../../support/built-in-tools.ts";
import { inspectText, MINIMAL } from "../../support/deployment.ts";

/** What the findings of this kind are, as `path severity`. */
async function found(yaml: string): Promise<string[]> {
  const { errors, warnings } = await inspectText(`${MINIMAL}${yaml}\n`, { env: { TG: "t" } });
  const of = (issues: typeof errors, severity: string) =>
    issues.flatMap(({ path, code }) => (code === "not-implemented" ? [`${path} ${severity}`] : []));
  return [...of(errors, "error"), ...of(warnings, "warning")].sort();
}

const ROUTE = "{ base_url: 'http://127.0.0.1:1/v1', model: m }";
const VOICE = `voice: { transcription: ${ROUTE}, speech: ${ROUTE}, keep_audio: on }`;
const agent = (settings: string) => `version: 1\nproviders: { offline: {} }\nagents: { main: { ${settings} } }`;

test.each<[string, string[]]>([
  ["", []],
  ["runtime: { auto_actions: { format: off, lint: false, git_check: no } }", []],
  ["runtime: { auto_actions: { format: npm run format, git_check: yes } }", []],
  ["mesh: { name: box, advertise: 'h:1', mdns: off, seeds: [] }", []],
  ["mesh: { enabled: true, advertise: 'h:1', mdns: on, seeds: ['h:1'] }", []],
  ["channels: { agent: {} }", []],
  ["channels: { agent: { owner_id: ada, channel_bindings: {} } }", []],
  ["channels: { agent: { channel_bindings: { room: main } } }", ["channels.agent.channel_bindings warning"]],
  [
    "channels: { agent: { pairing: on, enabled: off } }",
    ["channels.agent.enabled warning", "channels.agent.pairing warning"],
  ],
  // One finding says it: nothing more of what is in it.
  ['channels: { console: { token: "${TG}", owner_id: 1, pairing: on } }', ["channels.console warning"]],
  [
    'channels: { discord: { token: "${TG}", owner_id: 100000000000000001, channel_bindings: { "100000000000000002": main } } }',
    [],
  ],
  ['channels: { slack: { token: "${TG}", app_token: "${TG}", owner_id: U012AB3CD } }', []],
  ['channels: { agent: { app_token: "${TG}" } }', ["channels.agent.app_token warning"]],
  ['channels: { telegram: { token: "${TG}", owner_id: 1, channel_bindings: { "1": main }, reconnect: {} } }', []],
  ['channels: { work: { kind: telegram, token: "${TG}", owner_id: 1, base_url: "http://127.0.0.1:1" } }', []],
  ['channels: { telegram: { token: "${TG}", owner_id: 1, pairing: on, webhook: "https://a.example" } }', []],
  ['channels: { agent: { webhook: "https://a.example" } }', ["channels.agent.webhook warning"]],
  ['channels: { telegram: { token: "${TG}", owner_id: 1, keep_audio: on } }', ["channels.telegram.keep_audio warning"]],
  [`channels: { ${VOICE} }`, []],
  [
    `channels: { ${VOICE.replace("keep_audio: on", "pairing: on, channel_bindings: { room: main }, reconnect: { max_retries: 1 }")} }`,
    ["channels.voice.channel_bindings warning", "channels.voice.pairing warning", "channels.voice.reconnect warning"],
  ],
  ['channels: { agent: { kind: telegram, token: "${TG}", owner_id: 1 } }', ["channels.agent warning"]],
  ["channels: { telegram: { enabled: off } }", []],
  ["channels: { console: {}, other: { kind: agent } }", ["channels.console warning", "channels.other warning"]],
  ["tools: { shell: { timeout: 10s }, file_read: { enabled: off }, memory_search: {} }", []],
  ["tools: { coding_pipeline: { enabled: on }, subagent_spawn: {} }", []],
  ["tools: { web_fetch: { timeout: 10s }, web_search: { backend: duckduckgo } }", []],
  ["mcp: { servers: { a: { command: x }, b: { url: 'http://127.0.0.1:1' } } }", []],
  ["plugin_dirs: []\nskill_dirs: []\ntelemetry: { otlp: off }", []],
  ["plugin_dirs: [p]\nskill_dirs: [s]\ntelemetry: { otlp: on }", ["telemetry.otlp warning"]],
])("%s", async (yaml, expected) => {
  expect(await found(yaml)).toEqual(expected);
});

test.each<[string, string[]]>([
  ["budget: {}, schedules: []", []],
  ["budget: { daily_tokens: 1, on_limit: stop }", []],
  ["schedules: [{ cron: '0 8 * * *', prompt: x }]", []],
])("an agent with %s", async (settings, expected) => {
  const { errors } = await inspectText(agent(settings));
  expect(errors.map(({ path, code }) => `${path} ${code === "not-implemented" ? "error" : code}`)).toEqual(expected);
});

test("a schedule on a channel that this version does not have", async () => {
  const { errors } = await inspectText(
    `${agent("schedules: [{ cron: '0 8 * * *', prompt: x, channel: console, conversation: y }]")}\nchannels: { console: {} }\n`,
  );
  expect(errors).toMatchObject([{ path: "agents.main.schedules[0].channel", code: "not-implemented" }]);
});

test("every tool of the configuration is one that a node registers", async () => {
  const registered = (await builtInTools()).map(({ name }) => name);
  const configurable = Object.keys(toolsSection.shape);
  expect(registered.sort()).toEqual(configurable.sort());
});

test("every line of the table leads to a key of the schema, and says why in one sentence", () => {
  for (const { path, why } of NOT_IMPLEMENTED) {
    expect(why, path.join(".")).toMatch(
      /^(?:this version|the HTTP channel|(?:only )?a channel of the kind voice) [^.]+$/,
    );
  }
});
