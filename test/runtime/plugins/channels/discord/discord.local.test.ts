/** The Discord channel against the platform's fake, through the contract of channels. */

import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { InboundMessage, OutboundMessage, Stranger } from "../../../../../runtime/contracts/channel.ts";
import { ChannelError, RuntimeError } from "../../../../../runtime/contracts/errors.ts";
import { createDiscordChannel } from "../../../../../runtime/plugins/channels/discord/index.ts";
import { type ChannelHarness, channelConformance } from "../../../../../runtime/testing/channel/index.ts";
import { OWNER, Refusal, STRANGER, tooMany } from "../../../../fakes/discord/bot.ts";
import { type DiscordBot, type DiscordFake, startDiscordFake } from "../../../../fakes/discord/index.ts";
import { until } from "../../../../support/eventually.ts";
import { nearly } from "../../../../support/json-mutations.ts";
import { always, receiving, type Stored, started, unavailable } from "../../../../support/receiving-channel.ts";
import { recordingLogger } from "../../../../support/recording-logger.ts";

function made(fake: DiscordFake, bot: DiscordBot, given: { ownerId?: string } = { ownerId: OWNER }) {
  const log: string[] = [];
  const channel = createDiscordChannel({
    id: "discord",
    token: bot.token,
    ownerId: given.ownerId,
    baseUrl: `${fake.url}/`,
    newId: () => "id",
    logger: recordingLogger(log),
  });
  return { channel, log };
}

/** A node's channel; nodes of one bot share the position. */
async function nodeOf(fake: DiscordFake, bot: DiscordBot, given?: { ownerId?: string }) {
  const { channel, log } = made(fake, bot, given);
  return { channel, log, ...(await started(channel)) };
}

async function connected() {
  const fake = await startDiscordFake();
  const bot = fake.bot();
  return { fake, bot, ...(await nodeOf(fake, bot)) };
}

/** Has taken a message in a channel of a server, and receives no more. */
async function stoppedOnServer() {
  const { bot, channel, accepted } = await connected();
  const stored: Stored = {};
  const server = bot.channel();
  const { up, end } = receiving(channel, stored);
  await up();
  bot.say("here", { channel: server });
  await until(() => accepted.length === 1);
  await end();
  return { bot, channel, accepted, stored, server };
}

const reply = ({ direct }: DiscordBot, text: string, more: Partial<OutboundMessage> = {}): OutboundMessage => ({
  address: { channel: "discord", conversation: direct, user: OWNER },
  agent: "main",
  turnId: "t",
  text,
  ...more,
});
const textsOf = (bot: DiscordBot): string[] => bot.sent().map(({ content }) => content);
const textsIn = (accepted: readonly InboundMessage[]): string[] => accepted.map(({ text }) => text);

const harness: ChannelHarness = {
  async open() {
    const fake = await startDiscordFake();
    const bot = fake.bot();
    const { channel, log } = made(fake, bot);
    return {
      channel,
      conversation: bot.direct,
      secret: bot.token,
      platform: {
        mostText: 2_000,
        shown: () =>
          bot.sent().map(({ id, content, files }) => ({ id, text: content, files: files.map(({ name }) => name) })),
        typing: () => bot.state.typing.length,
        reactions: () =>
          [...bot.state.channels.values()].flatMap(({ messages }) =>
            messages.flatMap(({ author, reactions }) => (author.bot ? [] : reactions)),
          ),
        fail(fault) {
          if (fault === "unreachable") fake.fault = "down";
          else bot.state.refuse = () => new Refusal(403, 50_001, "Missing Access");
        },
      },
      deliver: async ({ from, text }) => void bot.say(text, { from: from === "owner" ? OWNER : STRANGER }),
      logged: () => log.join("\n"),
      close: () => fake.close(),
    };
  },
};

describe("a Discord channel", () => {
  describe("keeps the contract of channels", () => {
    for (const check of channelConformance(harness)) it(check.name, check.run);
  });

  describe("receives", () => {
    it("what the owner writes in private, on servers and in threads, with a key of its own", async () => {
      const { bot, channel, accepted } = await connected();
      const stored: Stored = {};
      const { states, up } = receiving(channel, stored);
      await up();
      const [server, thread] = [bot.channel(), bot.channel(11)];
      const { id } = bot.say("hello");
      bot.say(`<@${bot.state.me.id}> to all`, { channel: server });
      bot.say("in a thread", { channel: thread });
      await until(() => accepted.length === 3);
      expect(accepted[0]).toEqual({
        address: { channel: "discord", conversation: bot.direct, user: OWNER },
        agent: "",
        externalId: id,
        messageId: id,
        text: "hello",
        owner: true,
        sentAt: expect.stringMatching(/^20\d\d-.*Z$/),
      });
      expect(accepted.slice(1).map(({ address, text }) => [address.conversation, text])).toEqual([
        [server, "to all"],
        [thread, "in a thread"],
      ]);
      expect(states[0]).toBeUndefined();
      await until(() => Object.keys(stored.position ?? {}).length === 3);
    });

    it("nothing of strangers, bots, webhooks and notices, who get no answer and no typing", async () => {
      const { bot, channel, accepted, commands } = await connected();
      await receiving(channel).up();
      const server = bot.channel();
      const asOwner = { author: { id: OWNER, username: "owner", bot: true } };
      bot.say("hello", { from: STRANGER });
      bot.say("/status", { from: STRANGER, channel: server });
      bot.say("a bot", { channel: server, with: asOwner });
      bot.say("a webhook", { channel: server, with: { webhook_id: "1" } });
      bot.say("joined", { channel: server, with: { type: 7 } });
      const pressed = bot.interact({ type: 3, data: { custom_id: "answer:q-1:yes" }, message: { id: "1" } }, STRANGER);
      bot.say("the owner");
      await until(() => accepted.length === 1);
      expect([textsIn(accepted), commands, pressed.answer]).toEqual([["the owner"], [], undefined]);
      expect([textsOf(bot), bot.state.typing.filter((place) => place !== bot.direct)]).toEqual([[], []]);
    });

    it("of others who are admitted, as another user's; a stranger is shown a code once, alone with the bot", async () => {
      const { bot, channel, accepted, commands } = await connected();
      const admitted = "100000000000000003";
      const asked: Stranger[] = [];
      channel.onStranger?.(async (stranger) => {
        asked.push(stranger);
        if (stranger.user === admitted) return { admitted: true };
        return { admitted: false, code: asked.length === 1 ? "ABCD-EFGH" : null };
      });
      const stored: Stored = {};
      await receiving(channel, stored).up();
      const server = bot.channel();
      bot.say("let me in", { from: STRANGER });
      bot.say("let me in", { from: STRANGER });
      bot.say("let me in", { from: STRANGER, channel: server });
      bot.say("hello", { from: admitted });
      bot.say("/status", { from: admitted, channel: server });
      bot.say("I am the owner");
      await until(() => accepted.length === 2 && commands.length === 1);
      expect(accepted.map(({ text, owner, address: { user } }) => [text, owner, user])).toEqual([
        ["hello", false, admitted],
        ["I am the owner", true, OWNER],
      ]);
      expect(commands).toMatchObject([{ line: "/status", owner: false }]);
      expect(asked.map(({ user, mayAsk }) => [user, mayAsk])).toEqual([
        [STRANGER, true],
        [STRANGER, true],
        [STRANGER, false],
        [admitted, true],
        [admitted, false],
      ]);
      await until(() => textsOf(bot).length === 2);
      expect(textsOf(bot)[0]).toMatch(/this code within an hour: ABCD-EFGH\./);
      // A stranger's own conversation is not one whose missed messages are read.
      const strangers = bot.sent()[0]?.channel_id ?? "";
      await until(() => stored.position !== undefined);
      expect(Object.keys(stored.position ?? {})).not.toContain(strangers);
    });

    it("again what admitted others have written where it could not be stored, also in a conversation of their own", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      channel.onStranger?.(async () => ({ admitted: true }));
      const stored: Stored = {};
      const first = receiving(channel, stored);
      await first.up();
      handlers.message = unavailable;
      bot.say("one", { from: STRANGER });
      bot.say("two", { from: STRANGER });
      expect(await first.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      handlers.message = async () => undefined;
      await receiving(channel, stored).up();
      await until(() => accepted.length === 2);
      expect(textsIn(accepted)).toEqual(["one", "two"]);
    });

    it("every message of the owner among those of others", async () => {
      const { bot, channel, accepted } = await connected();
      await receiving(channel).up();
      const server = bot.channel();
      for (let n = 0; n < 100; n++) {
        bot.say(`${n}`, { channel: server });
        bot.say("between", { from: STRANGER, channel: server });
      }
      await until(() => accepted.length === 100);
      expect(textsIn(accepted)).toEqual(Array.from({ length: 100 }, (_, n) => `${n}`));
    });

    it("a message that could not be stored, though others have written after it", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      const first = receiving(channel);
      await first.up();
      handlers.message = unavailable;
      const server = bot.channel();
      bot.say("refused", { channel: server });
      expect(await first.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      bot.say("after it", { from: STRANGER, channel: server });
      handlers.message = async () => undefined;
      const second = receiving(channel);
      await second.up();
      expect([bot.state.gateway.resumed, textsIn(accepted)]).toEqual([1, ["refused"]]);
    });

    it("nobody where there is no owner", async () => {
      const fake = await startDiscordFake();
      const bot = fake.bot();
      const { channel, accepted } = await nodeOf(fake, bot, {});
      await receiving(channel).up();
      bot.say("hello");
      bot.say("/status", { channel: bot.channel() });
      // Asked for behind them.
      bot.order(1, null);
      await until(() => bot.state.gateway.heartbeats > 0);
      expect([accepted, textsOf(bot)]).toEqual([[], []]);
    });

    it("what was written while nobody received, in order, before what comes after it", async () => {
      const { fake, bot, channel, accepted } = await connected();
      const stored: Stored = {};
      const server = bot.channel();
      const first = receiving(channel, stored);
      await first.up();
      bot.say("before");
      bot.say("on a server", { channel: server });
      await until(() => accepted.length === 2);
      await first.end();
      for (let n = 0; n < 250; n++) bot.say(`missed ${n}`, { channel: n % 2 === 0 ? server : bot.direct });
      bot.say("a stranger", { from: STRANGER, channel: server });
      // Another node, which has seen nothing of this.
      const other = await nodeOf(fake, bot);
      const second = receiving(other.channel, stored);
      await until(() => bot.state.gateway.identified === 2);
      bot.say("live", { channel: server });
      bot.say("live");
      await until(() => other.accepted.length === 252);
      await second.up();
      for (const conversation of [server, bot.direct]) {
        const texts = textsIn(other.accepted.filter(({ address }) => address.conversation === conversation));
        const numbers = texts.slice(0, -1).map((text) => Number(text.slice("missed ".length)));
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        expect([numbers.length, texts.at(-1)]).toEqual([125, "live"]);
      }
    });

    it("what the owner writes first in a channel while it fetches a file, when it is killed before its turn", async () => {
      const { fake, bot, channel } = await connected();
      const stored: Stored = {};
      await receiving(channel, stored).up();
      const [gate, requests] = [Promise.withResolvers<void>(), { count: 0 }];
      const slow = bot.file("slow.txt", async function* () {
        yield Buffer.from("a");
        if (++requests.count === 1) await gate.promise;
      });
      bot.say("with a file", { with: { attachments: [slow] } });
      await until(() => requests.count === 1);
      const server = bot.channel();
      bot.say("first here", { channel: server });
      await until(() => Object.keys(stored.position ?? {}).includes(server));
      // What the killed one would still have stored does not count.
      const next = await nodeOf(fake, bot);
      receiving(next.channel, structuredClone(stored));
      await until(() => next.accepted.length === 2);
      expect(textsIn(next.accepted)).toEqual(["with a file", "first here"]);
      gate.resolve();
    });

    it("nothing more, but again later, where it cannot store that a channel is a new one", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      const stored: Stored = {};
      const first = receiving(channel, stored);
      await first.up();
      const gate = Promise.withResolvers<void>();
      handlers.message = () => gate.promise;
      bot.say("being taken");
      await until(() => bot.state.gateway.open === 1);
      stored.fails = true;
      bot.say("first here", { channel: bot.channel() });
      expect(await first.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      gate.resolve();
      stored.fails = false;
      handlers.message = async () => undefined;
      await receiving(channel, stored).up();
      await until(() => textsIn(accepted).includes("first here"));
    });

    it("again a message that could not be stored, in its order, and not what was taken before", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      const stored: Stored = {};
      const first = receiving(channel, stored);
      await first.up();
      bot.say("zero");
      await until(() => accepted.length === 1);
      handlers.message = unavailable;
      bot.say("one");
      bot.say("two");
      const server = bot.channel();
      bot.say("new conversation", { channel: server });
      expect(await first.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      const second = receiving(channel, stored);
      expect(await second.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      // It works only where messages are taken.
      expect([second.states, textsOf(bot)]).toEqual([[], []]);
      handlers.message = async () => undefined;
      await receiving(channel, stored).up();
      await until(() => accepted.length >= 4);
      expect(textsIn(accepted).toSorted()).toEqual(["new conversation", "one", "two", "zero"]);
      expect(textsIn(accepted.filter(({ address }) => address.conversation === bot.direct))).toEqual([
        "zero",
        "one",
        "two",
      ]);
      // A failure of the store begins no new sessions, of which there are only so many a day.
      expect(bot.state.gateway).toMatchObject({ identified: 1, most: 1 });
    });

    it("counts as connected only when a message is taken", async () => {
      const { bot, channel, handlers } = await connected();
      handlers.message = async () => {
        await until(() => bot.state.commands.length > 0);
        await sleep(50);
        await unavailable();
      };
      bot.say("one");
      const { failed, states } = receiving(channel, { position: { [bot.direct]: "1" } });
      expect(await failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      expect(states).toEqual([]);
    });

    it("again what it was taking when it ended, under the same key", async () => {
      const { fake, bot, channel, accepted, handlers } = await connected();
      const stored: Stored = {};
      const first = receiving(channel, stored);
      await first.up();
      const held = Promise.withResolvers<void>();
      const entered = Promise.withResolvers<void>();
      handlers.message = async ({ text }) => {
        if (text !== "two") return;
        entered.resolve();
        await held.promise;
      };
      bot.say("one");
      bot.say("two");
      await entered.promise;
      await first.end();
      // It is durable after all.
      held.resolve();
      const other = await nodeOf(fake, bot);
      await receiving(other.channel, stored).up();
      await until(() => accepted.length === 2 && other.accepted.length === 1);
      expect(other.accepted[0]?.externalId).toBe(accepted[1]?.externalId);
      expect(bot.state.gateway.most).toBe(1);
    });

    it("runs no command twice where the position could not be stored", async () => {
      const { bot, channel, commands } = await connected();
      const stored: Stored = {};
      const { up, failures } = always(channel, stored);
      await up();
      stored.fails = true;
      bot.say("/new");
      await until(() => failures.length > 0);
      stored.fails = false;
      bot.say("/status");
      await until(() => commands.length >= 2);
      expect(commands.map(({ line }) => line)).toEqual(["/new", "/status"]);
      await until(() => Object.keys(stored.position ?? {}).length === 1);
    });

    it("tells the owner why a message is refused for good, and goes on", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      handlers.message = async ({ text }) => {
        if (text === "ok") return;
        throw new RuntimeError("RUNTIME_AGENT_UNKNOWN", 'There is no agent "x".', { hint: "Agents: main." });
      };
      await receiving(channel).up();
      const { id } = bot.say("bad");
      bot.say("ok");
      await until(() => accepted.length === 1 && bot.sent().length === 1);
      expect(bot.sent()).toMatchObject([{ content: 'There is no agent "x". Agents: main.', replyTo: id }]);
    });

    it("a message that was edited or deleted while it waited, as it was, and once", async () => {
      const { bot, channel, accepted, handlers } = await connected();
      await receiving(channel).up();
      const held = Promise.withResolvers<void>();
      handlers.message = () => held.promise;
      bot.say("first");
      const edited = bot.say("second");
      edited.content = "changed";
      bot.event("MESSAGE_UPDATE", { id: edited.id, channel_id: bot.direct, content: "changed" });
      const deleted = bot.say("third");
      deleted.deleted = true;
      bot.event("MESSAGE_DELETE", { id: deleted.id, channel_id: bot.direct });
      held.resolve();
      bot.say("fourth");
      await until(() => accepted.length === 4);
      expect(textsIn(accepted)).toEqual(["first", "second", "third", "fourth"]);
    });

    it("in the order of each conversation, all of a burst, once", async () => {
      const { bot, channel, accepted } = await connected();
      const { failures, up } = always(channel);
      await up();
      const channels = Array.from({ length: 50 }, () => bot.channel());
      for (let n = 0; n < 5_000; n++) bot.say(`${n}`, { channel: channels[n % 50] ?? "" });
      await until(() => accepted.length >= 5_000);
      const byChannel = Map.groupBy(accepted, ({ address }) => address.conversation);
      expect(byChannel.size).toBe(50);
      for (const messages of byChannel.values()) {
        const numbers = messages.map(({ text }) => Number(text));
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      }
      expect(new Set(accepted.map(({ externalId }) => externalId)).size).toBe(5_000);
      expect(failures).toEqual([]);
    });

    it("lives through what the platform never sends", async () => {
      const { bot, channel, accepted } = await connected();
      const { up, failures } = always(channel);
      await up();
      const message = { id: "1", channel_id: bot.direct, author: { id: OWNER }, content: "x", type: 0 };
      const unusual = [
        {},
        { id: "1" },
        { ...message, id: 7 },
        { ...message, id: "seven" },
        { ...message, channel_id: null },
        { ...message, author: null },
        { ...message, content: null },
        { ...message, timestamp: "yesterday", id: "2" },
        { ...message, attachments: "none", id: "3" },
        { ...message, attachments: [null, 7, { url: 1 }], id: "4" },
        { ...message, type: "0", id: "5" },
      ];
      for (const data of unusual) bot.event("MESSAGE_CREATE", data);
      const user = { user: { id: OWNER }, channel: { id: bot.direct } };
      for (const data of [
        {},
        { type: 3, ...user },
        { type: 3, ...user, data: { custom_id: 7 } },
        { type: 2, ...user },
      ]) {
        bot.event("INTERACTION_CREATE", data);
      }
      bot.event("SOMETHING_NEW", { a: 1 });
      for (const data of [null, undefined, 7, "x"]) bot.event("MESSAGE_CREATE", data as never);
      bot.order(99, { unknown: true });
      bot.say("after all");
      await until(() => accepted.some(({ text }) => text === "after all"));
      expect(failures).toEqual([]);
    });
  });

  describe("stays connected", () => {
    it("whatever its gateway says, and takes the message behind it", async () => {
      const { fake, bot, channel, accepted, handlers } = await connected();
      channel.onStranger?.(async (stranger) => {
        // As the store does, which would refuse anything else.
        for (const value of [stranger.user, stranger.name]) expect(value).toBeTypeOf("string");
        return { admitted: true };
      });
      const { up, failures } = always(channel);
      await up();
      const message = {
        id: "1000000000000000001",
        channel_id: bot.direct,
        author: { id: OWNER, username: "owner", global_name: "The Owner" },
        content: "hello",
        timestamp: "2026-01-01T00:00:00.000Z",
        type: 0,
        attachments: [{ id: "1", url: `${fake.url}/none`, filename: "a.txt", size: 1, content_type: "text/plain" }],
        embeds: [],
      };
      const user = { user: { id: OWNER }, channel: { id: bot.direct }, id: "1", application_id: "1", token: "t" };
      const options = [{ type: 3, name: "text", value: "now" }];
      const interactions = [
        { type: 2, ...user, data: { type: 1, name: "stop", options } },
        { type: 3, ...user, message: { id: "2" }, data: { custom_id: "answer:q-1:yes" } },
      ];
      handlers.message = async ({ address, text, sentAt }) => {
        for (const value of [address.conversation, address.user, text]) expect(value).toBeTypeOf("string");
        expect(sentAt).toMatch(/^\d{4}-.*Z$/);
      };
      const right = [
        { ...message, attachments: [] },
        { ...message, poll: {}, attachments: [], content: "/stop" },
      ];
      const messages = fc.sample(nearly([...right, { ...message, author: { id: STRANGER } }]), 300);
      // Each is another one.
      messages.forEach((data, index) => {
        const isMessage = typeof data === "object" && data !== null && "id" in data && data.id === message.id;
        bot.event(
          "MESSAGE_CREATE",
          isMessage ? { ...data, id: `${2_000_000_000_000_000_000n + BigInt(index)}` } : (data as never),
        );
      });
      for (const data of fc.sample(nearly(interactions), 200)) bot.event("INTERACTION_CREATE", data as never);
      for (const data of fc.sample(fc.jsonValue(), 50)) bot.event("SOMETHING_NEW", data as never);
      bot.say("after all", { channel: bot.channel() });
      await until(() => failures.length > 0 || textsIn(accepted).includes("after all"));
      expect(failures).toEqual([]);
    });

    it("by resuming a session that was broken off, without a loss and without a new one", async () => {
      const { bot, channel, accepted } = await connected();
      bot.state.gateway.heartbeatMs = 20;
      const { up, failed } = receiving(channel);
      await up();
      // Discord's own request, and a connection that breaks without a word.
      for (const [index, breaking] of [() => bot.order(7, null), () => bot.cut()].entries()) {
        const beats = bot.state.gateway.heartbeats;
        await until(() => bot.state.gateway.heartbeats > beats + 2);
        breaking();
        bot.say(`meanwhile ${index}`);
        await until(() => bot.state.gateway.resumed === index + 1 && accepted.length === index + 1);
      }
      expect(textsIn(accepted)).toEqual(["meanwhile 0", "meanwhile 1"]);
      expect(bot.state.gateway).toMatchObject({ identified: 1, open: 1, most: 1 });
      expect(await Promise.race([failed, "it goes on"])).toBe("it goes on");
    });

    it("by resuming after a pause where a connection did not last", async () => {
      const { bot, channel, accepted } = await connected();
      const { up, failures } = always(channel);
      await up();
      bot.disconnect(4_000);
      bot.say("meanwhile");
      await until(() => accepted.length === 1 && bot.state.gateway.resumed === 1);
      expect(failures).toMatchObject([{ message: "Discord's gateway has closed the connection (4000)." }]);
      expect(bot.state.gateway.identified).toBe(1);
    });

    it("by a new session where the former one has ended, and reads what it has missed", async () => {
      const { bot, channel, accepted } = await connected();
      const { up, failures } = always(channel);
      await up();
      // Known no more: after a long pause, for instance.
      for (const session of bot.state.sessions.values()) session.socket?.close(4_000);
      bot.state.sessions.clear();
      bot.say("missed");
      await until(() => accepted.length === 1);
      bot.order(9, false);
      bot.say("missed too", { isUnheard: true });
      await until(() => accepted.length === 2);
      bot.disconnect(4_009);
      bot.say("and again", { isUnheard: true });
      await until(() => accepted.length === 3);
      expect(textsIn(accepted)).toEqual(["missed", "missed too", "and again"]);
      expect(bot.state.gateway.identified).toBe(4);
      expect(failures.at(-1)?.message).toBe("Discord's gateway has closed the connection (4009).");
      const pauses = failures.flatMap((error) =>
        error instanceof ChannelError && error.message.includes("another one begins")
          ? [error.details.retryAfterS]
          : [],
      );
      expect(pauses.length).toBeGreaterThan(0);
      for (const seconds of pauses) {
        expect(seconds).toBeGreaterThanOrEqual(1);
        expect(seconds).toBeLessThanOrEqual(5);
      }
    });

    it("by giving up a connection that acknowledges no heartbeats", async () => {
      const { bot, channel, accepted } = await connected();
      bot.state.gateway.heartbeatMs = 20;
      const { up, failures } = always(channel);
      await up();
      bot.state.gateway.isZombie = true;
      await until(() => failures.length > 0 || bot.state.gateway.resumed > 0);
      bot.state.gateway.isZombie = false;
      bot.say("after all");
      await until(() => accepted.length === 1);
      expect(failures.every(({ message }) => message === "Discord's gateway acknowledges no heartbeats.")).toBe(true);
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
      bot.state.refuse = ({ path }) => (path === "/gateway/bot" ? new Refusal(500, 0, "Internal") : undefined);
      await fails();
      bot.state.refuse = undefined;
      bot.state.gateway.refusedIntents = 1 << 15;
      await fails();
      bot.state.gateway.refusedIntents = 0;
      bot.state.starts = 0;
      await fails();
      bot.state.starts = 10;
      const { up, end } = receiving(channel);
      await up();
      bot.state.refuse = ({ method, path }) =>
        method === "POST" && path.endsWith("/messages") ? new Refusal(403, 50_013, "Missing Permissions") : undefined;
      const { id } = bot.interact({ type: 2, data: { type: 1, name: "status" } });
      bot.say("/status");
      await until(() => commands.length === 2 && log.some((line) => line.includes("could not be sent")));
      await end();
      bot.state.refuse = undefined;
      bot.revoke();
      await fails();
      expect(failures).toEqual([
        expect.stringMatching(/^Discord cannot be reached \(\w+\)\.$/),
        "Discord answers 502.",
        "Discord answers 500.",
        expect.stringContaining("switch on Message Content Intent"),
        expect.stringContaining("Discord lets the bot begin no session for 10 min"),
        expect.stringContaining("Discord refuses the bot's token"),
      ]);
      const all = [...failures, ...log].join("\n");
      for (const { token } of bot.state.interactions) expect(all).not.toContain(token);
      expect([all.includes(bot.token), all.includes(bot.token.split(".")[2] ?? ""), id === ""]).toEqual([
        false,
        false,
        false,
      ]);
    });

    it.each([
      ["the gateway's address", "/gateway/bot"],
      ["the owner's conversation", "/users/@me/channels"],
    ])("ends with the pause that Discord asks for before it gives %s", async (_what, refused) => {
      const { bot, channel } = await connected();
      bot.state.refuse = ({ path }) => (path === refused ? tooMany(3_000) : undefined);
      expect(await receiving(channel).failed).toMatchObject({
        code: "CHANNEL_CONNECTION_LOST",
        message: expect.stringMatching(/asks for a pause of 300[01] s/),
        details: { retryAfterS: expect.closeTo(3_000, -1) },
      });
    });

    it("refused by the gateway alone, it says so too", async () => {
      const { bot, channel } = await connected();
      const first = receiving(channel);
      await first.up();
      bot.disconnect(4_004);
      expect(await first.failed).toMatchObject({ message: expect.stringContaining("refuses the bot's token") });
    });

    it("ends at once, whatever it waits for: the store, a file, or a gateway that says nothing", async () => {
      const { fake, bot, channel, handlers } = await connected();
      const entered = Promise.withResolvers<void>();
      handlers.message = () => {
        entered.resolve();
        return new Promise(() => undefined);
      };
      const first = receiving(channel);
      await first.up();
      bot.say("hello");
      await entered.promise;
      await first.end();
      const began = Promise.withResolvers<void>();
      const slow = bot.file("slow.txt", async function* () {
        yield Buffer.from("x");
        began.resolve();
        await new Promise(() => undefined);
      });
      bot.say("slow", { with: { attachments: [slow] } });
      handlers.message = async () => undefined;
      const second = receiving(channel);
      await began.promise;
      await second.end();
      fake.fault = "silent";
      const third = receiving(channel);
      await third.end();
      expect(bot.state.gateway.open).toBe(0);
    });

    it("survives its end while it connects, and what comes of that", async () => {
      const { fake, bot, channel } = await connected();
      await receiving(channel).end();
      bot.state.refuse = ({ path }) => {
        if (path === "/gateway/bot") fake.fault = "silent";
        return undefined;
      };
      const { end } = receiving(channel);
      await until(() => fake.fault === "silent");
      await end();
      await fake.close();
    });

    it("says nothing more to Discord where another node may receive already", async () => {
      const { bot, channel, handlers } = await connected();
      const stored: Stored = {};
      const { up, end } = receiving(channel, stored);
      await up();
      const entered = Promise.withResolvers<void>();
      handlers.message = () => {
        entered.resolve();
        return new Promise(() => undefined);
      };
      bot.say("one", { channel: bot.channel() });
      await entered.promise;
      stored.position = "another node's";
      await end(new RuntimeError("RUNTIME_LEASE_LOST", "Another node receives."));
      await until(() => bot.state.gateway.open === 0);
      // Its session was not ended, and nothing was stored.
      expect([bot.state.sessions.size, stored.position]).toEqual([1, "another node's"]);
    });

    it("forgets a channel that is gone, and reads the others", async () => {
      const { bot, channel, accepted, stored, server } = await stoppedOnServer();
      bot.say("missed");
      bot.state.channels.delete(server);
      const second = receiving(channel, stored);
      await second.up();
      // Behind all that was missed.
      bot.say("live");
      await until(() => accepted.length === 3);
      await second.end();
      expect(Object.keys(stored.position ?? {})).toEqual([bot.direct]);
    });

    it("reads what it has missed in a channel that was closed to it, when it is let in again", async () => {
      const { bot, channel, accepted, stored, server } = await stoppedOnServer();
      bot.say("missed", { channel: server });
      const there = bot.state.channels.get(server);
      if (there === undefined) throw new Error("There is no such channel.");
      there.isClosed = true;
      const second = receiving(channel, stored);
      await second.up();
      bot.say("live");
      await until(() => accepted.length === 2);
      await second.end();
      there.isClosed = false;
      await receiving(channel, stored).up();
      await until(() => accepted.length === 3);
      expect(accepted.map(({ text }) => text)).toEqual(["here", "live", "missed"]);
    });

    it("reads what it has missed there also on the same connection, before the next message", async () => {
      const { bot, channel, accepted, stored, server } = await stoppedOnServer();
      const there = bot.state.channels.get(server);
      if (there === undefined) throw new Error("There is no such channel.");
      there.isClosed = true;
      await receiving(channel, stored).up();
      bot.say("live");
      await until(() => accepted.length === 2);
      bot.say("missed", { channel: server, isUnheard: true });
      there.isClosed = false;
      bot.say("next", { channel: server });
      await until(() => accepted.length === 4);
      expect(accepted.map(({ text }) => text)).toEqual(["here", "live", "missed", "next"]);
    });

    it("reads on behind a page that holds nothing for an agent", async () => {
      const { bot, channel, accepted, stored, server } = await stoppedOnServer();
      for (let at = 0; at < 100; at += 1) bot.say("", { channel: server, with: { content: null } });
      bot.say("behind them", { channel: server });
      await receiving(channel, stored).up();
      await until(() => accepted.length === 2);
      expect(accepted.at(-1)?.text).toBe("behind them");
    });
  });

  describe("takes commands", () => {
    it("and answers them again where Discord does not answer", async () => {
      const { bot, channel, handlers } = await connected();
      handlers.command = async ({ line }) => ({ text: `did ${line}` });
      await receiving(channel).up();
      const refusals = [new Refusal(500, 0, "Internal Server Error")];
      bot.state.refuse = ({ method }) => (method === "POST" ? refusals.shift() : undefined);
      bot.say("/stop");
      bot.say("/status");
      await until(() => textsOf(bot).length === 2);
      expect([textsOf(bot), refusals]).toEqual([["did /stop", "did /status"], []]);
    });

    it("and goes on with the rest of an answer of several messages where one of them fails", async () => {
      const { fake, bot, channel, handlers } = await connected();
      const text = Array.from({ length: 700 }, (_, n) => `word${n}`).join(" ");
      handlers.command = async ({ line }) => ({ text: line === "/status" ? text : "last" });
      await receiving(channel).up();
      const refusals = [new Refusal(500, 0, "Internal Server Error")];
      let lost = 0;
      bot.state.refuse = ({ method }) => {
        const refusal = method === "POST" && bot.sent().length === 1 ? refusals.shift() : undefined;
        // Of the last one the connection breaks before Discord says that it has it.
        fake.fault = method === "POST" && bot.sent().length === 2 && lost++ === 0 ? "unanswered" : "none";
        return refusal;
      };
      bot.say("/status");
      bot.say("/stop");
      await until(() => textsOf(bot).at(-1) === "last");
      expect(textsOf(bot).join(" ")).toBe(`${text} last`);
      expect(refusals).toEqual([]);
    });

    it("as text, and answers them, and says what is wrong with one", async () => {
      const { bot, channel, commands, accepted, handlers } = await connected();
      handlers.command = async ({ line }) => {
        if (line === "/dance") {
          throw new RuntimeError("RUNTIME_COMMAND_UNKNOWN", "There is no command /dance.", {
            hint: "Commands: /stop.",
          });
        }
        return { text: `did ${line}` };
      };
      await receiving(channel).up();
      for (const line of ["/think high", `<@${bot.state.me.id}> /stop`, "/dance", "/help", "/etc/hosts is a file"]) {
        bot.say(line);
      }
      await until(() => bot.sent().length === 4 && accepted.length === 1);
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
      expect(textsIn(accepted)).toEqual(["/etc/hosts is a file"]);
    });

    it("from Discord's menu, which it writes where it is another one", async () => {
      const { fake, bot, channel, commands, handlers } = await connected();
      await receiving(channel).up();
      await until(() => bot.state.commands.length > 0);
      expect(bot.state.commands).toContainEqual(
        expect.objectContaining({
          name: "think",
          options: [{ type: 3, name: "text", description: "[off|low|medium|high]", required: false }],
        }),
      );
      handlers.command = async ({ line }) => ({ text: `did ${line}` });
      const options = [{ type: 3, name: "text", value: "high" }];
      const used = bot.interact({ type: 2, data: { type: 1, name: "think", options } });
      await until(() => used.answer === "did /think high");
      expect(commands.map(({ line, address }) => [line, address.conversation])).toEqual([["/think high", bot.direct]]);
      const written = () =>
        bot.state.calls.filter(({ method, path }) => method === "PUT" && path.endsWith("/commands"));
      const other = await nodeOf(fake, bot);
      await receiving(other.channel).up();
      await until(() => bot.state.calls.filter(({ path }) => path.endsWith("/commands")).length >= 3);
      expect(written()).toHaveLength(1);
    });

    it("and says where the menu could not be written, and receives all the same", async () => {
      const { bot, channel } = await connected();
      bot.state.refuse = ({ path }) =>
        path.endsWith("/commands") ? new Refusal(403, 50_001, "Missing Access") : undefined;
      const { states } = receiving(channel);
      const problem = "the menu of commands could not be set: Discord answers 403: Missing Access (50001).";
      await until(() => states.includes(problem));
    });

    it("from buttons of questions, pressed by the owner, once, and for the question that they stand at", async () => {
      const { bot, channel, commands, handlers } = await connected();
      await receiving(channel).up();
      const question = {
        id: "q-1",
        text: "Which?",
        choices: ["red", "blue: dark"],
        expires_at: "2030-01-01T00:00:00Z",
      };
      await channel.send(reply(bot, "Which?", { question }));
      const [asked] = bot.sent();
      expect(asked?.content).toBe("Which?\n\nAnswer with\n/answer red\n/answer blue: dark");
      const [row] = (asked?.components ?? []) as readonly { readonly components: readonly Record<string, string>[] }[];
      expect(row?.components.map(({ label }) => label)).toEqual(["red", "blue: dark"]);
      const data = { custom_id: row?.components[1]?.["custom_id"], component_type: 2 };
      const press = { type: 3, data, message: { id: asked?.id } };
      bot.interact(press, STRANGER);
      // It waits no more: what was pressed stays, and says why.
      handlers.command = async () => {
        throw new RuntimeError("RUNTIME_CONFLICT", "The question was answered already.");
      };
      const late = bot.interact(press);
      await until(() => late.answer === "The question was answered already.");
      expect(asked?.components).toHaveLength(1);
      handlers.command = async () => ({ text: "done", data: { answered: true } });
      const pressed = bot.interact(press);
      await until(() => pressed.answer === "done" && asked?.components.length === 0);
      expect(commands.map(({ line, question: id }) => [line, id])).toEqual([
        ["/answer blue: dark", "q-1"],
        ["/answer blue: dark", "q-1"],
      ]);
    });

    it("from buttons, which it answers again where Discord asks for a pause, or does not answer", async () => {
      const { fake, bot, channel, commands, handlers } = await connected();
      await receiving(channel).up();
      const question = { id: "q-1", text: "Which?", choices: ["red"], expires_at: "2030-01-01T00:00:00Z" };
      await channel.send(reply(bot, "Which?", { question }));
      const [asked] = bot.sent();
      handlers.command = async () => ({ text: "done", data: { answered: true } });
      const failing = () => new Refusal(500, 0, "Internal Server Error");
      const refusals = new Map([
        ["@original", [tooMany(1), failing()]],
        [asked?.id, [failing()]],
      ]);
      let lost = 0;
      bot.state.refuse = ({ path }) => {
        const last = path.split("/").at(-1);
        const refusal = refusals.get(last)?.shift();
        // Discord has taken it, and the connection breaks before it says so.
        fake.fault = refusal === undefined && last === "callback" && lost++ === 0 ? "unanswered" : "none";
        return refusal;
      };
      const data = { custom_id: "answer:q-1:red", component_type: 2 };
      const pressed = bot.interact({ type: 3, data, message: { id: asked?.id } });
      await until(() => pressed.answer === "done" && asked?.components.length === 0);
      expect(commands.map(({ line }) => line)).toEqual(["/answer red"]);
      expect([...refusals.values()].flat()).toEqual([]);
    });

    it("from buttons and the menu whose confirmation was not heard, since Discord shows that they are worked on", async () => {
      const { fake, bot, channel, commands } = await connected();
      await receiving(channel).up();
      bot.state.refuse = ({ path }) => {
        fake.fault = path.endsWith("/callback") ? "unanswered" : "none";
        return undefined;
      };
      const pressed = bot.interact({ type: 2, data: { type: 1, name: "status" } });
      await until(() => pressed.answer === "done");
      expect(commands.map(({ line }) => line)).toEqual(["/status"]);
    });

    it("from no button that Discord has certainly not taken the answer of, though another attempt was not heard", async () => {
      const { fake, bot, channel, commands, log } = await connected();
      await receiving(channel).up();
      let attempts = 0;
      bot.state.refuse = ({ path }) => {
        if (!path.endsWith("/callback")) return undefined;
        fake.fault = ++attempts === 1 ? "unanswered" : "none";
        return attempts === 1
          ? new Refusal(500, 0, "Internal Server Error")
          : new Refusal(404, 10_062, "Unknown interaction");
      };
      const data = { custom_id: "answer:q-1:red", component_type: 2 };
      bot.interact({ type: 3, data, message: { id: "1" } });
      await until(() => log.some((line) => line.includes("an interaction could not be answered")));
      expect([attempts, commands]).toEqual([2, []]);
    });

    it("from no button that Discord shows as failed: where it could not be told in time that it is worked on", async () => {
      const { bot, channel, commands, log } = await connected();
      await receiving(channel).up();
      bot.state.refuse = ({ path }) =>
        path.endsWith("/callback") ? new Refusal(500, 0, "Internal Server Error") : undefined;
      const data = { custom_id: "answer:q-1:red", component_type: 2 };
      bot.interact({ type: 3, data, message: { id: "1" } });
      await until(() => log.some((line) => line.includes("an interaction could not be answered")));
      expect(commands).toEqual([]);
    });

    it("from buttons and the menu also of those who are admitted, as another user's, and not of strangers", async () => {
      const { bot, channel, commands, handlers } = await connected();
      const admitted = "100000000000000003";
      const asked: Stranger[] = [];
      channel.onStranger?.(async (stranger) => {
        asked.push(stranger);
        return stranger.user === admitted ? { admitted: true } : { admitted: false, code: null };
      });
      await receiving(channel).up();
      const server = bot.channel();
      const press = { type: 3, data: { custom_id: "answer:q-1:red", component_type: 2 }, message: { id: "1" } };
      const menu = { type: 2, data: { type: 1, name: "stop" } };
      const refused = { type: 3, data: { custom_id: "decide:q-1:approve", component_type: 2 }, message: { id: "1" } };
      handlers.command = async ({ line, owner }) => {
        if (!owner && line.startsWith("/approve"))
          throw new RuntimeError("RUNTIME_FORBIDDEN", "Only the owner decides.");
        return { text: `did ${line}` };
      };
      const strangers = [press, menu, refused].map((one) => bot.interact(one, STRANGER, server));
      const others = [press, menu, refused].map((one) => bot.interact(one, admitted, server));
      await until(() => others.every(({ answer }) => answer));
      expect(others.map(({ answer }) => answer)).toEqual(["did /answer red", "did /stop", "Only the owner decides."]);
      const address = { channel: "discord", conversation: server, user: admitted };
      expect(commands).toMatchObject([
        { line: "/answer red", question: "q-1", owner: false, address },
        { line: "/stop", owner: false, address },
        { line: "/approve q-1", owner: false, address },
      ]);
      // A code would be shown to all.
      expect(asked.every(({ mayAsk }) => !mayAsk)).toBe(true);
      await until(() => asked.length === 6);
      expect([strangers.map(({ answer }) => answer), textsOf(bot)]).toEqual([[undefined, undefined, undefined], []]);
    });

    it("of the owner, however many others press", async () => {
      const { bot, channel, commands } = await connected();
      channel.onStranger?.(() => new Promise(() => undefined));
      await receiving(channel).up();
      const press = { type: 3, data: { custom_id: "answer:q-1:red", component_type: 2 }, message: { id: "1" } };
      for (let n = 0; n < 200; n++) bot.interact(press, STRANGER);
      const pressed = bot.interact(press);
      await until(() => pressed.answer === "done");
      expect(commands).toHaveLength(1);
    });

    it("of those who are admitted, however often one stranger presses", async () => {
      const { bot, channel, commands } = await connected();
      channel.onStranger?.(({ user }) =>
        user === STRANGER ? new Promise(() => undefined) : Promise.resolve({ admitted: true }),
      );
      await receiving(channel).up();
      const press = { type: 3, data: { custom_id: "answer:q-1:red", component_type: 2 }, message: { id: "1" } };
      for (let n = 0; n < 200; n++) bot.interact(press, STRANGER);
      const pressed = bot.interact(press, "100000000000000003");
      await until(() => pressed.answer === "done");
      expect(commands).toHaveLength(1);
    });

    it("from buttons of approvals, pressed by the owner alone, which name what they approve", async () => {
      const { bot, channel, commands, handlers } = await connected();
      await receiving(channel).up();
      const question = {
        id: "01a2f3c4-0000-7000-8000-00005f3a91c2",
        text: "Approve?",
        choices: [],
        expires_at: "2030-01-01T00:00:00Z",
        approval: { tool: "shell", call: "command: make deploy", reason: "a rule", digest: "d" },
      };
      await channel.send(reply(bot, "Approve?", { question }));
      const [asked] = bot.sent();
      expect(asked?.content).toBe(
        "Approve?\n\nDecide until 2030-01-01 00:00 UTC, or it is refused:\n" +
          "/approve 5f3a91c2\n/deny 5f3a91c2\n/approve 5f3a91c2 always",
      );
      const [row] = (asked?.components ?? []) as readonly { readonly components: readonly Record<string, string>[] }[];
      const press = (custom_id: string | undefined) => ({
        type: 3,
        data: { custom_id, component_type: 2 },
        message: { id: asked?.id },
      });
      handlers.command = async () => ({ text: "done", data: { answered: true } });
      const strangers = row?.components.map(({ custom_id }) => bot.interact(press(custom_id), STRANGER));
      bot.interact(press("decide:q-1:everything"));
      for (const { custom_id } of row?.components ?? []) {
        const pressed = bot.interact(press(custom_id));
        await until(() => pressed.answer === "done");
      }
      expect(strangers?.map(({ answer }) => answer)).toEqual([undefined, undefined, undefined]);
      expect(commands.map(({ line, question: id, owner }) => [line, id, owner])).toEqual([
        ["/approve 01a2f3c4-0000-7000-8000-00005f3a91c2", undefined, true],
        ["/deny 01a2f3c4-0000-7000-8000-00005f3a91c2", undefined, true],
        ["/approve 01a2f3c4-0000-7000-8000-00005f3a91c2 always", undefined, true],
      ]);
      await until(() => asked?.components.length === 0);
    });

    it("and offers no buttons where a choice is too long for one", async () => {
      const { bot, channel } = await connected();
      const question = {
        id: "q".repeat(36),
        text: "Which?",
        choices: ["x".repeat(60)],
        expires_at: "2030-01-01T00:00:00Z",
      };
      await channel.send(reply(bot, "Which?", { question }));
      expect(bot.sent()[0]?.components).toEqual([]);
    });
  });

  describe("takes files", () => {
    it("of each kind, with their text, all of a message", async () => {
      const { bot, channel, accepted } = await connected();
      await receiving(channel).up();
      const photo = bot.file("a.png", () => [Buffer.from("abc")]);
      const text = bot.file("b.txt", () => [Buffer.from("de")]);
      const attachments = [
        { ...photo, content_type: "image/png" },
        { ...text, content_type: "text/plain; charset=utf-8" },
      ];
      bot.say("two files", { with: { attachments } });
      await until(() => accepted.length === 1);
      expect(accepted[0]?.attachments).toEqual([
        { name: "a.png", mediaType: "image/png", data: Buffer.from("abc").toString("base64") },
        { name: "b.txt", mediaType: "text/plain", data: Buffer.from("de").toString("base64") },
      ]);
    });

    it("up to 25 MB, whatever was said about their size: the text goes in without what is larger", async () => {
      const { bot, channel, accepted } = await connected();
      await receiving(channel).up();
      const piece = Buffer.alloc(1024 ** 2);
      const honest = bot.file("honest", () => [piece], 2 * 1024 ** 3);
      const endless = bot.file("endless", function* () {
        for (;;) yield piece;
      });
      const gone = {
        ...bot.file("gone", () => []),
        url: String(bot.file("x", () => []).url).replace("/cdn/", "/none/"),
      };
      for (const file of [honest, endless, gone]) bot.say("look", { with: { attachments: [file] } });
      bot.say("", { with: { sticker_items: [{ id: "1", name: "wave" }] } });
      await until(() => bot.sent().length === 4);
      expect(accepted.map(({ text, attachments }) => [text, attachments])).toEqual(Array(3).fill(["look", undefined]));
      expect(textsOf(bot)).toEqual([
        "A message may bring files of 25 MB in all; not taken: honest.",
        "A message may bring files of 25 MB in all; not taken: endless.",
        "Discord does not give out the file gone.",
        "Agents are given text, pictures, recordings and files, and nothing else.",
      ]);
    });

    it("again where they could not be fetched, and lets no message wait for them for ever", async () => {
      const { bot, channel, accepted } = await connected();
      const { up, failures } = always(channel);
      await up();
      const broken = bot.file("broken", () => {
        throw new Error("the file's server fails");
      });
      let attempts = 0;
      const late = bot.file("late", async function* () {
        if (++attempts < 3) throw new Error("not yet");
        yield Buffer.from("here");
      });
      bot.say("one", { with: { attachments: [late] } });
      await until(() => accepted.length === 1);
      bot.say("two", { with: { attachments: [broken] } });
      await until(() => accepted.length === 2 && bot.sent().length === 1);
      expect(accepted.map(({ text, attachments }) => [text, attachments?.length])).toEqual([
        ["one", 1],
        ["two", undefined],
      ]);
      expect(failures.length).toBe(2 + 7);
      expect(textsOf(bot)).toEqual(["A file could not be fetched from Discord."]);
    });
  });

  describe("sends", () => {
    it("a long text in parts that Discord takes, within its limits, and goes on with the rest after a failure", async () => {
      const { bot, channel } = await connected();
      const text = Array.from({ length: 2_000 }, (_, n) => `word${n}`).join(" ");
      const kept: unknown[] = [];
      bot.state.refuse = ({ path }) =>
        path.endsWith("/messages") && bot.sent().length === 6 ? new Refusal(500, 0, "Internal") : undefined;
      const keep = async (sent: unknown): Promise<void> => void kept.push(sent);
      await expect(channel.send(reply(bot, text), keep)).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      const [primary = "", ...overflow] = bot.sent().map(({ id }) => id);
      expect(kept.at(-1)).toEqual({ primary, overflow });
      bot.state.refuse = undefined;
      await channel.send(reply(bot, text, { sent: { primary, overflow } }), keep);
      expect(textsOf(bot).join(" ")).toBe(text);
      expect(bot.state.limit.refused).toBe(0);
    });

    it("a code block that goes on in the next message, and no empty ones", async () => {
      const { bot, channel } = await connected();
      await channel.send(reply(bot, `Here:\n\n\`\`\`ts\n${"const a = 1;\n".repeat(300)}\`\`\`\n${"\n".repeat(3_000)}`));
      const texts = textsOf(bot);
      expect(texts.length).toBeGreaterThan(1);
      expect(texts.slice(1).every((text) => text.startsWith("```ts\n"))).toBe(true);
      expect(texts.every((text) => text.split("```").length % 2 === 1)).toBe(true);
      expect(await channel.send(reply(bot, " \n "))).toBeNull();
    });

    it("notifies nobody, and answers the message that it answers, also where that is gone", async () => {
      const { bot, channel } = await connected();
      const asked = bot.say("asked");
      await channel.send(reply(bot, "@everyone see <@1>", { replyTo: asked.id }));
      asked.deleted = true;
      await channel.send(reply(bot, "again", { replyTo: asked.id, turnId: "u", notice: "It was interrupted." }));
      await channel.edit?.(bot.direct, bot.sent()[0]?.id ?? "", "@here");
      expect(bot.sent().map(({ content, replyTo }) => [content, replyTo])).toEqual([
        ["@here", asked.id],
        ["again\n\nIt was interrupted.", undefined],
      ]);
      const written = bot.state.calls.filter(({ method, path }) => method !== "GET" && path.includes("/messages"));
      expect(written).toHaveLength(3);
      for (const { body } of written) expect(body["allowed_mentions"]).toEqual({ parse: [], replied_user: false });
    });

    it("no part twice where a crash has lost that it was sent, and every message of a turn", async () => {
      const { bot, channel } = await connected();
      const question = { id: "q", text: "Sure?", choices: [], expires_at: "2030-01-01T00:00:00Z" };
      const first = await channel.send(reply(bot, "Sure?", { question }));
      expect(await channel.send(reply(bot, "Sure?", { question }))).toEqual(first);
      await channel.send(reply(bot, "Sure?"));
      await channel.send(reply(bot, "Sure?", { turnId: "another" }));
      expect(textsOf(bot)).toEqual(["Sure?\n\nAnswer with\n/answer TEXT", "Sure?", "Sure?"]);
    });

    it("a note where Discord cannot tell any more that a part is the second one, and none where it can", async () => {
      const { bot, channel } = await connected();
      const full = "word ".repeat(398);
      for (const text of ["hello", full]) {
        const [before] = [bot.sent().length, await channel.send(reply(bot, text))];
        await channel.send(reply(bot, text, { mayRepeat: true }));
        bot.state.nonceMs = 0;
        await channel.send(reply(bot, text, { mayRepeat: true }));
        bot.state.nonceMs = 300_000;
        const note = "(This may have reached you before.)";
        expect(textsOf(bot).slice(before)).toEqual(
          text === full ? [full.trim(), note, full.trim(), note] : [text, `${text}\n\n${note}`],
        );
      }
      const sent = (await channel.send(reply(bot, "a draft …"))) ?? undefined;
      await channel.send(reply(bot, "a reply", { mayRepeat: true, ...(sent ? { draft: sent } : {}) }));
      expect(textsOf(bot).at(-1)).toBe("a reply");
      await channel.send(
        reply(bot, "a reply", { mayRepeat: true, ...(sent ? { draft: { ...sent, unheard: true } } : {}) }),
      );
      expect(textsOf(bot).at(-1)).toBe("a reply\n\n(This may have reached you before.)");
    });

    it("no part twice where the connection breaks in the middle of sending", async () => {
      const { fake, bot, channel } = await connected();
      fake.fault = "unanswered";
      await expect(channel.send(reply(bot, "hello"))).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      fake.fault = "none";
      const sent = await channel.send(reply(bot, "hello"));
      expect(bot.sent()).toMatchObject([{ content: "hello", id: sent?.primary }]);
    });

    it("no message twice where the connection breaks in the middle of a change: of a draft, and of the reply that it becomes", async () => {
      const { fake, bot, channel } = await connected();
      const draft = (await channel.send(reply(bot, "hello …"))) ?? { primary: "", overflow: [] };
      const lost = { code: "CHANNEL_CONNECTION_LOST" };
      fake.fault = "unanswered";
      await expect(channel.edit?.(bot.direct, draft.primary, "hello, and …")).rejects.toMatchObject(lost);
      expect(textsOf(bot)).toEqual(["hello, and …"]);
      await expect(channel.send(reply(bot, "hello, and good day", { draft }))).rejects.toMatchObject(lost);
      fake.fault = "none";
      await channel.send(reply(bot, "hello, and good day", { draft, mayRepeat: true }));
      expect(bot.sent()).toMatchObject([{ content: "hello, and good day", id: draft.primary }]);
    });

    it("files, and a sentence for one that Discord does not take", async () => {
      const { bot, channel } = await connected();
      const file = (name: string, bytes: Buffer) => ({ name, mediaType: "text/plain", data: bytes.toString("base64") });
      const attachments = [
        file("a.txt", Buffer.from("abc")),
        file("large.bin", Buffer.alloc(10 * 1024 ** 2 + 1)),
        file("refused.txt", Buffer.from("x")),
      ];
      bot.state.refuse = ({ files }) =>
        files[0]?.name === "refused.txt"
          ? new Refusal(400, 240_000, "Message blocked by harmful links filter")
          : undefined;
      await channel.send(reply(bot, "Here:", { attachments }));
      expect(bot.sent().map(({ content, files }) => files[0]?.name ?? content)).toEqual([
        "Here:",
        "a.txt",
        "The file large.bin could not be sent: it is larger than the 10 MB that Discord takes.",
        "The file refused.txt could not be sent: Discord answers 400: Message blocked by harmful links filter (240000).",
      ]);
      expect(bot.sent()[1]?.files[0]?.bytes.toString()).toBe("abc");
    });

    it("leaves long pauses that Discord asks for to the outbox, and keeps short ones", async () => {
      const { bot, channel } = await connected();
      bot.state.refuse = () => tooMany(3_000, true);
      await expect(channel.send(reply(bot, "later"))).rejects.toMatchObject({
        retryable: true,
        details: { retryAfterS: 3_001 },
      });
      const short = await connected();
      let refused = 0;
      short.bot.state.refuse = () => (refused++ < 1 ? tooMany(0.01) : undefined);
      await short.channel.send(reply(short.bot, "soon"));
      expect([textsOf(short.bot), refused]).toEqual([["soon"], 2]);
    });

    it("nothing again that Discord refuses for good", async () => {
      const { bot, channel } = await connected();
      bot.state.refuse = () => new Refusal(403, 50_007, "Cannot send messages to this user");
      await expect(channel.send(reply(bot, "hello"))).rejects.toMatchObject({
        code: "CHANNEL_REFUSED",
        retryable: false,
        message: "Discord answers 403: Cannot send messages to this user (50007).",
      });
    });

    it("again what was sent with a token that was refused for a moment", async () => {
      const { bot, channel } = await connected();
      bot.state.refuse = () => new Refusal(401, 0, "401: Unauthorized");
      await expect(channel.send(reply(bot, "hello"))).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      bot.state.refuse = undefined;
      await channel.send(reply(bot, "hello"));
      expect(textsOf(bot)).toEqual(["hello"]);
    });

    it("nothing any more when it has stopped", async () => {
      const { fake, bot, channel } = await connected();
      fake.fault = "silent";
      const sending = channel.send(reply(bot, "hello"));
      await channel.stop();
      await expect(sending).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
    });

    it("edits: what is longer gets further messages, what is shorter loses them", async () => {
      const { bot, channel } = await connected();
      const { primary = "" } = (await channel.send(reply(bot, "short"))) ?? {};
      const longer = await channel.edit?.(bot.direct, primary, "long ".repeat(700));
      expect(longer).toEqual({ primary, overflow: [expect.any(String)] });
      expect(bot.sent()).toHaveLength(2);
      const overflow = longer?.overflow ?? [];
      expect(await channel.edit?.(bot.direct, primary, "short", overflow)).toEqual({ primary, overflow: [] });
      expect(textsOf(bot)).toEqual(["short"]);
      // It was removed by somebody already.
      expect(await channel.edit?.(bot.direct, primary, "short", overflow)).toEqual({ primary, overflow: [] });
      await expect(channel.edit?.(bot.direct, "1", "gone")).rejects.toMatchObject({ code: "CHANNEL_REFUSED" });
      bot.state.refuse = ({ method }) => (method === "POST" ? new Refusal(500, 0, "Internal") : undefined);
      await expect(channel.edit?.(bot.direct, primary, "long ".repeat(700))).rejects.toMatchObject({
        code: "CHANNEL_CONNECTION_LOST",
      });
    });

    it("what it has shown of a reply changed into the reply: further messages, fewer ones, and a new one for one that is gone", async () => {
      const { bot, channel } = await connected();
      const draft = (await channel.send(reply(bot, "long ".repeat(700)))) ?? { primary: "", overflow: [] };
      expect(draft.overflow).toHaveLength(1);
      expect(await channel.send(reply(bot, "short", { draft }))).toEqual({ primary: draft.primary, overflow: [] });
      expect(textsOf(bot)).toEqual(["short"]);
      const again = { primary: draft.primary, overflow: [] };
      const longer = await channel.send(reply(bot, "long ".repeat(700), { draft: again }));
      expect(longer).toEqual({ primary: draft.primary, overflow: [expect.any(String)] });
      // Its owner has deleted it meanwhile.
      for (const message of bot.sent()) message.deleted = true;
      const anew = await channel.send(reply(bot, "once more", { draft: again }));
      expect(anew?.primary).not.toBe(draft.primary);
      expect(textsOf(bot)).toEqual(["once more"]);
      // What is shown already is not asked for.
      const edits = () => bot.state.calls.filter(({ method }) => method === "PATCH").length;
      const before = edits();
      await channel.edit?.(bot.direct, anew?.primary ?? "", "once more");
      expect(edits()).toBe(before);
    });

    it("a reply whose surplus messages may not be deleted, once", async () => {
      const { bot, channel } = await connected();
      const draft = (await channel.send(reply(bot, "long ".repeat(700)))) ?? { primary: "", overflow: [] };
      bot.state.refuse = ({ method }) =>
        method === "DELETE" ? new Refusal(403, 50_013, "Missing Permissions") : undefined;
      expect(await channel.send(reply(bot, "short", { draft }))).toEqual({ primary: draft.primary, overflow: [] });
      expect(textsOf(bot)[0]).toBe("short");
    });

    it("equal messages of one turn as two, and the same message once", async () => {
      const { bot, channel } = await connected();
      for (const id of ["1", "2", "2"]) await channel.send(reply(bot, "Done.", { id }));
      expect(textsOf(bot)).toEqual(["Done.", "Done."]);
    });

    it("that it types, until the last turn of a conversation has ended", async () => {
      const { bot, channel } = await connected();
      await channel.startTyping?.(bot.direct);
      await channel.startTyping?.(bot.direct);
      await until(() => bot.state.typing.length === 1);
      await channel.stopTyping?.(bot.direct);
      await channel.stopTyping?.(bot.direct);
      expect(bot.state.typing).toEqual([bot.direct]);
      expect(channel.draftPauseMs?.(bot.direct)).toBeGreaterThan(1_000);
    });

    it("reactions that Discord has", async () => {
      const { bot, channel } = await connected();
      const { primary = "" } = (await channel.send(reply(bot, "hello"))) ?? {};
      await channel.react?.(bot.direct, primary, "👍");
      expect(bot.sent()[0]?.reactions).toEqual(["👍"]);
      await expect(channel.react?.(bot.direct, primary, "x")).rejects.toThrow("Unknown Emoji");
    });
  });
});
