import { describe, expect, it, onTestFinished } from "vitest";
import type { Memory } from "../../../runtime/contracts/memory.ts";
import { createProviders, windowsOf } from "../../../runtime/host/providers.ts";
import { startOllamaFake } from "../../fakes/ollama/index.ts";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";
import { CLIENT_ID, loggedIn } from "../../support/login/credentials.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

const yaml = (rest: string): string =>
  `version: 1\nagents: { main: { provider: anthropic } }\nproviders:\n  anthropic: { model: claude-sonnet-5${rest} }\n`;
const LOGIN = `, login: { client_id: ${CLIENT_ID} }`;

async function provide(text: string, env: Record<string, string>, home: string, id = "anthropic") {
  const { loaded } = await inspectText(text, { env });
  if (loaded === null) throw new Error("the configuration is not valid");
  const hidden: string[] = [];
  const providers = await createProviders(loaded.config, {
    inContainer: false,
    // No provider here asks it.
    memory: {} as Memory,
    timezone: "UTC",
    brought: new Map(),
    logger: quietLogger,
    home,
    clock: { now: () => new Date(), monotonic: () => performance.now() },
    hide: (secrets) => void hidden.push(...secrets),
  });
  const provider = providers.get(id);
  if (provider === undefined) throw new Error("there is no provider");
  return { provider, hidden, key: loaded.config.providers["anthropic"]?.api_key, windows: windowsOf(loaded.config) };
}

describe("the window of a provider", () => {
  it.each([
    ["", 32_768],
    [", context_window: 16384", 16_384],
  ])("of an Ollama server is what the server is asked for%s", async (rest, tokens) => {
    const fake = await startOllamaFake(["qwen3"]);
    onTestFinished(() => fake.close());
    const text = `version: 1\nagents: { main: {} }\nproviders: { ollama: { model: qwen3, base_url: "${fake.baseUrl}"${rest} } }\n`;
    const { provider, windows } = await provide(text, {}, "/nowhere", "ollama");
    await provider.chat?.([{ role: "user", content: "hi" }]);
    expect(fake.requests[0]?.body).toMatchObject({ options: { num_ctx: tokens } });
    expect(windows.get("ollama")).toEqual({ contextTokens: tokens, replyTokens: 8_192 });
  });

  it("of the service of Ollama's makers is as of others: it takes nobody's memory", async () => {
    for (const address of ["https://ollama.com", "https://ollama.com/v1"]) {
      const text = `version: 1\nagents: { main: {} }\nproviders: { ollama: { model: big, base_url: "${address}", api_key: k } }\n`;
      const { windows } = await provide(text, {}, "/nowhere", "ollama");
      expect(windows.get("ollama")?.contextTokens).toBe(128_000);
    }
  });

  it("of others is 128,000, and has room for the longest reply", async () => {
    const { windows } = await provide(yaml(", api_key: k, max_tokens: 2000"), {}, "/nowhere");
    expect(windows).toEqual(new Map([["anthropic", { contextTokens: 128_000, replyTokens: 2_000 }]]));
  });
});

describe("a provider with a login in the configuration", () => {
  it("is there once somebody has logged in, and its tokens are hidden from the log", async () => {
    const { home, stored } = await loggedIn({ expiresInS: 3_000 });
    const { provider, hidden } = await provide(yaml(LOGIN), {}, home);
    expect(await provider.isAvailable()).toBe(true);
    expect(hidden).toContain((await stored()).access_token);
    expect(await (await provide(yaml(LOGIN), {}, await temporaryDirectory())).provider.isAvailable()).toBe(false);
  });

  it("does not take a key that lies about in the environment", async () => {
    const { key } = await provide(yaml(LOGIN), { ANTHROPIC_API_KEY: "sk-of-somebody" }, "/nowhere");
    expect(key).toBeUndefined();
  });

  it("comes after a key that is written down", async () => {
    const text = yaml(`${LOGIN}, api_key: "\${ANTHROPIC_API_KEY}"`);
    const { provider, hidden } = await provide(text, { ANTHROPIC_API_KEY: "sk-of-mine" }, "/nowhere");
    expect(await provider.isAvailable()).toBe(true);
    expect(hidden).toEqual([]);
  });
});

describe("the configuration of a login", () => {
  it.each([
    ["without a client id", ", login: {}", "providers.anthropic.login.client_id"],
    [
      "over an open line",
      ", login: { client_id: c, token_url: http://login.example.org }",
      "providers.anthropic.login.token_url",
    ],
    ["of a kind that has none", ", kind: gemini, login: { client_id: c }", "providers.anthropic.login"],
  ])("%s is refused", async (_name, rest, path) => {
    const { errors } = await inspectText(yaml(rest), { env: {} });
    expect(errors.map((issue) => issue.path)).toContain(path);
  });
});
