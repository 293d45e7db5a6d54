/** Each chat platform's fake with a file that it gives out when the test says so, and nodes that receive for one bot of it. */

import type { Channel } from "../../runtime/contracts/channel.ts";
import { createDiscordChannel } from "../../runtime/plugins/channels/discord/index.ts";
import { createSlackChannel } from "../../runtime/plugins/channels/slack/index.ts";
import { createTelegramChannel } from "../../runtime/plugins/channels/telegram/index.ts";
import { OWNER as DISCORD_OWNER, STRANGER as DISCORD_STRANGER } from "../fakes/discord/bot.ts";
import { startDiscordFake } from "../fakes/discord/index.ts";
import { startSlackFake } from "../fakes/slack/index.ts";
import { OWNER as SLACK_OWNER, STRANGER as SLACK_STRANGER } from "../fakes/slack/workspace.ts";
import { startTelegramFake } from "../fakes/telegram/index.ts";
import { quietLogger } from "./quiet-logger.ts";

export interface PlatformWithFiles {
  /** Of a further node. */
  channel(): Channel;
  readonly conversation: string;
  /** Commands begin with a slash; each platform gets them as they are typed there. */
  owner(text: string): void;
  stranger(text: string): void;
  /** Texts of the bot's messages, in order. */
  sent(): readonly string[];
  /** A message of the owner's with a file that is held. */
  ownerFile(text: string): void;
  /** Resolves when the file is asked for the next time. */
  asked(): Promise<void>;
  /** It is given out from now on. */
  release(): void;
}

const needs = { newId: () => "id", logger: quietLogger };

function heldFile() {
  const gate = Promise.withResolvers<void>();
  let next = Promise.withResolvers<void>();
  return {
    async *content() {
      yield Buffer.from("x");
      next.resolve();
      next = Promise.withResolvers();
      await gate.promise;
    },
    asked: () => next.promise,
    release: () => gate.resolve(),
  };
}

export const PLATFORMS_WITH_FILES: Readonly<Record<string, () => Promise<PlatformWithFiles>>> = {
  async telegram() {
    const fake = await startTelegramFake();
    const bot = fake.bot();
    const file = heldFile();
    bot.state.files.set("f", { path: "f", content: file.content });
    const document = { file_id: "f", file_unique_id: "f", file_name: "f" };
    const given = { ...needs, id: "telegram", token: bot.token, ownerId: "1", baseUrl: fake.url };
    return {
      ...file,
      channel: () => createTelegramChannel(given),
      conversation: "1",
      owner: (text) => void bot.say(text),
      stranger: (text) => void bot.say(text, { from: 2 }),
      sent: () => bot.state.sent.map(({ text }) => text),
      ownerFile: (caption) => void bot.say("", { with: { document, caption } }),
    };
  },
  async discord() {
    const fake = await startDiscordFake();
    const bot = fake.bot();
    const file = heldFile();
    const attachments = [bot.file("f.txt", file.content)];
    const given = { ...needs, id: "discord", token: bot.token, ownerId: DISCORD_OWNER, baseUrl: fake.url };
    return {
      ...file,
      channel: () => createDiscordChannel(given),
      conversation: bot.direct,
      owner: (text) => void bot.say(text),
      stranger: (text) => void bot.say(text, { from: DISCORD_STRANGER }),
      sent: () => bot.sent().map(({ content }) => content),
      ownerFile: (text) => void bot.say(text, { with: { attachments } }),
    };
  },
  async slack() {
    const fake = await startSlackFake();
    const app = fake.app();
    const { token, appToken } = app.state;
    const file = heldFile();
    const files = [app.file("f.txt", file.content)];
    const given = { ...needs, id: "slack", token, appToken, ownerId: SLACK_OWNER, baseUrl: fake.url };
    const typed = (text: string): string => text.replace(/^\//, "!");
    return {
      ...file,
      channel: () => createSlackChannel(given),
      conversation: app.direct,
      owner: (text) => void app.say(typed(text)),
      stranger: (text) => void app.say(typed(text), { from: SLACK_STRANGER }),
      sent: () => app.sent().map(({ text }) => text),
      ownerFile: (text) => void app.say(text, { with: { subtype: "file_share", files } }),
    };
  },
};
