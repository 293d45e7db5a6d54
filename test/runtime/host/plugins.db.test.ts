/** A whole node with plugins of other people: what each kind brings, and that a broken one keeps nothing from its start. */

import { join } from "node:path";
import { type Logger, pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../../fakes/openai/index.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { deploymentDirectory } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { writePlugins } from "../../support/plugin-folders.ts";
import { OWNER_ENV, startedHost } from "../../support/started-host.ts";

const TOOL = `export const create = ({ settings, logger }) => {
  logger.info({ greeting: settings.greeting, secret: settings.secret }, "made");
  return {
    name: "greet",
    description: "Greets.",
    parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    async execute({ name }) {
      if (name === "nobody") return undefined;
      if (name === "many") return { content: "x".repeat(100_000) };
      return { content: settings.greeting + ", " + name + "! " + settings.times };
    },
  };
};`;
const SETTINGS = {
  type: "object",
  additionalProperties: false,
  required: ["greeting"],
  properties: {
    greeting: { type: "string" },
    times: { type: "integer", default: 3 },
    secret: { type: "string", writeOnly: true },
  },
};
const HOOK = `export const create = () => [
  { name: "shout", event: "tool:after", priority: 80, async run(context) {
    return { ...context, result: { content: context.result.content.toUpperCase() } };
  } },
  { name: "mark", event: "tool:after", priority: 85, async run(context) {
    return { ...context, result: { content: context.result.content + " (seen)" } };
  } },
];`;
const PROVIDER = `export const create = ({ id, model, settings }) => ({
  id,
  name: "Echo",
  async *chatStream(messages) {
    yield { type: "text", text: settings.words + " by " + model };
    yield { type: "end", stopReason: "end", usage: { inputTokens: 1, outputTokens: 1 }, model };
  },
  isAvailable: async () => true,
  getModel: () => model,
  setModel() {},
});`;
const CHANNEL = `export const create = ({ id, settings, ownerId }) => {
  let onMessage;
  let waiting = null;
  return {
    id,
    platform: "paper",
    async start() {
      const address = { channel: id, conversation: "desk", user: ownerId };
      onMessage({ address, agent: "", externalId: "1", text: "hello", owner: true });
    },
    async stop() {},
    async send(message) {
      globalThis[settings.shelf].push(message.text);
      return null;
    },
    onMessage(handler) { onMessage = handler; },
    onCommand() {},
  };
};`;

async function nodeWith(
  yaml: string,
  plugins: Parameters<typeof writePlugins>[1],
  more: { readonly logger?: Logger } = {},
) {
  const dir = await deploymentDirectory({ yaml: `version: 1\nplugin_dirs: [plugins]\n${yaml}`, env: OWNER_ENV });
  await writePlugins(join(dir, "plugins"), plugins);
  await placeEmbeddedCopy(join(dir, "home", "store"));
  const host = await startedHost({ dir, ...more });
  const health = async () => JSON.parse(await (await host.request("/health")).text()).result;
  return { ...host, dir, health };
}

it("offers tools of plugins with their settings, runs their hooks by priority, and hides their secrets", async () => {
  const results: string[] = [];
  const offered = new Set<string>();
  const names = ["Ada", "nobody", "many"];
  const fake = await startOpenAiFake({
    script: ({ step, results: called, toolNames }) => {
      for (const name of toolNames) offered.add(name);
      results.push(...called.map(({ text }) => text));
      const name = names[step];
      if (name === undefined) return { text: "Done." };
      return { toolCalls: [{ id: `c${step}`, name: "greet", arguments: { name } }] };
    },
  });
  onTestFinished(() => fake.close());
  const model = `providers: { model: { kind: openai-compatible, base_url: "${fake.baseUrl}", model: fake, api_key: k } }`;
  const { request, health } = await nodeWith(
    `agents:
  main: { provider: model }
  other: { provider: model, tools: { exclude: [greet] } }
${model}
runtime: { default_agent: main }
plugins: { greet: { settings: { greeting: Hi, secret: very-hidden-words } }, off: { enabled: false } }
`,
    {
      greet: { kind: "tool", code: TOOL, settings: SETTINGS },
      loud: { kind: "hook", code: HOOK },
      off: { kind: "tool", code: "throw new Error('it is switched off')" },
    },
  );
  expect((await health()).plugins).toMatchObject([
    { id: "greet", kind: "tool", version: "1.0.0", state: "loaded", reason: null },
    { id: "loud", kind: "hook", state: "loaded" },
    { id: "off", state: "off", reason: null },
  ]);
  expect((await health()).status).toBe("healthy");
  await request("/api/agents/main/messages", { session: "s", text: "greet" });
  await eventually(() => expect(results).toHaveLength(6));
  expect(results.slice(-3)).toEqual([
    "HI, ADA! 3 (seen)",
    "TOOL_FAILED: THE TOOL GREET GAVE NO TEXT. (seen)",
    expect.stringMatching(/^X+\n\.\.\. \(34464 MORE CHARACTERS\) \(seen\)$/),
  ]);
  expect([...offered]).toContain("greet");
  offered.clear();
  await request("/api/agents/other/messages", { session: "t", text: "x" });
  await eventually(() => expect(offered.size).toBeGreaterThan(0));
  expect([...offered]).not.toContain("greet");
});

it("uses providers and channels of plugins by their kinds", async () => {
  const shelf = `shelf${Math.random()}`;
  const letters: string[] = [];
  Object.assign(globalThis, { [shelf]: letters });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, shelf));
  const text = { type: "object", properties: { words: { type: "string" }, shelf: { type: "string" } } };
  const { health } = await nodeWith(
    `agents: { main: { provider: mine } }
providers: { mine: { kind: echo, model: small, settings: { words: said } } }
channels: { desk: { kind: paper, owner_id: ada, settings: { shelf: "${shelf}" } } }
`,
    {
      echo: { kind: "provider", code: PROVIDER, settings: text },
      paper: { kind: "channel", code: CHANNEL, settings: text },
    },
  );
  expect(await health()).toMatchObject({
    status: "healthy",
    providers: { mine: { available: true, model: "small" } },
    channels: { desk: { platform: "paper", state: "up" } },
  });
  await eventually(() => expect(letters).toEqual(["said by small"]));
});

it("starts without plugins that cannot be loaded, and says why at each place", async () => {
  const lines: string[] = [];
  const logger = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const { request, health } = await nodeWith(
    `agents: { main: { provider: mine, fallbacks: ["offline:offline"] } }
providers: { mine: { kind: gone, model: m }, offline: {} }
channels: { desk: { kind: gone_too, owner_id: ada } }
`,
    {
      throws: { kind: "tool", code: "throw new Error('no key\\nsecond line')" },
      exits: { kind: "tool", code: "process.exit(3)" },
      exits_late: { kind: "tool", code: "export const create = () => process.exit(4)" },
      blocks: { kind: "tool", code: "for (;;);" },
      waits: { kind: "tool", code: "await new Promise((resolve) => setTimeout(resolve, 1e8))" },
      empty: { kind: "tool", code: "export const made = 1;" },
      missing: { kind: "tool" },
      old: { kind: "tool", contract: 0, code: "" },
      memory: { kind: "memory", code: "" },
      shape: { kind: "tool", code: "export const create = () => ({ name: 'a b' });" },
      server: { kind: "tool", code: TOOL.replace('"greet"', '"files__greet"') },
      takes: { kind: "tool", code: TOOL.replace('"greet"', '"todo"') },
      first: { kind: "tool", code: TOOL },
      second: { kind: "tool", code: TOOL },
      prior: {
        kind: "hook",
        code: "export const create = () => ({ name: 'h', event: 'tool:before', priority: 100, run() {} });",
      },
      closed: {
        kind: "hook",
        code: "export const create = () => ({ name: 'h', event: 'session:end', priority: 1, policy: 'closed', run() {} });",
      },
      event: {
        kind: "hook",
        code: "export const create = () => ({ name: 'h', event: 'tool:never', priority: 1, run() {} });",
      },
      gone: { kind: "provider", code: "throw new Error('no such backend')" },
      gone_too: {
        kind: "channel",
        code: "export const create = ({ id }) => ({ id, platform: 'x', start() {}, stop() {} });",
      },
    },
    { logger },
  );
  const { plugins, status, channels, providers } = await health();
  const reasons = Object.fromEntries(
    plugins.map(({ id, path, reason }: Record<string, string>) => [id ?? path?.split("/").at(-1), reason]),
  );
  expect(reasons).toEqual({
    throws: "no key",
    exits: "it ends its process with code 3",
    exits_late: "it ends its process with code 4",
    blocks: "it takes longer than 20 s to be loaded",
    waits: "it takes longer than 20 s to be loaded",
    empty: "it exports no function create",
    missing: expect.stringMatching(/^Cannot find module/),
    old: "its package.json: cairn.contract is 0, and this version of Cairn loads plugins of contract 1",
    memory: "its package.json: cairn.kind must be one of provider, channel, tool, hook",
    shape: "a tool's name must be letters, digits, - and single _, at most 64, starting with a letter: a b",
    server: expect.stringMatching(/^a tool's name must be .*: files__greet$/),
    takes: "there is a tool todo already",
    first: null,
    second: "there is a tool greet already",
    prior: "hook h: priority 100 is not an integer from 0 to 99",
    closed: expect.stringMatching(/comes too late to stop anything/),
    event: "hook h: there is no event tool:never",
    gone: "no such backend",
    gone_too: "the channel has no method send",
  });
  expect(status).toBe("degraded");
  expect(channels.desk).toEqual({
    platform: "gone_too",
    state: "down",
    reason: "its plugin cannot be loaded: the channel has no method send",
  });
  expect(providers.mine.available).toBe(false);
  const logged = lines.filter((line) => line.includes("a plugin cannot be loaded, and is skipped"));
  expect(logged).toHaveLength(18);
  // The agent's own provider is not there, and its fallback answers.
  const answer = await request("/api/agents/main/messages", { session: "s", text: "hello" });
  expect(answer.status).toBe(200);
}, 120_000);
