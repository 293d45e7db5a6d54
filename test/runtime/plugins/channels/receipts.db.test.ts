/** The reaction to a message that has to wait, as each platform gets it; a stranger's message gets none. */

import { expect, it, onTestFinished } from "vitest";
import type { Channel } from "../../../../runtime/contracts/channel.ts";
import { createDiscordChannel } from "../../../../runtime/plugins/channels/discord/index.ts";
import { createSlackChannel } from "../../../../runtime/plugins/channels/slack/index.ts";
import { createTelegramChannel } from "../../../../runtime/plugins/channels/telegram/index.ts";
import { OWNER as DISCORD_OWNER, STRANGER as DISCORD_STRANGER } from "../../../fakes/discord/bot.ts";
import { startDiscordFake } from "../../../fakes/discord/index.ts";
import { startSlackFake } from "../../../fakes/slack/index.ts";
import { OWNER as SLACK_OWNER, STRANGER as SLACK_STRANGER } from "../../../fakes/slack/workspace.ts";
import { startTelegramFake } from "../../../fakes/telegram/index.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import { receiving } from "../../../support/receiving-channel.ts";
import { end, startHarness, text } from "../../../support/turn-harness.ts";

interface Platform {
  readonly channel: Channel;
  readonly conversation: string;
  owner(text: string): void;
  stranger(text: string): void;
  /** To messages of people, by their texts. */
  reactions(): readonly string[];
}

const needs = { newId: () => "id", logger: quietLogger };

const PLATFORMS: Readonly<Record<string, () => Promise<Platform>>> = {
  async telegram() {
    const fake = await startTelegramFake();
    const bot = fake.bot();
    const said = new Map<string, string>();
    const say = (words: string, from: number) => {
      said.set(`${from} ${bot.say(words, { from }).message_id}`, words);
    };
    return {
      channel: createTelegramChannel({ ...needs, id: "telegram", token: bot.token, ownerId: "1", baseUrl: fake.url }),
      conversation: "1",
      owner: (words) => say(words, 1),
      stranger: (words) => say(words, 2),
      reactions: () =>
        bot.state.reactions.map((one) => `${said.get(one.replace(/ [^ ]+$/, ""))} ${one.split(" ").at(-1)}`),
    };
  },
  async discord() {
    const fake = await startDiscordFake();
    const bot = fake.bot();
    const { token, state } = bot;
    return {
      channel: createDiscordChannel({ ...needs, id: "discord", token, ownerId: DISCORD_OWNER, baseUrl: fake.url }),
      conversation: bot.direct,
      owner: (words) => void bot.say(words),
      stranger: (words) => void bot.say(words, { from: DISCORD_STRANGER }),
      reactions: () =>
        [...state.channels.values()].flatMap(({ messages }) =>
          messages.flatMap(({ content, reactions }) => reactions.map((emoji) => `${content} ${emoji}`)),
        ),
    };
  },
  async slack() {
    const fake = await startSlackFake();
    const app = fake.app();
    const { token, appToken, channels } = app.state;
    return {
      channel: createSlackChannel({
        ...needs,
        id: "slack",
        token,
        appToken,
        ownerId: SLACK_OWNER,
        baseUrl: fake.url,
      }),
      conversation: app.direct,
      owner: (words) => void app.say(words),
      stranger: (words) => void app.say(words, { from: SLACK_STRANGER }),
      reactions: () =>
        [...channels.values()].flatMap(({ messages }) =>
          messages.flatMap(({ text: words, reactions }) =>
            reactions.map((name) => `${words} ${name === "eyes" ? "👀" : name}`),
          ),
        ),
    };
  },
};

describeDatabase("a message that has to wait", (open) => {
  it.each(Object.keys(PLATFORMS))("is shown as taken on %s, and a stranger's is not", async (name) => {
    const platform = await PLATFORMS[name]?.();
    if (!platform) throw new Error("unreachable");
    const { channel, conversation, owner, stranger, reactions } = platform;
    const gate = Promise.withResolvers<void>();
    const agent = `agent-${name}-${Math.random().toString(36).slice(2)}`;
    const harness = await startHarness({
      database: await open(),
      channel,
      agent: { name: agent },
      channelBindings: { [conversation]: agent },
      script: async () => {
        await gate.promise;
        return [text("Done."), end()];
      },
    });
    await channel.start();
    onTestFinished(async () => {
      gate.resolve();
      await harness.stop();
      await channel.stop();
    });
    await receiving(channel).up();
    owner("first");
    await expect.poll(() => harness.requests.length, { timeout: 20_000 }).toBe(1);
    stranger("let me in");
    owner("second");
    await expect.poll(reactions, { timeout: 20_000 }).toEqual(["second 👀"]);
    owner("third");
    await expect.poll(reactions, { timeout: 20_000 }).toEqual(["second 👀", "third 👀"]);
  });
});
