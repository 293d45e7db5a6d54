/** The Telegram channel against the platform's fake, through the contract of channels. */

import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type {
  EditResult,
  InboundMessage,
  KeepSent,
  OutboundMessage,
  Stranger,
} from "../../../../../runtime/contracts/channel.ts";
import { ChannelError, MemoryError, RuntimeError } from "../../../../../runtime/contracts/errors.ts";
import { createTelegramChannel } from "../../../../../runtime/plugins/channels/telegram/index.ts";
import { type ChannelHarness, channelConformance } from "../../../../../runtime/testing/channel/index.ts";
import { Refusal, tooMany } from "../../../../fakes/telegram/bot.ts";
import { startTelegramFake, type TelegramBot, type TelegramFake } from "../../../../fakes/telegram/index.ts";
import { until } from "../../../../support/eventually.ts";
import { nearly } from "../../../../support/json-mutations.ts";
import { receiving, started } from "../../../../support/receiving-channel.ts";
import { recordingLogger } from "../../../../support/recording-logger.ts";

const OWNER = 1;

async function made(given: { ownerId?: string; webhookUrl?: string } = { ownerId: String(OWNER) }) {
  const fake = await startTelegramFake();
  const bot = fake.bot();
  const log: string[] = [];
  const channel = createTelegramChannel({
    id: "telegram",
    token: bot.token,
    ownerId: given.ownerId,
    baseUrl: `${fake.url}/`,
    webhookUrl: given.webhookUrl,
    newId: () => "id",
    logger: recordingLogger(log),
  });
  return { fake, bot, channel, log };
}

async function connected(given?: { ownerId?: string; webhookUrl?: string }) {
  const { fake, bot, channel, log } = await made(given);
  return { fake, bot, channel, log, ...(await started(channel)) };
}

/** Messages of every kind, as Telegram has them. */
const MESSAGES = [
  { text: "hello" },
  { text: "/stop now", entities: [{ type: "bot_command", offset: 0, length: 5 }] },
  { caption: "look", photo: [{ file_id: "p", file_unique_id: "u", width: 1, height: 1 }] },
  { document: { file_id: "d", file_unique_id: "u", file_name: "a.txt", mime_type: "text/plain" } },
  { voice: { file_id: "v", file_unique_id: "u", duration: 1, mime_type: "audio/ogg" } },
  { video: { file_id: "w", file_unique_id: "u", width: 1, height: 1, duration: 1 } },
  { text: "in a topic", is_topic_message: true, message_thread_id: 7 },
  { sticker: { file_id: "s" } },
  { text: "as the group", sender_chat: { id: -100, type: "supergroup" } },
  { migrate_to_chat_id: -1_000_000_000_200 },
].map((more) => ({
  message_id: 1,
  date: 1_700_000_000,
  chat: { id: OWNER, type: "private", first_name: "User" },
  from: { id: OWNER, is_bot: false, first_name: "User", last_name: "One" },
  ...more,
}));

/** What the inbox takes. */
function expectSound({ address, externalId, messageId, text, sentAt }: InboundMessage): void {
  for (const value of [address.conversation, address.user, externalId, messageId, text])
    expect(value).toBeTypeOf("string");
  expect(address.conversation).toMatch(/^-?\d+(:-?\d+)?$/);
  expect(sentAt).toMatch(/^\d{4}-.*Z$/);
}

/** Of the channel, as it was set before. */
const URL = "https://cairn.example.org/api/channels/telegram/webhook";

const PAUSE_ASKED = {
  code: "CHANNEL_CONNECTION_LOST",
  message: expect.stringContaining("retry after 3000"),
  details: { retryAfterS: 3_000 },
};

/** Telegram keeps itself what was taken. */
const UNUSED = { read: async () => undefined, keep: async () => undefined };

const reply = (text: string, more: Partial<OutboundMessage> = {}): OutboundMessage => ({
  address: { channel: "telegram", conversation: "1", user: "1" },
  agent: "main",
  turnId: "t",
  text,
  ...more,
});
/** Another program asks with the same token. */
async function polled({ url }: TelegramFake, { token }: TelegramBot, timeout: number): Promise<unknown> {
  const body = JSON.stringify({ timeout });
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/bot${token}/getUpdates`, { method: "POST", headers, body })).json();
}

const textsOf = ({ state }: TelegramBot): string[] => state.sent.map(({ text }) => text);

/** Strangers are admitted by the checks, or not heard. */
const harness: ChannelHarness = {
  async open() {
    const { fake, bot, channel, log } = await made();
    bot.state.chats.add(OWNER);
    return {
      channel,
      conversation: String(OWNER),
      secret: bot.token,
      platform: {
        mostText: 4_096,
        shown: () =>
          bot.state.sent
            .filter(({ deleted }) => !deleted)
            .map(({ id, text, files }) => ({ id: String(id), text, files: files.map(({ name }) => name) })),
        typing: () => bot.state.actions.length,
        reactions: () => bot.state.reactions.map((reaction) => reaction.split(" ")[2] ?? ""),
        fail(fault) {
          if (fault === "unreachable") fake.fault = "down";
          else bot.state.refuse = () => new Refusal(403, "Forbidden: bot was blocked by the user");
        },
      },
      deliver: async ({ from, text }) => void bot.say(text, { from: from === "owner" ? OWNER : 2 }),
      logged: () => log.join("\n"),
      close: async () => undefined,
    };
  },
};

describe("a Telegram channel", () => {
  describe("keeps the contract of channels", () => {
    for (const check of channelConformance(harness)) it(check.name, check.run);
  });

  describe("receives", () => {
    it("what the owner writes, with conversation, sender, time and a key of its own", async () => {
      const { bot, channel, accepted } = await connected();
      const { states } = receiving(channel);
      bot.say("hello");
      bot.say("to all", { chat: -100 });
      bot.say("in a topic", { chat: -100, with: { message_thread_id: 7, is_topic_message: true } });
      await until(() => accepted.length === 3);
      const botId = bot.token.split(":")[0];
      expect(accepted[0]).toEqual({
        address: { channel: "telegram", conversation: "1", user: "1" },
        agent: "",
        externalId: `${botId}:1`,
        messageId: "1",
        text: "hello",
        owner: true,
        sentAt: expect.stringMatching(/^20\d\d-.*Z$/),
      });
      expect(accepted.slice(1).map(({ address }) => address.conversation)).toEqual(["-100", "-100:7"]);
      await until(() => states.length > 0);
      expect(states[0]).toBeUndefined();
    });

    it("nothing of strangers, bots, channels and anonymous administrators, who get no answer and no sign", async () => {
      const { bot, channel, accepted, commands } = await connected();
      receiving(channel);
      bot.say("hello", { from: 2 });
      bot.say("/status", { from: 2 });
      bot.say("as the group", { chat: -100, with: { sender_chat: { id: -100, type: "supergroup", title: "Group" } } });
      bot.update({
        channel_post: { message_id: 9, chat: { id: -5, type: "channel", title: "c" }, date: 1, text: "x" },
      });
      bot.say("the owner");
      await until(() => accepted.length === 1);
      expect([accepted[0]?.text, commands]).toEqual(["the owner", []]);
      expect([bot.state.sent, bot.state.actions.filter((action) => !action.startsWith("1 "))]).toEqual([[], []]);
    });

    it("of others who are admitted, as another user's; a stranger is shown a code once, alone with the bot", async () => {
      const { bot, channel, accepted, commands } = await connected();
      const asked: Stranger[] = [];
      channel.onStranger?.(async (stranger) => {
        asked.push(stranger);
        if (stranger.user === "2") return { admitted: true };
        return { admitted: false, code: asked.length === 1 ? "ABCD-EFGH" : null };
      });
      receiving(channel);
      bot.say("/start", { from: 3 });
      bot.say("let me in", { from: 3 });
      bot.say("let me in", { from: 3, chat: -100 });
      bot.say("hello", { from: 2 });
      bot.say("/status", { from: 2 });
      bot.say("I am the owner");
      await until(() => accepted.length === 2 && commands.length === 1);
      expect(accepted.map(({ text, owner, address: { user } }) => [text, owner, user])).toEqual([
        ["hello", false, "2"],
        ["I am the owner", true, "1"],
      ]);
      expect(commands).toMatchObject([{ line: "/status", owner: false }]);
      expect(asked.map(({ user, mayAsk, name }) => [user, mayAsk, name])).toEqual([
        ["3", true, "User 3"],
        ["3", true, "User 3"],
        ["3", false, "User 3"],
        ["2", true, "User 2"],
        ["2", true, "User 2"],
      ]);
      await until(() => bot.state.sent.length === 2);
      expect(bot.state.sent.map(({ chat }) => chat)).toEqual([3, 2]);
      expect(textsOf(bot)[0]).toMatch(/this code within an hour: ABCD-EFGH\./);
    });

    it("of a group that becomes a supergroup no message, and what is written there under its new number", async () => {
      const { bot, channel, accepted, log } = await connected();
      receiving(channel);
      bot.say("before", { chat: -100 });
      bot.migrate(-100, -1_000_000_000_200);
      bot.say("after", { chat: -1_000_000_000_200 });
      await until(() => bot.state.confirmed.length === 4);
      expect(accepted.map(({ text, address }) => [text, address.conversation])).toEqual([
        ["before", "-100"],
        ["after", "-1000000000200"],
      ]);
      expect(log.find((line) => line.includes("became a supergroup"))).toMatch(/from: -100,\s+to: -1000000000200/);
    });

    it("again what a stranger has written where it cannot be said whether they are admitted", async () => {
      const { bot, channel, accepted } = await connected();
      let tries = 0;
      channel.onStranger?.(async () => {
        if (++tries === 1) throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
        return { admitted: true };
      });
      bot.say("hello", { from: 2 });
      const first = receiving(channel);
      await first.failed;
      receiving(channel);
      await until(() => accepted.length === 1);
    });

    it("nobody where there is no owner", async () => {
      const { bot, channel, accepted } = await connected({});
      receiving(channel);
      bot.say("hello");
      await until(() => bot.state.confirmed.length === 1);
      expect([accepted, bot.state.sent]).toEqual([[], []]);
    });

    it("confirms a message only when it is durable, and gets it again under its key where that failed", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      handlers.message = async () => {
        throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
      };
      bot.say("one");
      bot.say("two");
      const first = receiving(channel);
      expect(await first.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      expect([bot.state.confirmed, textsOf(bot)]).toEqual([[], []]);
      handlers.message = async () => undefined;
      receiving(channel);
      await until(() => bot.state.confirmed.length === 2);
      expect(accepted.map(({ text }) => text)).toEqual(["one", "two"]);
    });

    it("again what it was taking when it ended, under the same key, and not what was taken before", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      bot.say("one");
      bot.say("two");
      const first = receiving(channel);
      const held = Promise.withResolvers<void>();
      const entered = Promise.withResolvers<void>();
      handlers.message = async ({ text }) => {
        if (text !== "two") return;
        entered.resolve();
        await held.promise;
      };
      await entered.promise;
      await first.end();
      expect([accepted.map(({ text }) => text), bot.state.confirmed]).toEqual([["one"], [1]]);
      // It is durable after all.
      held.resolve();
      receiving(channel);
      await until(() => accepted.length === 3);
      const [, second, third] = accepted;
      expect([second?.text, second?.externalId]).toEqual([third?.text, third?.externalId]);
      expect(bot.state.polls).toMatchObject({ most: 1, terminated: 0 });
    });

    it("confirms at its end what the open poll has told, and is not refused for that poll", async () => {
      const { bot, channel, accepted } = await connected();
      for (let n = 1; n <= 20; n++) {
        const { end } = receiving(channel);
        bot.say(`${n}`);
        await until(() => accepted.length === n && bot.state.confirmed.length === n && bot.state.polls.open === 1);
        // Leaves a connection that the next request can use at once.
        await channel.send(reply("an answer"));
        await end();
      }
      expect(bot.state.polls).toEqual({ open: 0, most: 1, terminated: 0 });
    });

    it("runs no command twice where the connection was lost before it was confirmed", async () => {
      const { fake, bot, channel, commands, handlers } = await connected();
      bot.say("/new");
      handlers.command = async ({ line }) => {
        if (line === "/new") fake.fault = "down";
        return { text: "done" };
      };
      expect(await receiving(channel).failed).toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      fake.fault = "none";
      receiving(channel);
      bot.say("/status");
      await until(() => bot.state.confirmed.length === 2);
      expect(commands.map(({ line }) => line)).toEqual(["/new", "/status"]);
    });

    it("what has a smaller number than what was confirmed: after a quiet week Telegram counts anew", async () => {
      const { bot, channel, accepted } = await connected();
      receiving(channel);
      bot.say("before");
      await until(() => bot.state.confirmed.length === 1);
      bot.state.updates.push({ update_id: 0, message: { ...bot.say("after"), message_id: 9 } as never });
      bot.state.updates.shift();
      bot.say("wake");
      await until(() => accepted.length >= 2);
      expect(accepted.map(({ text }) => text)).toContain("after");
    });

    it("tells the owner why a message is refused for good, and goes on", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      handlers.message = async ({ text }) => {
        if (text !== "ok")
          throw new RuntimeError("RUNTIME_AGENT_UNKNOWN", 'There is no agent "x".', { hint: "Agents: main." });
      };
      receiving(channel);
      bot.say("bad");
      bot.say("ok");
      await until(() => accepted.length === 1 && bot.state.sent.length === 1);
      expect(bot.state.sent).toMatchObject([{ text: 'There is no agent "x". Agents: main.', replyTo: 1 }]);
    });

    it("counts as connected only when a message was taken and a poll stays open", async () => {
      const { bot, channel, handlers } = await connected();
      handlers.message = async () => {
        throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
      };
      bot.say("one");
      const first = receiving(channel);
      expect(await first.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      handlers.message = async () => undefined;
      // As where another program asks at the same time: the platform ends one of the two.
      bot.state.refuse = (method, { timeout }) =>
        method === "getUpdates" && timeout !== 0
          ? new Refusal(409, "Conflict: terminated by other getUpdates request")
          : undefined;
      const second = receiving(channel);
      expect(await second.failed).toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      expect([first.states, second.states]).toEqual([[], []]);
    });

    it("counts as connected after another program has received only when a poll has lasted its time", async () => {
      const { fake, bot, channel, accepted } = await connected();
      const first = receiving(channel);
      await first.up();
      await until(() => bot.state.terminate !== undefined);
      const other = polled(fake, bot, 30);
      expect(await first.failed).toMatchObject({ code: "CHANNEL_CONNECTION_LOST", details: { overlap: true } });
      // Says nothing of the other program, whatever else fails.
      fake.fault = "down";
      expect(await receiving(channel).failed).toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      fake.fault = "none";
      // This ends the other program's poll, which may begin another one.
      const second = receiving(channel);
      expect(await other).toMatchObject({ ok: false, error_code: 409 });
      bot.say("while it may");
      await until(() => accepted.length === 1);
      bot.say("still");
      await until(() => accepted.length === 2 && bot.state.terminate !== undefined);
      expect(second.states).toEqual([]);
      const now = performance.now.bind(performance);
      const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + 30_000);
      onTestFinished(() => clock.mockRestore());
      bot.say("after its time");
      await second.up();
      expect(second.states[0]).toBeUndefined();
    });

    it("keeps nothing of messages that it has taken, however many they are", async () => {
      const { bot, channel, accepted } = await connected();
      const ending = new AbortController();
      const { signal } = ending;
      const received = channel.receiver?.receive({ signal, connected: () => undefined, position: UNUSED });
      const counts: number[] = [];
      for (let n = 1; n <= 20; n++) {
        bot.say(`${n}`);
        await until(() => accepted.length === n && bot.state.confirmed.length === n);
        counts.push(getEventListeners(signal, "abort").length);
      }
      ending.abort();
      await received;
      expect(counts.at(-1)).toBe(counts[0]);
    });

    it("ends at once, whatever it waits for: the store, a file, or Telegram for an answer", async () => {
      const { bot, channel, commands, handlers } = await connected();
      bot.state.refuse = (method) => (method === "sendMessage" ? tooMany(600) : undefined);
      bot.say("/status");
      const first = receiving(channel);
      await until(() => commands.length === 1);
      await first.end();
      const entered = Promise.withResolvers<void>();
      handlers.message = () => {
        entered.resolve();
        return new Promise(() => undefined);
      };
      bot.say("hello");
      const second = receiving(channel);
      await entered.promise;
      await second.end();
      expect(bot.state.updates).toHaveLength(1);
    });

    it("says nothing more to Telegram where another node may receive already", async () => {
      const { bot, channel, handlers } = await connected();
      const ending = new AbortController();
      const entered = Promise.withResolvers<void>();
      handlers.message = async ({ text }) => {
        if (text === "two") entered.resolve();
        if (text === "two") await new Promise(() => undefined);
      };
      bot.say("one");
      bot.say("two");
      const received = channel.receiver?.receive({
        signal: ending.signal,
        connected: () => undefined,
        position: UNUSED,
      });
      await entered.promise;
      ending.abort(new RuntimeError("RUNTIME_LEASE_LOST", "Another node receives."));
      await received;
      expect(bot.state.confirmed).toEqual([]);
    });

    it("tells once of a file that is too large, when the message is durable", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      bot.state.files.set("f", { path: "f", size: 2 * 1024 ** 3, content: () => [] });
      bot.say("", { with: { document: { file_id: "f", file_unique_id: "u", file_name: "f" }, caption: "look" } });
      handlers.message = async () => {
        throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
      };
      for (let n = 0; n < 3; n++) await receiving(channel).failed;
      handlers.message = async () => undefined;
      receiving(channel);
      await until(() => accepted.length === 1 && bot.state.sent.length > 0);
      expect(textsOf(bot)).toEqual(["Telegram gives bots no file of more than 20 MB: f."]);
    });

    it("in the order of each chat, all of a burst, once", async () => {
      const { bot, channel, accepted } = await connected();
      for (let n = 0; n < 5_000; n++) bot.say(`${n}`, { chat: -1 - (n % 50) });
      receiving(channel);
      await until(() => accepted.length >= 5_000);
      const byChat = Map.groupBy(accepted, ({ address }) => address.conversation);
      expect(byChat.size).toBe(50);
      for (const messages of byChat.values()) {
        const numbers = messages.map(({ text }) => Number(text));
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      }
      expect(new Set(accepted.map(({ externalId }) => externalId)).size).toBe(5_000);
    });

    it("lives through what the platform never sends", async () => {
      const { bot, channel, accepted } = await connected();
      const message = { message_id: 1, date: 1, chat: { id: 1, type: "private" }, from: { id: 1, is_bot: false } };
      const unusual = [
        {},
        { message: null },
        { message: {} },
        { message: { ...message, from: undefined } },
        { message: { ...message, chat: null } },
        { message: { ...message, chat: { id: 2 ** 60 } } },
        { message: { ...message, text: null } },
        { message: { ...message, text: "", entities: [] } },
        { message: { ...message, text: 7 } },
        { message: { ...message, photo: [], text: "empty photo" } },
        { message: { ...message, new_chat_members: [] } },
        { message: { ...message, entities: "x", text: "entities" } },
        { message: { ...message, date: "x", text: "no date" } },
        { unknown: { a: 1 } },
      ];
      for (const update of unusual) bot.update(update);
      bot.say("after all");
      receiving(channel);
      await until(() => accepted.some(({ text }) => text === "after all"));
      await until(() => bot.state.updates.length === 0);
    });

    it("whatever comes, which is confirmed at once and once, and the message behind it", async () => {
      const { bot, channel, accepted, log } = await connected();
      let isOver = false;
      const { failed } = receiving(channel);
      void failed.then(() => {
        isOver = true;
      });
      const updates = fc.sample(nearly(MESSAGES.map((message) => ({ message }))), 400);
      updates.push({ message: { ...MESSAGES[0], from: null } });
      for (const update of updates)
        bot.update(typeof update === "object" && update !== null ? update : { message: update });
      bot.say("after all");
      await until(() => isOver || accepted.some(({ text }) => text === "after all"));
      await until(() => isOver || bot.state.updates.length === 0);
      expect(isOver).toBe(false);
      expect(bot.state.confirmed).toEqual(updates.concat(0).map((_, index) => index + 1));
      for (const message of accepted) expectSound(message);
      expect(log.join()).not.toContain(bot.token);
    });

    it("nothing of what is no list of updates, which is not Telegram's", async () => {
      const { bot, channel } = await connected();
      bot.state.updates.push({ update_id: 1.5, message: {} } as never);
      expect(await receiving(channel).failed).toMatchObject({ message: "What answers is not Telegram." });
    });

    it("says what is wrong in sentences without the token, and ends", async () => {
      const { fake, bot, channel, commands, log } = await connected();
      const failures: string[] = [];
      const fails = async (): Promise<void> => {
        const error = await receiving(channel).failed;
        expect(error).toBeInstanceOf(ChannelError);
        failures.push(error?.message ?? "");
      };
      fake.fault = "down";
      await fails();
      fake.fault = "bad-gateway";
      await fails();
      fake.fault = "none";
      bot.state.webhook = "https://example.org";
      await fails();
      bot.state.webhook = "";
      const polling = fails();
      await until(() => bot.state.terminate !== undefined);
      const other = polled(fake, bot, 1);
      await polling;
      await other;
      bot.state.refuse = () => new Refusal(500, "Internal Server Error");
      await fails();
      bot.state.refuse = undefined;
      bot.say("/status");
      const { end } = receiving(channel);
      await until(() => commands.length === 1);
      fake.fault = "bad-gateway";
      bot.say("/status");
      await until(() => log.some((line) => line.includes("could not be sent")) || bot.state.sent.length > 0);
      await end();
      fake.fault = "none";
      bot.revoke();
      await fails();
      expect(failures).toEqual([
        expect.stringMatching(/^Telegram cannot be reached \(\w+\)\.$/),
        "Telegram cannot be reached, or what answers is not Telegram.",
        expect.stringContaining("A webhook is set for this bot"),
        expect.stringContaining("Another program receives this bot's messages"),
        "Telegram answers 500: Internal Server Error.",
        expect.stringContaining("Telegram refuses the bot's token"),
      ]);
      const secret = bot.token.split(":")[1] ?? "";
      expect([...failures, ...log].join("\n")).not.toContain(secret);
    });

    it("waits as long as it is asked to", async () => {
      const { bot, channel, accepted } = await connected();
      let refused = 0;
      bot.state.refuse = (method, { timeout }) =>
        method === "getUpdates" && timeout !== 0 && refused++ === 0 ? tooMany(1) : undefined;
      const { failed, end } = receiving(channel);
      await until(() => refused === 1);
      bot.say("hello");
      await until(() => accepted.length === 1);
      await end();
      expect(await failed).toBeNull();
    });

    it.each(["getMe", "getWebhookInfo", "deleteWebhook", "getUpdates"])(
      "ends with the pause that Telegram asks for while it connects (%s), and connects behind it",
      async (refused) => {
        const { bot, channel, accepted } = await connected();
        bot.state.webhook = URL;
        bot.state.refuse = (method) => (method === refused ? tooMany(3_000) : undefined);
        expect(await receiving(channel).failed).toMatchObject(PAUSE_ASKED);
        bot.state.refuse = undefined;
        receiving(channel);
        bot.say("hello");
        await until(() => accepted.length === 1);
      },
    );
  });

  describe("by a webhook", () => {
    async function posted() {
      const given = await connected({ ownerId: String(OWNER), webhookUrl: URL });
      const { bot, channel } = given;
      const statuses: number[] = [];
      bot.state.post = async ({ url, headers, body }) => {
        expect(url).toBe(URL);
        const isOurs = channel.webhook?.isAuthentic(headers) === true;
        const { status } = (isOurs && (await channel.webhook?.handle({ headers, body }))) || { status: 401 };
        statuses.push(status);
        return status;
      };
      return { ...given, statuses };
    }

    it("is posted what the owner writes, one after the other, and asks for nothing itself", async () => {
      const { bot, channel, accepted, commands } = await posted();
      const { states } = receiving(channel);
      for (let n = 0; n < 20; n++) bot.say(`message ${n}`);
      bot.say("/status@cairn_bot", { chat: -100 });
      bot.say("a stranger", { from: 2 });
      await until(() => bot.state.updates.length === 0 && commands.length === 1);
      expect(accepted.map(({ text }) => text)).toEqual(Array.from({ length: 20 }, (_, n) => `message ${n}`));
      expect(bot.state.webhookConnections).toBe(1);
      expect(bot.state.calls.some(({ method }) => method === "getUpdates")).toBe(false);
      expect(states[0]).toBeUndefined();
      await until(() => bot.state.commands.length > 5);
    });

    it("acknowledges a message only when it is durable: it is posted again where that failed", async () => {
      const { bot, channel, accepted, handlers, statuses } = await posted();
      let tries = 0;
      handlers.message = async () => {
        if (++tries < 3) throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
      };
      receiving(channel);
      bot.say("one");
      bot.say("two");
      await until(() => accepted.length === 2);
      expect(accepted.map(({ text }) => text)).toEqual(["one", "two"]);
      await until(() => statuses.length === 4);
      expect(statuses).toEqual([503, 503, 200, 200]);
    });

    it("takes nothing without Telegram's secret, and survives what is no update", async () => {
      const { bot, channel, accepted } = await posted();
      const message = {
        message_id: 1,
        from: { id: OWNER, is_bot: false },
        chat: { id: OWNER, type: "private" },
        date: 1,
        text: "x",
      };
      const body = { update_id: 1, message };
      for (const secret of [undefined, "", "wrong", `${bot.state.webhookSecret}x`]) {
        expect(channel.webhook?.isAuthentic({ "x-telegram-bot-api-secret-token": secret })).toBe(false);
      }
      receiving(channel);
      await until(() => bot.state.webhookSecret !== "");
      const headers = { "x-telegram-bot-api-secret-token": bot.state.webhookSecret };
      expect(channel.webhook?.isAuthentic(headers)).toBe(true);
      expect(bot.state.webhookSecret).not.toContain(bot.token);
      for (const junk of [null, [], "x", {}, { update_id: "1" }, { update_id: 2 }, { update_id: 3, message: {} }]) {
        expect(await channel.webhook?.handle({ headers, body: junk })).toEqual({ status: 200 });
      }
      expect(accepted).toEqual([]);
      expect(await channel.webhook?.handle({ headers, body })).toEqual({ status: 200 });
      expect(accepted).toHaveLength(1);
    });

    it("acknowledges whatever comes, once: it would be the same again", async () => {
      const { bot, channel, accepted } = await posted();
      receiving(channel);
      await until(() => bot.state.webhookSecret !== "");
      const right = MESSAGES.map((message, index) => ({ update_id: index + 1, message }));
      for (const body of [
        null,
        { update_id: 1, message: { ...MESSAGES[0], from: null } },
        ...fc.sample(nearly(right), 300),
      ]) {
        expect([await channel.webhook?.handle({ headers: {}, body }), body]).toEqual([{ status: 200 }, body]);
      }
      for (const message of accepted) expectSound(message);
    });

    it("says why Telegram cannot deliver, and sets the webhook again where another program has changed it", async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true, advanceTimeDelta: 20 });
      onTestFinished(() => void vi.useRealTimers());
      const { bot, channel } = await posted();
      const { states } = receiving(channel);
      await until(() => bot.state.webhook === URL);
      bot.state.webhook = "https://elsewhere.example.org/";
      await vi.advanceTimersByTimeAsync(31_000);
      await until(() => bot.state.webhook === URL);
      bot.state.webhookError = { at: Math.floor(Date.now() / 1_000), message: "Connection refused" };
      await vi.advanceTimersByTimeAsync(31_000);
      await until(() => states.some((state) => state?.includes("Connection refused")));
    });

    it.each(["getMe", "getWebhookInfo", "setWebhook"])(
      "ends with the pause that Telegram asks for while it is set (%s), and is set behind it",
      async (refused) => {
        const { bot, channel, accepted } = await posted();
        bot.state.refuse = (method) => (method === refused ? tooMany(3_000) : undefined);
        expect(await receiving(channel).failed).toMatchObject(PAUSE_ASKED);
        bot.state.refuse = undefined;
        receiving(channel);
        bot.say("hello");
        await until(() => accepted.length === 1);
      },
    );

    it("ends at once, also while the menu of commands is set", async () => {
      // The pause between two questions about deliveries would never be over.
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const { bot, channel } = await posted();
      const asked = bot.state.holds.next("before", ({ method }) => method === "setMyCommands");
      const { end } = receiving(channel);
      await asked;
      await end();
    });

    it("leaves a webhook of its own behind for whoever polls next, who takes it away", async () => {
      const { bot, channel, accepted } = await connected();
      bot.state.webhook = URL;
      receiving(channel);
      bot.say("hello");
      await until(() => accepted.length === 1);
      expect(bot.state.webhook).toBe("");
    });
  });

  describe("takes commands", () => {
    it("and answers them again where Telegram asks for a pause, or does not answer", async () => {
      const { bot, channel, handlers } = await connected();
      handlers.command = async ({ line }) => ({ text: `did ${line}` });
      const refusals = [tooMany(1), new Refusal(502, "Bad Gateway")];
      bot.state.refuse = (method) => (method === "sendMessage" ? refusals.shift() : undefined);
      receiving(channel);
      bot.say("/stop");
      bot.say("/status");
      await until(() => bot.state.sent.length === 2);
      expect(textsOf(bot)).toEqual(["did /stop", "did /status"]);
    });

    it("and goes on with the rest of an answer of several messages where one of them fails", async () => {
      const { bot, channel, handlers } = await connected();
      const text = Array.from({ length: 1_200 }, (_, n) => `word${n}`).join(" ");
      handlers.command = async () => ({ text });
      const refusals = [tooMany(1), new Refusal(502, "Bad Gateway")];
      bot.state.refuse = (method) =>
        method === "sendMessage" && bot.state.sent.length === 1 ? refusals.shift() : undefined;
      receiving(channel);
      const { message_id: asked } = bot.say("/status");
      bot.say("/stop");
      await until(() => bot.state.sent.length === 6);
      expect(textsOf(bot).slice(0, 3).join(" ")).toBe(text);
      expect(bot.state.sent.slice(0, 3).map(({ replyTo }) => replyTo)).toEqual([asked, undefined, undefined]);
      expect(refusals).toEqual([]);
    });

    it("and answers the owner's, whatever waits for others who write more than they may", async () => {
      const { bot, channel, handlers, log } = await connected();
      channel.onStranger?.(async () => ({ admitted: true }));
      handlers.message = async () => {
        throw new RuntimeError("RUNTIME_RATE_LIMITED", "Too many wait.");
      };
      bot.state.refuse = (method, { chat_id: chat }) =>
        method === "sendMessage" && chat !== OWNER ? tooMany(30) : undefined;
      receiving(channel);
      for (let n = 0; n < 40; n++) bot.say(`flood ${n}`, { from: 2 });
      for (let user = 3; user < 43; user++) bot.say("I, too", { from: user });
      bot.say("/stop");
      await until(() => bot.state.sent.length === 1);
      expect(bot.state.sent).toMatchObject([{ chat: OWNER, text: "done" }]);
      // Of the first one 10 wait, and of the others 19.
      expect(log.filter((line) => line.includes("too many answers wait"))).toHaveLength(30 + 21);
    });

    it("and gives a stranger another code where theirs could not be shown", async () => {
      const { bot, channel } = await connected();
      const codes = ["ABCD-EFGH", "JKLM-NPQR"];
      let shown = false;
      channel.onStranger?.(async () => {
        if (shown) return { admitted: false, code: null };
        shown = true;
        return {
          admitted: false,
          code: codes.shift() ?? null,
          async withdraw() {
            shown = false;
          },
        };
      });
      bot.state.refuse = (method) => (method === "sendMessage" ? tooMany(600) : undefined);
      receiving(channel);
      bot.say("hello", { from: 3 });
      await until(() => codes.length === 1 && !shown);
      bot.state.refuse = undefined;
      bot.say("hello?", { from: 3 });
      await until(() => bot.state.sent.length === 1);
      expect(textsOf(bot)[0]).toContain("JKLM-NPQR");
    });

    it("also with its name, and answers them, and says what is wrong with one", async () => {
      const { bot, channel, commands, handlers } = await connected();
      handlers.command = async ({ line }) => {
        if (line === "/dance") {
          throw new RuntimeError("RUNTIME_COMMAND_UNKNOWN", "There is no command /dance.", {
            hint: "Commands: /stop.",
          });
        }
        return { text: `did ${line}` };
      };
      receiving(channel);
      for (const line of ["/think high", "/stop@Cairn_Bot", "/stop@other_bot", "/dance", "/start"]) bot.say(line);
      await until(() => bot.state.sent.length === 4);
      expect(commands.map(({ line, owner, agent }) => [line, owner, agent])).toEqual([
        ["/think high", true, ""],
        ["/stop", true, ""],
        ["/dance", true, ""],
      ]);
      expect(textsOf(bot)).toEqual([
        "did /think high",
        "did /stop",
        "There is no command /dance. Commands: /stop.",
        expect.stringContaining("/interrupt TEXT - abort"),
      ]);
    });

    it("puts them into the menu of Telegram, and says where that fails", async () => {
      const { bot, channel } = await connected();
      const first = receiving(channel);
      await until(() => first.states.length > 0);
      expect(bot.state.commands.map(({ command }) => command)).toContain("stop");
      await first.end();
    });

    it("says where they could not be put there, and receives all the same", async () => {
      const { bot, channel } = await connected();
      bot.state.refuse = (method) => (method === "setMyCommands" ? new Refusal(400, "Bad Request: no") : undefined);
      const { states } = receiving(channel);
      await until(() => states.length > 0);
      expect(states[0]).toBe("the menu of commands could not be set: Telegram answers 400: Bad Request: no.");
    });
  });

  describe("takes files", () => {
    const file = (bytes: Buffer, size?: number) => ({
      path: "documents/file_1",
      ...(size === undefined ? {} : { size }),
      content: () => [bytes],
    });

    it("of each kind, with their captions", async () => {
      const { bot, channel, accepted } = await connected();
      bot.state.files.set("f", file(Buffer.from("abc")));
      const one = { file_id: "f", file_unique_id: "u" };
      const size = { ...one, width: 1, height: 1 };
      bot.say("", { with: { photo: [{ ...size, file_id: "small" }, size], caption: "a photo" } });
      bot.say("", { with: { document: { ...one, file_name: "a.pdf", mime_type: "application/pdf" } } });
      bot.say("", { with: { voice: { ...one, duration: 1 } } });
      receiving(channel);
      await until(() => accepted.length === 3);
      const data = Buffer.from("abc").toString("base64");
      expect(accepted.map(({ text, attachments }) => [text, attachments])).toEqual([
        ["a photo", [{ name: "photo-1.jpg", mediaType: "image/jpeg", data }]],
        ["", [{ name: "a.pdf", mediaType: "application/pdf", data }]],
        ["", [{ name: "voice-3.ogg", mediaType: "audio/ogg", data }]],
      ]);
    });

    it("up to 20 MB, whatever was said about their size: the text goes in without what is larger", async () => {
      const { bot, channel, accepted } = await connected();
      const piece = Buffer.alloc(1024 ** 2);
      bot.state.files.set("honest", file(piece, 2 * 1024 ** 3));
      bot.state.files.set("endless", {
        path: "endless",
        content: function* () {
          for (;;) yield piece;
        },
      });
      for (const id of ["honest", "endless"]) {
        bot.say("", { with: { document: { file_id: id, file_unique_id: id, file_name: id }, caption: id } });
      }
      bot.say("", { with: { sticker: {} } });
      receiving(channel);
      await until(() => bot.state.sent.length === 3);
      expect(accepted.map(({ text, attachments }) => [text, attachments])).toEqual([
        ["honest", undefined],
        ["endless", undefined],
      ]);
      expect(textsOf(bot)).toEqual([
        "Telegram gives bots no file of more than 20 MB: honest.",
        "Telegram gives bots no file of more than 20 MB: endless.",
        "Agents are given text, pictures, recordings and files, and nothing else.",
      ]);
    });

    it("leaves a message whose file is still on its way to the next receiver", async () => {
      const { bot, channel, accepted } = await connected();
      const began = Promise.withResolvers<void>();
      bot.state.files.set("slow", {
        path: "slow",
        content: async function* () {
          yield Buffer.from("x");
          began.resolve();
          await new Promise(() => undefined);
        },
      });
      bot.say("", { with: { document: { file_id: "slow", file_unique_id: "u" }, caption: "slow" } });
      const { end } = receiving(channel);
      await began.promise;
      await end();
      expect([accepted, bot.state.confirmed]).toEqual([[], []]);
    });

    it("confirms nothing while it reads what comes behind a file, whatever Telegram answers, and asks once at a time", async () => {
      const { bot, channel, accepted, commands } = await connected();
      const [began, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      bot.state.files.set("slow", {
        path: "slow",
        content: async function* () {
          yield Buffer.from("x");
          began.resolve();
          await gate.promise;
        },
      });
      const { failed, end } = receiving(channel);
      bot.say("before");
      bot.say("", { with: { document: { file_id: "slow", file_unique_id: "u" }, caption: "slow" } });
      await began.promise;
      const refusals = [new Refusal(502, "Bad Gateway"), tooMany(1)];
      bot.state.refuse = (method) => (method === "getUpdates" ? refusals.shift() : undefined);
      bot.say("/stop");
      bot.say("behind");
      await until(() => commands.length === 1);
      expect([accepted.map(({ text }) => text), bot.state.confirmed]).toEqual([["before"], [1]]);
      gate.resolve();
      await until(() => bot.state.confirmed.length === 4);
      await end();
      expect(await failed).toBeNull();
      expect(accepted.map(({ text }) => text)).toEqual(["before", "slow", "behind"]);
      expect(commands).toHaveLength(1);
      expect(bot.state.polls).toMatchObject({ most: 1, terminated: 0 });
    });

    it("lets no message wait for a file for ever", async () => {
      const { bot, channel, accepted } = await connected();
      const document = (id: string) => ({ document: { file_id: id, file_unique_id: id, file_name: id } });
      bot.say("", { with: { ...document("unknown"), caption: "one" } });
      bot.say("", { with: { ...document("failing"), caption: "two" } });
      bot.state.refuse = (method, { file_id }) =>
        method === "getFile" && file_id === "failing" ? new Refusal(500, "Internal Server Error") : undefined;
      let attempts = 0;
      for (; accepted.length < 2; attempts++) {
        const { failed, end } = receiving(channel);
        await Promise.race([failed, until(() => accepted.length === 2)]);
        await end();
      }
      expect(attempts).toBe(8);
      expect(textsOf(bot)).toEqual([
        "Telegram does not give out the file unknown.",
        "Telegram answers 500: Internal Server Error.",
      ]);
      expect(accepted.map(({ text }) => text)).toEqual(["one", "two"]);
    });

    it("comes back to a message whose file could not be fetched", async () => {
      const { bot, channel, accepted } = await connected();
      bot.say("", { with: { document: { file_id: "f", file_unique_id: "u" }, caption: "look" } });
      bot.state.refuse = (method) => (method === "getFile" ? new Refusal(500, "Internal Server Error") : undefined);
      expect(await receiving(channel).failed).toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      bot.state.refuse = undefined;
      bot.state.files.set("f", file(Buffer.from("x")));
      receiving(channel);
      await until(() => accepted.length === 1);
      expect(accepted[0]?.attachments).toHaveLength(1);
    });
  });

  describe("sends", () => {
    async function ready() {
      const given = await connected();
      given.bot.state.chats.add(1);
      return given;
    }

    it("a long text in parts that Telegram takes, and goes on with the rest after a failure", async () => {
      const { bot, channel } = await ready();
      const text = Array.from({ length: 900 }, (_, n) => `word${n}`)
        .join(" ")
        .repeat(2);
      const kept: unknown[] = [];
      bot.state.refuse = (method) =>
        method === "sendMessage" && bot.state.sent.length === 2 ? new Refusal(500, "Internal Server Error") : undefined;
      const keep = async (sent: unknown): Promise<void> => void kept.push(sent);
      await expect(channel.send(reply(text), keep)).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      expect(kept.at(-1)).toEqual({ primary: "1", overflow: ["2"] });
      bot.state.refuse = undefined;
      const sent = await channel.send(reply(text, { sent: { primary: "1", overflow: ["2"] } }), keep);
      expect(sent).toEqual({ primary: "1", overflow: ["2", "3", "4"] });
      expect(textsOf(bot).join(" ")).toBe(text);
    });

    it("notices, files, answers and choices", async () => {
      const { bot, channel } = await ready();
      const { message_id: id } = bot.say("asked");
      const attach = (name: string, mediaType: string) => ({
        name,
        mediaType,
        data: Buffer.from(name).toString("base64"),
      });
      const question = { id: "q", text: "Which?", choices: ["red", "blue"], expires_at: "2030-01-01T00:00:00Z" };
      const attachments = [attach("a.png", "image/png"), attach("a.txt", "text/plain")];
      await channel.send(
        reply("Which?", { notice: "It was interrupted.", attachments, replyTo: String(id), question }),
      );
      expect(
        bot.state.sent.map(({ text, replyTo, files }) => [
          text,
          replyTo,
          files.map(({ method, name }) => `${method} ${name}`),
        ]),
      ).toEqual([
        ["Which?\n\nIt was interrupted.\n\nAnswer with\n/answer red\n/answer blue", id, []],
        ["", undefined, ["sendPhoto a.png"]],
        ["", undefined, ["sendDocument a.txt"]],
      ]);
      const last = bot.state.calls.at(-1)?.body["reply_markup"];
      expect(JSON.parse(String(last))).toMatchObject({
        keyboard: [[{ text: "/answer red" }], [{ text: "/answer blue" }]],
      });
    });

    it("approvals, with commands that name what they approve", async () => {
      const { bot, channel } = await ready();
      const question = {
        id: "01a2f3c4-0000-7000-8000-00005f3a91c2",
        text: "Approve?",
        choices: [],
        expires_at: "2030-01-01T00:00:00Z",
        approval: { tool: "shell", call: "command: make deploy", reason: "a rule", digest: "d" },
      };
      await channel.send(reply("Approve?", { question }));
      const lines = ["/approve 5f3a91c2", "/deny 5f3a91c2", "/approve 5f3a91c2 always"];
      expect(bot.state.sent[0]?.text).toBe(
        `Approve?\n\nDecide until 2030-01-01 00:00 UTC, or it is refused:\n${lines.join("\n")}`,
      );
      expect(bot.state.calls.at(-1)?.body["reply_markup"]).toMatchObject({ keyboard: lines.map((text) => [{ text }]) });
    });

    it("what it has shown of a reply changed into the reply: further messages, fewer ones, and a new one for one that is gone", async () => {
      const { bot, channel } = await ready();
      const shown = { primary: "1", overflow: ["2"] };
      const pair = async (text: string) => {
        await channel.send(reply("long ".repeat(1_500)));
        return channel.send(reply(text, { draft: shown }));
      };
      expect(await pair("short")).toEqual({ primary: "1", overflow: [] });
      expect(bot.state.sent.map(({ text, deleted }) => [text.slice(0, 5), deleted])).toEqual([
        ["short", false],
        ["long ", true],
      ]);
      // Its owner has deleted it meanwhile.
      for (const message of bot.state.sent) message.deleted = true;
      expect(await channel.send(reply("once more", { draft: shown }))).toEqual({ primary: "3", overflow: [] });
      const files = [{ name: "a.txt", mediaType: "text/plain", data: Buffer.from("x").toString("base64") }];
      const whole = await channel.send(
        reply("with a file", { draft: { primary: "3", overflow: [] }, attachments: files }),
      );
      expect(whole).toEqual({ primary: "3", overflow: ["4"] });
      expect(
        bot.state.sent.filter(({ deleted }) => !deleted).map(({ text, files: [file] }) => file?.name ?? text),
      ).toEqual(["with a file", "a.txt"]);
    });

    it("a reply whose surplus messages may not be deleted, once", async () => {
      const { bot, channel } = await ready();
      const draft = (await channel.send(reply("long ".repeat(1_500)))) ?? { primary: "", overflow: [] };
      bot.state.refuse = (method) =>
        method === "deleteMessage" ? new Refusal(400, "Bad Request: message can't be deleted") : undefined;
      expect(await channel.send(reply("short", { draft }))).toEqual({ primary: draft.primary, overflow: [] });
      expect(textsOf(bot)[0]).toBe("short");
    });

    it("nothing for the messages that show already what they are to show", async () => {
      const { bot, channel } = await ready();
      const text = "word ".repeat(1_000).trim();
      const { primary, overflow } = (await channel.send(reply(text))) ?? { primary: "", overflow: [] };
      await channel.edit?.("1", primary, `${text} more`, overflow);
      expect(bot.state.calls.filter(({ method }) => method === "editMessageText")).toHaveLength(1);
    });

    it("a note where a message may have been sent before, and none where an edit cannot repeat it", async () => {
      const { bot, channel } = await ready();
      await channel.send(reply("hello", { mayRepeat: true }));
      const draft = { primary: "1", overflow: [] };
      await channel.send(reply("hello again", { mayRepeat: true, draft }));
      await channel.send(reply("hello once more", { mayRepeat: true, draft: { ...draft, unheard: true } }));
      expect(bot.state.calls.map(({ body }) => body["text"])).toEqual([
        "hello\n\n(This may have reached you before.)",
        "hello again",
        "hello once more\n\n(This may have reached you before.)",
      ]);
      const lost = (error: Refusal) => {
        bot.state.refuse = () => error;
        return channel.send(reply("hello")).catch(({ details }: { details: object }) => details);
      };
      expect(await lost(tooMany(3))).toMatchObject({ notTaken: true });
      expect(await lost(new Refusal(502, "Bad Gateway"))).not.toHaveProperty("notTaken");
    });

    it("no message twice where the connection breaks in the middle of a change: of a draft, and of the reply that it becomes", async () => {
      const { fake, bot, channel } = await ready();
      const draft = (await channel.send(reply("hello …"))) ?? { primary: "", overflow: [] };
      const lost = { code: "CHANNEL_CONNECTION_LOST" };
      fake.fault = "unanswered";
      await expect(channel.edit?.("1", draft.primary, "hello, and …")).rejects.toMatchObject(lost);
      expect(textsOf(bot)).toEqual(["hello, and …"]);
      await expect(channel.send(reply("hello, and good day", { draft }))).rejects.toMatchObject(lost);
      fake.fault = "none";
      await channel.send(reply("hello, and good day", { draft, mayRepeat: true }));
      expect(textsOf(bot)).toEqual(["hello, and good day"]);
      expect(bot.state.sent).toHaveLength(1);
    });

    it("that it types, from the start of the first turn to the end of the last one of a chat", async () => {
      vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
      onTestFinished(() => void vi.useRealTimers());
      const { bot, channel } = await ready();
      await channel.startTyping?.("1");
      await channel.startTyping?.("1");
      await until(() => bot.state.actions.length === 1);
      await channel.stopTyping?.("1");
      vi.advanceTimersByTime(5_000);
      await until(() => bot.state.actions.length === 2);
      expect(bot.state.actions).toEqual(["1 typing", "1 typing"]);
      await channel.stopTyping?.("1");
      expect(vi.getTimerCount()).toBe(0);
    });

    it("nowhere that it types, as long as Telegram asks for a pause", async () => {
      vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
      onTestFinished(() => void vi.useRealTimers());
      const { bot, channel } = await ready();
      const asked = () => bot.state.calls.filter(({ method }) => method === "sendChatAction").length;
      bot.state.refuse = (method) => (method === "sendChatAction" ? tooMany(60) : undefined);
      await channel.startTyping?.("1");
      await until(() => asked() === 1);
      bot.state.refuse = undefined;
      // The refusal has been heard by then: it was answered before this.
      await channel.send(reply("hello"));
      vi.advanceTimersByTime(50_000);
      bot.state.chats.add(-100);
      await channel.startTyping?.("-100");
      await channel.send(reply("hello again"));
      expect(asked()).toBe(1);
      vi.advanceTimersByTime(15_000);
      await until(() => bot.state.actions.includes("-100 typing") && bot.state.actions.includes("1 typing"));
    });

    it("changes of a reply that is written no faster than a chat takes them", async () => {
      const { channel } = await ready();
      expect(channel.draftPauseMs?.("1")).toBeGreaterThan(1_000);
      // 20 messages in a minute.
      expect(channel.draftPauseMs?.("-100:7")).toBeGreaterThan(3_000);
    });

    it("leaves the pauses that Telegram asks for to the outbox", async () => {
      const { bot, channel } = await ready();
      bot.state.refuse = () => tooMany(3_000);
      await expect(channel.send(reply("later"))).rejects.toMatchObject({
        retryable: true,
        details: { retryAfterS: 3_000 },
      });
    });

    it("nothing again that Telegram refuses for good", async () => {
      const { bot, channel } = await ready();
      bot.state.refuse = () => new Refusal(403, "Forbidden: bot was blocked by the user");
      await expect(channel.send(reply("hello"))).rejects.toMatchObject({ code: "CHANNEL_REFUSED", retryable: false });
    });

    it("a picture of an odd shape as a file, and a sentence for a file that it does not take", async () => {
      const { bot, channel } = await ready();
      bot.state.refuse = (method) =>
        method === "sendPhoto" ? new Refusal(400, "Bad Request: PHOTO_INVALID_DIMENSIONS") : undefined;
      const attachments = [
        { name: "long.png", mediaType: "image/png", data: Buffer.from("x").toString("base64") },
        { name: "empty.txt", mediaType: "text/plain", data: "" },
        { name: "last.txt", mediaType: "text/plain", data: Buffer.from("x").toString("base64") },
      ];
      await channel.send(reply("Here:", { attachments }));
      expect(bot.state.sent.map(({ text, files }) => files[0]?.name ?? text)).toEqual([
        "Here:",
        "long.png",
        "The file empty.txt could not be sent: Bad Request: file must be non-empty.",
        "last.txt",
      ]);
    });

    it("edits: what is longer gets further messages, what is shorter loses them, what is the same stays", async () => {
      const { bot, channel } = await ready();
      const sent = await channel.send(reply("short"));
      expect(sent).toEqual({ primary: "1", overflow: [] });
      const longer = await channel.edit?.("1", "1", "long ".repeat(1_500));
      expect(longer).toEqual({ primary: "1", overflow: ["2"] });
      expect(await channel.edit?.("1", "1", "short", ["2"])).toEqual({ primary: "1", overflow: [] });
      expect(bot.state.sent.map(({ text, deleted }) => [text.slice(0, 5), deleted])).toEqual([
        ["short", false],
        ["long ", true],
      ]);
      expect(await channel.edit?.("1", "1", "short", ["2"])).toEqual({ primary: "1", overflow: [] });
      bot.state.refuse = (method) => (method === "sendMessage" ? new Refusal(500, "Internal Server Error") : undefined);
      await expect(channel.edit?.("1", "1", "long ".repeat(1_500))).rejects.toMatchObject({
        code: "CHANNEL_CONNECTION_LOST",
      });
    });

    it("nothing more of a change that is cancelled between two messages", async () => {
      const { bot, channel } = await ready();
      const text = "word ".repeat(1_000).trim();
      const { primary, overflow } = (await channel.send(reply(text))) ?? { primary: "", overflow: [] };
      const cancel = new AbortController();
      bot.state.refuse = (method) => void (method === "editMessageText" && cancel.abort());
      const change = channel.edit?.("1", primary, text.replaceAll("word", "term"), overflow, cancel.signal);
      await expect(change).rejects.toThrow();
      expect(textsOf(bot).map((shown) => shown.slice(0, 4))).toEqual(["term", "word"]);
    });

    it("the Markdown of agents as entities, also while it is written, and no words of the service's own", async () => {
      const { bot, channel } = await ready();
      const sent = await channel.send(reply("**bold and `code` …", { notice: "**not** [this](https://example.org)" }));
      const shown = () => bot.state.sent.map(({ text, entities }) => [text, entities]);
      expect(shown()).toEqual([
        ["**bold and code …\n\n**not** [this](https://example.org)", [{ type: "code", offset: 11, length: 4 }]],
      ]);
      const link = "[**a**](https://example.org/) ";
      await channel.edit?.("1", sent?.primary ?? "", link);
      // The text is the same, and what shows it is not.
      await channel.edit?.("1", sent?.primary ?? "", "*a*");
      expect(shown()).toEqual([["a", [{ type: "italic", offset: 0, length: 1 }]]]);
      expect(bot.state.sent[0]?.edits).toBe(2);
      bot.say("/status");
      receiving(channel);
      await until(() => bot.state.sent.length === 2);
      expect(bot.state.sent[1]?.entities).toEqual([]);
    });

    it("at most a hundred entities of a message, and all of its text", async () => {
      const { bot, channel } = await ready();
      await channel.send(reply("**😀** ".repeat(150)));
      expect(bot.state.sent.map(({ text, entities }) => [text, entities.length])).toEqual([
        ["😀 ".repeat(150).trim(), 100],
      ]);
    });

    it("a code block that is split, as code in each message; a notice that has no room behind it in a message of its own", async () => {
      const { bot, channel } = await ready();
      const code = Array.from({ length: 500 }, (_, n) => `line ${n}`).join("\n");
      await channel.send(reply(`\`\`\`ts\n${code}\n\`\`\``, { notice: "note ".repeat(800).trim() }));
      expect(bot.state.sent.map(({ text, entities }) => [text.slice(0, 4), entities.map(({ type }) => type)])).toEqual([
        ["line", ["pre"]],
        ["line", ["pre"]],
        ["note", []],
      ]);
      const [first, second] = textsOf(bot);
      expect(`${first}\n${second}`).toBe(code);
    });

    it("what is under way in a group that becomes a supergroup in the supergroup, and changes nothing else there", async () => {
      const { bot, channel } = await ready();
      const [group, supergroup] = [-100, -1_000_000_000_200];
      const address = { channel: "telegram", conversation: String(group), user: "1" };
      bot.say("hello", { chat: group });
      const draft = (await channel.send(reply("long ".repeat(1_500), { address }))) ?? { primary: "", overflow: [] };
      bot.migrate(group, supergroup);
      // Messages of the supergroup have the numbers that the draft's have.
      for (let n = 1; n <= 4; n++) {
        const other = { ...address, conversation: String(supergroup) };
        await channel.send(reply(`another ${n}`, { address: other }));
      }
      const edited = await channel.edit?.(address.conversation, draft.primary, "while it writes", draft.overflow);
      expect(edited).toEqual({ primary: `${supergroup}:6`, overflow: [] });
      const again = await channel.edit?.(address.conversation, `${supergroup}:6`, "and goes on", []);
      expect(again).toEqual(edited);
      const attachments = [{ name: "a.txt", mediaType: "text/plain", data: Buffer.from("x").toString("base64") }];
      const whole = { address, replyTo: "1", attachments, ...(edited ? { draft: edited } : {}) };
      expect(await channel.send(reply("the reply", whole))).toEqual({
        primary: `${supergroup}:6`,
        overflow: [`${supergroup}:7`],
      });
      await channel.startTyping?.(address.conversation);
      await until(() => bot.state.actions.length === 1);
      await channel.stopTyping?.(address.conversation);
      expect(bot.state.actions).toEqual([`${supergroup} typing`]);
      const inSupergroup = bot.state.sent.filter(({ chat, deleted }) => chat === supergroup && !deleted);
      expect(inSupergroup.map(({ text, files: [file] }) => file?.name ?? text)).toEqual([
        "another 1",
        "another 2",
        "another 3",
        "another 4",
        "the reply",
        "a.txt",
      ]);
    });

    it("a reply of which a part was sent before the group became a supergroup: the rest, as an answer to nothing", async () => {
      const { bot, channel } = await ready();
      const [group, supergroup] = [-100, -1_000_000_000_200];
      const address = { channel: "telegram", conversation: String(group), user: "1" };
      bot.say("hello", { chat: group });
      const text = "long ".repeat(1_500);
      bot.migrate(group, supergroup);
      const rest = await channel.send(reply(text, { address, replyTo: "1", sent: { primary: "2", overflow: [] } }));
      expect(rest).toEqual({ primary: "2", overflow: [`${supergroup}:2`] });
      await channel.send(reply("short", { address, replyTo: "1" }));
      expect(bot.state.sent.map(({ chat, replyTo }) => [chat, replyTo])).toEqual([
        [supergroup, undefined],
        [supergroup, undefined],
      ]);
    });

    it("the rest of a draft in the supergroup that its group becomes in the middle of a change, each message once", async () => {
      const { bot, channel } = await ready();
      const [group, supergroup] = [-100, -1_000_000_000_200];
      const address = { channel: "telegram", conversation: String(group), user: "1" };
      bot.say("hello", { chat: group });
      const textOf = (word: string) => `${word} `.repeat(1_800).trim();
      let ids: EditResult = (await channel.send(reply(textOf("long"), { address }))) ?? expect.fail("nothing was sent");
      expect(ids.overflow).toHaveLength(2);
      const marks: boolean[] = [];
      const keep: KeepSent = async (sent, more = false) => {
        ids = sent;
        marks.push(more);
      };
      const edit = (text: string) =>
        channel.edit?.(address.conversation, ids.primary, text, ids.overflow, undefined, keep);
      const refusals = [new Refusal(502, "Bad Gateway")];
      bot.state.refuse = (method, body) => {
        if (method === "editMessageText" && `${body["message_id"]}` === ids.overflow[0]) {
          if (bot.state.moved.size === 0) bot.migrate(group, supergroup);
        }
        const isInSupergroup = method === "sendMessage" && body["chat_id"] === supergroup;
        return isInSupergroup && bot.state.sent.length === 4 ? refusals.shift() : undefined;
      };
      await expect(edit(textOf("word"))).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      expect(ids.overflow).toEqual([`${supergroup}:2`, "4"]);
      // Of each new message it was said before that it may be there.
      expect(marks).toEqual([true, true, true]);
      expect(await edit(textOf("word"))).toEqual(ids);
      const whole = `${textOf("word")}, and no more`;
      await channel.send(reply(whole, { address, draft: ids }));
      const shown = bot.state.sent.filter(({ chat, text }) => chat === supergroup || text.startsWith("word"));
      expect(shown.map(({ chat }) => chat)).toEqual([group, supergroup, supergroup]);
      expect(shown.map(({ text }) => text).join(" ")).toBe(whole);
    });

    it("reactions that Telegram knows", async () => {
      const { bot, channel } = await ready();
      await channel.send(reply("hello"));
      await channel.react?.("1", "1", "👍");
      expect(bot.state.sent[0]?.reactions).toEqual(["👍"]);
      await expect(channel.react?.("1", "1", "🦤")).rejects.toThrow("REACTION_INVALID");
    });
  });
});
