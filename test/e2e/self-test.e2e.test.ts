/** `cairn test --json` on a running node that has every channel and every kind of provider, against their fakes; then each one broken. */

import { expect, it, onTestFinished } from "vitest";
import type { Part } from "../../control/self-test/parts.ts";
import type { SelfTest } from "../../control/self-test/self-test.ts";
import { CHANNELS } from "../../runtime/plugins/channels/manifests.ts";
import { startAnthropicFake } from "../fakes/anthropic/index.ts";
import { startAudioFake } from "../fakes/audio/index.ts";
import { startDiscordFake } from "../fakes/discord/index.ts";
import { startGeminiFake } from "../fakes/gemini/index.ts";
import { startOllamaFake } from "../fakes/ollama/index.ts";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { startSlackFake } from "../fakes/slack/index.ts";
import { OWNER as SLACK_OWNER } from "../fakes/slack/workspace.ts";
import { startTelegramFake } from "../fakes/telegram/index.ts";
import { startXaiFake } from "../fakes/xai/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { printed } from "../support/commands.ts";
import type { Deployment } from "../support/node-process.ts";
import { deploymentOf, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 200 };
const GOOD = { script: () => ({ text: "All is well." }), apiKey: "key" };
const BAD_MODEL = { kind: "status", status: 404, message: "There is no such model.", type: "not_found_error" } as const;

/** The result and the exit code. */
async function tested(deployment: Deployment): Promise<{ readonly result: SelfTest; readonly code: number }> {
  const outcome = await printed(deployment, "test", "--json").then(
    (stdout) => ({ stdout, code: 0 }),
    (error: { readonly stdout: string; readonly code: number }) => error,
  );
  return { result: JSON.parse(outcome.stdout) as SelfTest, code: outcome.code };
}

const partsOf = ({ steps }: SelfTest, name: string): readonly Part[] =>
  steps.find((step) => step.name === name)?.parts ?? [];

it("names each channel and each provider, and says which one is broken, with code and hint", async () => {
  const telegram = await startTelegramFake();
  const bot = telegram.bot();
  const discord = await startDiscordFake();
  const discordBot = discord.bot();
  const slack = await startSlackFake();
  const app = slack.app();
  const audio = await startAudioFake({ apiKey: "key" });
  let isRevoked = false;
  let isWrongModel = false;
  const revocable = { ...GOOD, apiKey: () => (isRevoked ? "another" : "key") };
  const fakes = {
    openai: await startOpenAiFake({ ...GOOD }),
    anthropic: await startAnthropicFake(revocable),
    gemini: await startGeminiFake({ ...GOOD }),
    xai: await startXaiFake({
      ...GOOD,
      script: () => (isWrongModel ? { fault: BAD_MODEL } : { text: "All is well." }),
    }),
    ollama: await startOllamaFake(["qwen3:8b"], { script: GOOD.script }),
    mine: await startOpenAiFake({ ...GOOD }),
  };
  for (const fake of [discord, audio, ...Object.values(fakes)]) onTestFinished(() => fake.close());
  const entry = (kind: string, base_url: string, model: string) => ({ kind, base_url, model, api_key: "${KEY}" });
  const route = { base_url: audio.baseUrl, api_key: "${KEY}" };
  const reconnect = { initial_delay: "50ms", max_delay: "200ms", max_retries: 2 };
  const ids = Object.keys(fakes);
  const deployment = await deploymentOf({
    env: {
      KEY: "key",
      TELEGRAM: bot.token,
      DISCORD: discordBot.token,
      SLACK: app.state.token,
      SLACK_APP: app.state.appToken,
    },
    config: {
      providers: {
        openai: entry("openai-compatible", fakes.openai.baseUrl, "gpt-5.5"),
        anthropic: entry("anthropic", fakes.anthropic.baseUrl, "claude-opus-4-5"),
        gemini: entry("gemini", fakes.gemini.baseUrl, "gemini-flash-latest"),
        xai: entry("xai", fakes.xai.baseUrl, "grok-4"),
        ollama: { kind: "ollama", base_url: fakes.ollama.url, model: "qwen3:8b" },
        mine: entry("openai-compatible", fakes.mine.baseUrl, "mine-1"),
      },
      agents: Object.fromEntries(ids.map((id) => [`by-${id}`, { provider: id }])),
      runtime: { default_agent: "by-openai" },
      channels: {
        telegram: { token: "${TELEGRAM}", owner_id: 1, base_url: telegram.url, reconnect },
        discord: { token: "${DISCORD}", owner_id: "100000000000000001", base_url: discord.url, reconnect },
        slack: {
          token: "${SLACK}",
          app_token: "${SLACK_APP}",
          owner_id: SLACK_OWNER,
          base_url: slack.url,
          reconnect,
        },
        voice: { transcription: { ...route, model: "whisper-1" }, speech: { ...route, model: "tts-1" } },
      },
    },
  });
  await runningNode(deployment);

  await expect.poll(async () => (await tested(deployment)).result.status, EVENTUALLY).toBe("pass");
  const { result, code } = await tested(deployment);
  expect(code).toBe(0);
  expect(
    partsOf(result, "channel")
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["agent", ...CHANNELS.map(({ id }) => id)].sort());
  expect(
    partsOf(result, "provider")
      .map(({ id }) => id)
      .sort(),
  ).toEqual([...ids].sort());
  for (const part of [...partsOf(result, "channel"), ...partsOf(result, "provider")])
    expect(part).toMatchObject({ status: "pass", code: null, fix: null });

  bot.revoke();
  discord.fault = "down";
  discordBot.cut();
  slack.fault = "down";
  app.cut();
  await audio.close();
  isRevoked = true;
  isWrongModel = true;
  await fakes.mine.close();
  const broken = ["discord", "slack", "telegram", "voice", "anthropic", "mine", "xai"];
  const wrong = async () => {
    const outcome = await tested(deployment);
    const parts = [...partsOf(outcome.result, "channel"), ...partsOf(outcome.result, "provider")];
    return { ...outcome, parts: parts.filter(({ status }) => status === "fail") };
  };
  await expect
    .poll(async () => (await wrong()).parts.map(({ id }) => id).sort(), EVENTUALLY)
    .toEqual([...broken].sort());
  const after = await wrong();
  expect(after.code).toBe(1);
  expect(after.result.status).toBe("fail");
  const of = (id: string) => after.parts.find((part) => part.id === id);
  expect(of("telegram")).toMatchObject({ code: "CHANNEL_CONNECTION_LOST", message: expect.stringContaining("token") });
  expect(of("anthropic")?.code).toMatch(/^PROVIDER_/);
  for (const part of after.parts) {
    expect(part.code, part.id).toMatch(/^(?:CHANNEL|PROVIDER)_/);
    expect(part.fix, part.id).toMatch(/\S/);
  }
  for (const secret of [bot.token, discordBot.token, app.state.token, app.state.appToken])
    expect(JSON.stringify(after.result)).not.toContain(secret);
});
