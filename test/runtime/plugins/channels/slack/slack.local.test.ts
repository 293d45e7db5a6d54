/** The Slack channel against the platform's fake, through the contract of channels. */

import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { InboundMessage, OutboundMessage, Stranger } from "../../../../../runtime/contracts/channel.ts";
import { ChannelError, MemoryError, RuntimeError } from "../../../../../runtime/contracts/errors.ts";
import { createSlackChannel } from "../../../../../runtime/plugins/channels/slack/index.ts";
import { slack } from "../../../../../runtime/plugins/channels/slack/manifest.ts";
import { readable } from "../../../../../runtime/plugins/channels/slack/text.ts";
import { type ChannelHarness, channelConformance } from "../../../../../runtime/testing/channel/index.ts";
import { type SlackApp, type SlackFake, startSlackFake } from "../../../../fakes/slack/index.ts";
import { OWNER, Refusal, STRANGER, tooMany } from "../../../../fakes/slack/workspace.ts";
import { until } from "../../../../support/eventually.ts";
import { always, receiving, type Stored, started, unavailable } from "../../../../support/receiving-channel.ts";
import { recordingLogger } from "../../../../support/recording-logger.ts";

function made(fake: SlackFake, app: SlackApp, given: { ownerId?: string } = { ownerId: OWNER }) {
  const log: string[] = [];
  const channel = createSlackChannel({
    id: "slack",
    token: app.state.token,
    appToken: app.state.appToken,
    ownerId: given.ownerId,
    baseUrl: `${fake.url}/`,
    newId: () => "id",
    logger: recordingLogger(log),
  });
  return { channel, log };
}

async function nodeOf(fake: SlackFake, app: SlackApp, given?: { ownerId?: string }) {
  const { channel, log } = made(fake, app, given);
  return { channel, log, ...(await started(channel)) };
}

async function connected() {
  const fake = await startSlackFake();
  const app = fake.app();
  return { fake, app, ...(await nodeOf(fake, app)) };
}

const reply = ({ direct }: SlackApp, text: string, more: Partial<OutboundMessage> = {}): OutboundMessage => ({
  address: { channel: "slack", conversation: direct, user: OWNER },
  agent: "main",
  turnId: "t",
  text,
  ...more,
});
const textsOf = (app: SlackApp): string[] => app.sent().map(({ text }) => readable(text));
/** To messages of people. */
const reactionsIn = ({ state }: SlackApp): string[] =>
  [...state.channels.values()].flatMap(({ messages }) =>
    messages.flatMap(({ user, reactions }) => (user === state.bot ? [] : reactions)),
  );
const textsIn = (accepted: readonly InboundMessage[]): string[] => accepted.map(({ text }) => text);
const question = (choices: readonly string[], id = "q-1") => ({
  id,
  text: "?",
  choices,
  expires_at: "2026-01-01T00:00:00.000Z",
});

const harness: ChannelHarness = {
  async open() {
    const fake = await startSlackFake();
    const app = fake.app();
    const { channel, log } = made(fake, app);
    return {
      channel,
      conversation: app.direct,
      secret: app.state.token,
      platform: {
        mostText: 4_000,
        shown: () =>
          app.sent().map(({ ts, text, files }) => ({
            id: files[0]?.id ?? ts,
            text: readable(text),
            files: files.map(({ name }) => name),
          })),
        reactions: () => reactionsIn(app).map((name) => (name === "eyes" ? "👀" : name)),
        fail(fault) {
          if (fault === "unreachable") fake.fault = "down";
          else app.state.refuse = () => new Refusal("channel_not_found");
        },
      },
      deliver: async ({ from, text }) => void app.say(text, { from: from === "owner" ? OWNER : STRANGER }),
      logged: () => log.join("\n"),
      close: () => fake.close(),
    };
  },
};

describe("a Slack channel", () => {
  describe("keeps the contract of channels", () => {
    for (const check of channelConformance(harness)) it(check.name, check.run);
  });

  describe("receives", () => {
    it("what the owner writes in private, in channels and in threads, and answers where it was written", async () => {
      const { app, channel, accepted } = await connected();
      await receiving(channel).up();
      const open = app.channel();
      const { ts } = app.say("hello");
      const first = app.say(`<@${app.state.bot}> to all`, { channel: open });
      app.say("in a thread", { channel: open, thread: first.ts });
      await until(() => accepted.length === 3);
      expect(accepted[0]).toEqual({
        address: { channel: "slack", conversation: app.direct, user: OWNER },
        agent: "",
        externalId: ts,
        messageId: ts,
        text: "hello",
        owner: true,
        sentAt: expect.stringMatching(/^20\d\d-.*Z$/),
      });
      expect(accepted.slice(1).map(({ address, text }) => [address.conversation, text])).toEqual([
        [open, "to all"],
        [`${open}:${first.ts}`, "in a thread"],
      ]);
      for (const { address } of accepted) await channel.send(reply(app, "answer", { address }));
      expect(app.sent().map(({ channel: id, thread }) => [id, thread])).toEqual([
        [app.direct, undefined],
        [open, undefined],
        [open, first.ts],
      ]);
    });

    it("nothing of strangers, bots, notices and changes, who get no answer", async () => {
      const { app, channel, accepted, commands } = await connected();
      await receiving(channel).up();
      const open = app.channel();
      await channel.send(reply(app, "Red or blue?", { question: question(["red"]) }));
      const [, asked] = app.sent();
      app.say("hello", { from: STRANGER });
      app.say("!status", { from: STRANGER, channel: open });
      app.say("a bot", { with: { bot_id: "B01" } });
      app.say("of a bot", { with: { subtype: "bot_message" } });
      app.say("joined", { channel: open, with: { subtype: "channel_join" } });
      app.say("changed", { with: { subtype: "message_changed" } });
      if (asked) app.press(asked, "red", STRANGER);
      app.say("the owner");
      await until(() => accepted.length === 1 && app.state.sockets.pending.size === 0);
      expect([textsIn(accepted), commands, app.state.whispers]).toEqual([["the owner"], [], []]);
      expect(app.sent()).toHaveLength(2);
    });

    it("of others who are admitted, as another user's; a stranger is shown a code once, alone with the bot", async () => {
      const { app, channel, accepted } = await connected();
      const admitted = "U0ADMITTED";
      const asked: Stranger[] = [];
      channel.onStranger?.(async (stranger) => {
        asked.push(stranger);
        if (stranger.user === admitted) return { admitted: true };
        return { admitted: false, code: asked.length === 1 ? "ABCD-EFGH" : null };
      });
      await receiving(channel).up();
      app.say("let me in", { from: STRANGER, with: { user_profile: { display_name: "Eve", real_name: "Eve E" } } });
      app.say("let me in", { from: STRANGER });
      app.say("let me in", { from: STRANGER, channel: app.channel() });
      app.say("hello", { from: admitted });
      app.say("I am the owner");
      await until(() => accepted.length === 2);
      expect(accepted.map(({ text, owner, address: { user } }) => [text, owner, user])).toEqual([
        ["hello", false, admitted],
        ["I am the owner", true, OWNER],
      ]);
      expect(asked.map(({ name, mayAsk }) => [name, mayAsk])).toEqual([
        ["Eve", true],
        [STRANGER, true],
        [STRANGER, false],
        [admitted, true],
      ]);
      await until(() => app.sent().length === 1);
      expect(textsOf(app)[0]).toMatch(/this code within an hour: ABCD-EFGH\./);
    });

    it("nobody where there is no owner", async () => {
      const fake = await startSlackFake();
      const app = fake.app();
      const { channel, accepted } = await nodeOf(fake, app, {});
      await receiving(channel).up();
      app.say("hello");
      app.say("!status", { channel: app.channel() });
      await until(() => app.state.sockets.acknowledged === 2);
      expect([accepted, app.sent()]).toEqual([[], []]);
    });

    it("text as people see it", async () => {
      const { app, channel, accepted } = await connected();
      await receiving(channel).up();
      const texts = [
        ["a &amp; b &lt;c&gt; &amp;lt;", "a & b <c> &lt;"],
        ["ask <@U012AB3CD> or <@U012AB3CD|ada> in <#C012AB3CD|general>", "ask @U012AB3CD or @ada in #general"],
        ["<!here> <!subteam^S01|@team> <!date^1^{date}|today>", "@here @team today"],
        ["<https://a.example/?x=1&amp;y=2>", "https://a.example/?x=1&y=2"],
        ["<http://a.example|a.example> <mailto:a@b.example|a@b.example>", "a.example a@b.example"],
        ["<https://a.example/long|a page>", "a page (https://a.example/long)"],
        ["  with space  ", "with space"],
      ] as const;
      for (const [written] of texts) app.say(written);
      await until(() => accepted.length === texts.length);
      expect(textsIn(accepted)).toEqual(texts.map(([, seen]) => seen));
    });

    it("a message that could not be stored, with the next connection, before those after it", async () => {
      const { app, channel, accepted, handlers } = await connected();
      const first = receiving(channel);
      await first.up();
      handlers.message = unavailable;
      app.say("one");
      app.say("two");
      expect(await first.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      expect(app.state.sockets.acknowledged).toBe(0);
      handlers.message = async () => undefined;
      await receiving(channel).up();
      app.say("three");
      await until(() => accepted.length === 3 && app.state.sockets.pending.size === 0);
      expect(textsIn(accepted)).toEqual(["one", "two", "three"]);
      expect([app.state.sockets.lost, app.state.sockets.redelivered]).toEqual([0, 2]);
    });

    it("a failing store is no connection that works", async () => {
      const { app, channel, handlers } = await connected();
      const first = receiving(channel);
      await first.up();
      handlers.message = unavailable;
      app.say("one");
      await first.failed;
      const second = receiving(channel);
      expect(await second.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      expect(second.states).toEqual([]);
    });

    it("what a stopped node has not acknowledged, on another one", async () => {
      const { fake, app, channel, handlers } = await connected();
      const first = receiving(channel);
      await first.up();
      handlers.message = () => new Promise(() => undefined);
      app.say("hello");
      await until(() => app.state.sockets.pending.size === 1);
      await first.end();
      const other = await nodeOf(fake, app);
      await receiving(other.channel).up();
      await until(() => other.accepted.length === 1);
      expect([app.state.sockets.open.size, app.state.sockets.redelivered]).toEqual([1, 1]);
    });

    it("what was written while nobody received, in order, before what comes after it", async () => {
      const { fake, app, channel, accepted } = await connected();
      const stored: Stored = {};
      const open = app.channel();
      const first = receiving(channel, stored);
      await first.up();
      app.say("before");
      const { ts } = app.say("in a channel", { channel: open });
      app.say("in a thread", { channel: open, thread: ts });
      await until(() => accepted.length === 3);
      await channel.send(reply(app, "an answer"));
      await first.end();
      const places = [{}, { channel: open }, { channel: open, thread: ts }];
      for (let n = 0; n < 750; n++) app.say(`missed ${n}`, { ...places[n % 3], isUnheard: true });
      app.say("a stranger", { from: STRANGER, channel: open, isUnheard: true });
      app.say("!status", { isUnheard: true });
      const other = await nodeOf(fake, app);
      const asking = Promise.withResolvers<void>();
      app.state.refuse = ({ method }) => {
        if (method === "conversations.history") asking.resolve();
        return undefined;
      };
      const second = receiving(other.channel, stored);
      await asking.promise;
      app.say("live");
      await until(() => other.accepted.length === 751);
      await second.up();
      expect(textsIn(other.accepted)).toEqual([...Array.from({ length: 750 }, (_, n) => `missed ${n}`), "live"]);
      expect(other.commands.map(({ line }) => line)).toEqual(["/status"]);
      expect(new Set(other.accepted.map(({ address }) => address.conversation))).toEqual(
        new Set([app.direct, open, `${open}:${ts}`]),
      );
      await second.end();
      const third = await nodeOf(fake, app);
      await receiving(third.channel, stored).up();
      expect([third.accepted, third.commands]).toEqual([[], []]);
    });

    it("what can be read of what was missed, whatever Slack refuses of it", async () => {
      const { fake, app, channel, accepted, log } = await connected();
      const stored: Stored = {};
      const [gone, closed, open] = [app.channel(), app.channel(), app.channel()];
      const first = receiving(channel, stored);
      await first.up();
      for (const id of [gone, closed, open]) app.say("before", { channel: id });
      await until(() => accepted.length === 3);
      await first.end();
      for (const id of [gone, closed, open]) app.say("missed", { channel: id, isUnheard: true });
      app.state.channels.delete(gone);
      app.state.refuse = ({ body }) => (body["channel"] === closed ? tooMany(30) : undefined);
      const second = receiving(channel, stored);
      await until(() => accepted.length === 4);
      await second.end();
      expect(accepted.at(-1)?.address.conversation).toBe(open);
      const said = log.filter((line) => line.startsWith("messages that were missed could not be read"));
      expect(said).toEqual([expect.stringContaining("channel_not_found"), expect.stringContaining("a pause of 30 s")]);
      expect(Object.keys(stored.position ?? {}).toSorted()).toEqual([closed, open].toSorted());
      // Later it is read, also by another node.
      app.state.refuse = undefined;
      const other = await nodeOf(fake, app);
      await receiving(other.channel, stored).up();
      expect(textsIn(other.accepted)).toEqual(["missed"]);
    });

    it("what was missed before what comes after it, where Slack asks for a pause or refuses it at first", async () => {
      const { app, channel, accepted } = await connected();
      const stored: Stored = {};
      const [paused, closed] = [app.channel(), app.channel()];
      const first = receiving(channel, stored);
      await first.up();
      for (const id of [paused, closed]) app.say("before", { channel: id });
      await until(() => accepted.length === 2);
      await first.end();
      for (const id of [paused, closed]) app.say("missed", { channel: id, isUnheard: true });
      let pauses = 2;
      let isClosed = true;
      app.state.refuse = ({ method, body }) => {
        if (method !== "conversations.history") return undefined;
        if (body["channel"] === paused) return pauses-- > 0 ? tooMany(1) : undefined;
        return isClosed ? new Refusal("not_in_channel") : undefined;
      };
      const second = receiving(channel, stored);
      await second.up();
      const before = structuredClone(stored.position);
      for (const id of [paused, closed]) app.say("live", { channel: id });
      const other = app.say("elsewhere");
      await until(() => accepted.length === 5);
      expect(accepted.slice(2).map(({ text, address }) => [text, address.conversation])).toEqual([
        ["elsewhere", app.direct],
        ["missed", paused],
        ["live", paused],
      ]);
      expect(stored.position).toMatchObject({ [app.direct]: other.ts, [closed]: Object(before)[closed] });
      isClosed = false;
      app.say("again", { channel: closed });
      await until(() => accepted.length === 8 && app.state.sockets.pending.size === 0);
      expect(textsIn(accepted.slice(5))).toEqual(["missed", "live", "again"]);
      expect(second.states.every((reason) => reason === undefined)).toBe(true);
    });

    it("all that was missed, in order, however much it is, and what strangers have written between it", async () => {
      const { fake, app, channel, accepted } = await connected();
      const stored: Stored = {};
      const open = app.channel();
      const first = receiving(channel, stored);
      await first.up();
      app.say("before", { channel: open });
      app.say("before");
      await until(() => accepted.length === 2);
      await first.end();
      app.say("begin", { channel: open, isUnheard: true });
      for (let n = 0; n < 2_100; n++) app.say("noise", { from: STRANGER, channel: open, isUnheard: true });
      app.say("end", { channel: open, isUnheard: true });
      for (let n = 0; n < 1_100; n++) app.say(`missed ${n}`, { isUnheard: true });
      const other = await nodeOf(fake, app);
      other.channel.onStranger?.(async () => ({ admitted: false, code: null }));
      await receiving(other.channel, stored).up();
      app.say("live", { channel: open });
      await until(() => other.accepted.length === 1_103);
      const inPrivate = other.accepted.filter(({ address: { conversation } }) => conversation === app.direct);
      expect(textsIn(inPrivate)).toEqual(Array.from({ length: 1_100 }, (_, n) => `missed ${n}`));
      const others = other.accepted.filter((message) => !inPrivate.includes(message));
      expect(textsIn(others)).toEqual(["begin", "end", "live"]);
    });

    it("a message again, and a command not, where its position could not be stored", async () => {
      const { app, channel, accepted, commands } = await connected();
      const stored: Stored = { fails: true };
      const first = receiving(channel, stored);
      await first.up();
      app.say("!status");
      expect(await first.failed).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      expect(app.state.sockets.acknowledged).toBe(0);
      stored.fails = false;
      await receiving(channel, stored).up();
      app.say("hello");
      await until(() => accepted.length === 1 && app.state.sockets.pending.size === 0);
      expect(commands).toHaveLength(1);
    });

    it("once what Slack sends again since it was not acknowledged in time", async () => {
      const { app, channel, accepted, commands, handlers } = await connected();
      await receiving(channel).up();
      app.state.sockets.ackMs = 20;
      const storing = Promise.withResolvers<void>();
      handlers.message = () => storing.promise;
      app.say("hello");
      app.say("!status");
      await until(() => app.state.sockets.redelivered >= 2);
      storing.resolve();
      await until(() => app.state.sockets.pending.size === 0);
      expect([textsIn(accepted), commands.length, app.state.sockets.lost]).toEqual([["hello"], 1, 0]);
      // Of a command that was carried out already.
      const [{ ts }] = [app.say("!stop")];
      await until(() => commands.length === 2);
      app.say("!stop", { with: { ts } });
      await until(() => app.state.sockets.pending.size === 0);
      expect(commands).toHaveLength(2);
    });

    it("in the order in which 500 messages were written, also where the connection breaks", async () => {
      const { app, channel, accepted } = await connected();
      const { up } = always(channel);
      await up();
      for (let n = 0; n < 500; n++) app.say(`${n}`);
      await until(() => accepted.length > 100);
      app.cut();
      await until(() => new Set(textsIn(accepted)).size === 500 && app.state.sockets.pending.size === 0);
      const first = [...new Set(textsIn(accepted))].map(Number);
      expect(first).toEqual(first.toSorted((a, b) => a - b));
    });

    it("whatever the socket says", async () => {
      const { app, channel, accepted } = await connected();
      const { failures, up } = always(channel);
      await up();
      const payload = fc.oneof(
        fc.object({ maxDepth: 3 }),
        fc.record(
          {
            type: fc.constantFrom("event_callback", "block_actions", 1),
            event: fc.record(
              {
                type: fc.constant("message"),
                channel: fc.oneof(fc.constant("D0OWNER01"), fc.anything()),
                user: fc.oneof(fc.constant(OWNER), fc.anything()),
                ts: fc.oneof(fc.constant("1700000000.000100"), fc.anything()),
                text: fc.anything(),
                files: fc.anything(),
                thread_ts: fc.anything(),
                subtype: fc.anything(),
              },
              { requiredKeys: [] },
            ),
            user: fc.anything(),
            actions: fc.anything(),
            channel: fc.anything(),
            message: fc.anything(),
          },
          { requiredKeys: [] },
        ),
      );
      for (const given of fc.sample(payload, 200)) {
        app.envelope("events_api", given);
        app.envelope("interactive", given);
      }
      for (const text of ["null", "[]", "1", "{}", '{"type":"hello"}', '{"type":5,"envelope_id":7}']) app.raw(text);
      app.say("still here");
      await until(() => textsIn(accepted).includes("still here"));
      expect(failures).toEqual([]);
      app.raw("no JSON");
      await until(() => failures.length === 1);
      expect(failures[0]?.message).toBe("Slack's socket sends what cannot be read.");
      app.say("and here");
      await until(() => textsIn(accepted).includes("and here"));
    });
  });

  describe("stays connected", () => {
    it("over the next connection before the former one ends, without a loss", async () => {
      const { app, channel, accepted, handlers } = await connected();
      const { states, up } = receiving(channel);
      await up();
      const storing = Promise.withResolvers<void>();
      handlers.message = () => storing.promise;
      app.say("before");
      await until(() => app.state.sockets.pending.size === 1);
      app.announce("refresh_requested");
      await until(() => states.length > 0 && app.state.sockets.opened === 2);
      app.say("after");
      storing.resolve();
      await until(() => accepted.length === 2 && app.state.sockets.open.size === 1);
      app.endAnnounced();
      await until(() => app.state.sockets.pending.size === 0);
      const { most, redelivered, acknowledged } = app.state.sockets;
      expect([textsIn(accepted), most, redelivered, acknowledged]).toEqual([["before", "after"], 2, 0, 2]);
    });

    it("but not where Slack replaces each connection at once", async () => {
      const { app, channel } = await connected();
      const { failed, up } = receiving(channel);
      await up();
      for (let opened = 1; opened <= 4; opened++) {
        await until(() => app.state.sockets.opened === opened);
        app.announce("warning");
      }
      expect((await failed)?.message).toBe("Slack replaces each connection at once.");
    });

    it.each([
      ["link_disabled", /^Socket Mode is off for this app/],
      ["too_many_websockets", /^Slack refuses the connection: the app has ten already/],
    ] as const)("but not after %s, which it says", async (reason, sentence) => {
      const { app, channel } = await connected();
      const { failed, up } = receiving(channel);
      await up();
      app.announce(reason);
      expect((await failed)?.message).toMatch(sentence);
      await until(() => app.state.sockets.open.size === 0);
    });

    it("and answers pings", async () => {
      const { app, channel } = await connected();
      await receiving(channel).up();
      app.ping();
      await until(() => app.state.sockets.pongs === 1);
    });

    it("and says that other programs are connected with the app's token", async () => {
      const { fake, app, channel, log } = await connected();
      await receiving(channel).up();
      const other = await nodeOf(fake, app);
      await receiving(other.channel).up();
      expect(other.log.join("\n")).toMatch(/other programs are connected with the app's token/);
      expect(log).toEqual([]);
    });

    it("until it is ended, also while it connects, and with a lease that is lost without a word", async () => {
      const { fake, app, channel } = await connected();
      const first = receiving(channel);
      await first.up();
      await first.end();
      await until(() => app.state.sockets.open.size === 0);
      const second = receiving(channel);
      await second.up();
      await second.end(new RuntimeError("RUNTIME_LEASE_LOST", "Another node receives."));
      await until(() => app.state.sockets.open.size === 0);
      fake.fault = "silent";
      const third = receiving(channel);
      await third.end();
      expect(await third.failed).toBeNull();
    });

    it("again after each kind of failure, with a sentence without the tokens", async () => {
      const { fake, app, channel, accepted, log } = await connected();
      const { failures, up } = always(channel);
      await up();
      for (const fault of ["down", "bad-gateway", "unanswered"] as const) {
        const before = failures.length;
        fake.fault = fault;
        app.cut();
        await until(() => failures.length >= before + 3);
        fake.fault = "none";
        app.say(fault);
        await until(() => textsIn(accepted).includes(fault));
      }
      const said = [...failures.map(String), ...log].join("\n");
      expect(said).toMatch(/Slack cannot be reached/);
      expect(said).toMatch(/What answers is not Slack/);
      for (const secret of [app.state.token, app.state.appToken, "ticket-"]) expect(said).not.toContain(secret);
    });

    it("not with a token that Slack refuses: whose it is is said", async () => {
      const { app, channel } = await connected();
      const { token, appToken, refusedTokens } = app.state;
      refusedTokens.set(token, "token_revoked");
      expect(await receiving(channel).failed).toMatchObject({
        code: "CHANNEL_CONNECTION_LOST",
        message: expect.stringMatching(/^Slack refuses the bot's token \(token\)/),
      });
      refusedTokens.delete(token);
      refusedTokens.set(appToken, "invalid_auth");
      expect((await receiving(channel).failed)?.message).toMatch(/^Slack refuses the app-level token \(app_token\)/);
      refusedTokens.delete(appToken);
      await receiving(channel).up();
    });

    it.each(["auth.test", "apps.connections.open"])(
      "not before the pause is over that Slack asks for (%s): a short one is kept at once",
      async (refused) => {
        const { app, channel } = await connected();
        // The second one ends the attempt, whether it is short or long.
        const refusals = [tooMany(1), tooMany(2), tooMany(30), tooMany(1)];
        app.state.refuse = ({ method }) => (method === refused ? refusals.shift() : undefined);
        for (const retryAfterS of [2, 30]) {
          expect(await receiving(channel).failed).toMatchObject({
            code: "CHANNEL_CONNECTION_LOST",
            message: `Slack asks for a pause of ${retryAfterS} s.`,
            details: { retryAfterS },
          });
        }
        await receiving(channel).up();
        expect(refusals).toEqual([]);
      },
    );

    it("not with the two tokens interchanged", async () => {
      const fake = await startSlackFake();
      const { state } = fake.app();
      const channel = createSlackChannel({
        id: "slack",
        token: state.appToken,
        appToken: state.token,
        ownerId: OWNER,
        baseUrl: fake.url,
        newId: () => "id",
        logger: recordingLogger([]),
      });
      onTestFinished(() => channel.stop());
      expect((await receiving(channel).failed)?.message).toMatch(/^Slack refuses the bot's token/);
    });
  });

  describe("carries out commands", () => {
    it("and answers them again where Slack asks for a pause, or does not answer", async () => {
      const { app, channel, handlers } = await connected();
      handlers.command = async ({ line }) => ({ text: `did ${line}` });
      await receiving(channel).up();
      const refusals = [tooMany(6), new Refusal("internal_error")];
      app.state.refuse = ({ method }) => (method === "chat.postMessage" ? refusals.shift() : undefined);
      app.say("!stop");
      app.say("!status");
      await until(() => textsOf(app).length === 2);
      expect([textsOf(app), refusals]).toEqual([["did !stop", "did !status"], []]);
    });

    it("and goes on with the rest of an answer of several messages where one of them fails", async () => {
      const { app, channel, handlers } = await connected();
      const words = Array.from({ length: 1_300 }, (_, n) => `word${n}`);
      handlers.command = async () => ({ text: words.join(" ") });
      await receiving(channel).up();
      const refusals = [new Refusal("internal_error")];
      app.state.refuse = ({ method }) =>
        method === "chat.postMessage" && app.sent().length === 1 ? refusals.shift() : undefined;
      app.say("!status");
      await until(() => app.sent().length === 3);
      expect(textsOf(app).flatMap((text) => text.trim().split(" "))).toEqual(words);
      expect(refusals).toEqual([]);
    });

    it("as they are typed on Slack, and names them so", async () => {
      const { app, channel, accepted, commands, handlers } = await connected();
      await receiving(channel).up();
      handlers.command = async () => ({ text: "/think [off|low] - show or set; see https://a.example/stop or a/stop" });
      app.say("!think high");
      app.say(" /status ");
      app.say(`<@${app.state.bot}> !stop`, { channel: app.channel() });
      app.say("!important: read this");
      app.say("!!!");
      app.say("!help");
      await until(() => accepted.length === 2 && app.sent().length === 4);
      expect(commands.map(({ line }) => line)).toEqual(["/think high", "/status", "/stop"]);
      expect(textsIn(accepted)).toEqual(["!important: read this", "!!!"]);
      const [answer, , , help] = textsOf(app);
      expect(answer).toBe("!think [off|low] - show or set; see https://a.example/stop or a/stop");
      expect(help).toMatch(/^I am here.*\n!stop - abort the current turn\n/);
    });

    it("of buttons, for their own question, and takes them away when it is answered", async () => {
      const { app, channel, commands, handlers } = await connected();
      await receiving(channel).up();
      const open = app.channel();
      const { ts } = app.say("hello", { channel: open });
      const address = { channel: "slack", conversation: `${open}:${ts}`, user: OWNER };
      handlers.command = async ({ question: id }) => ({
        text: "Answered. See /status.",
        data: { answered: id === "q-1" },
      });
      await channel.send(reply(app, "Red or blue?", { address, question: question(["red", "blue & <green>"]) }));
      await channel.send(reply(app, "And?", { address, question: question(["red"], "q-2") }));
      const [words, asked, , other] = app.sent();
      expect(words && readable(words.text)).toBe("Red or blue?");
      if (asked) app.press(asked, "blue & <green>");
      if (other) app.press(other, "red");
      await until(() => commands.length === 2 && asked?.blocks.length === 0);
      expect(commands.map(({ line, question: id, address: { conversation } }) => [line, id, conversation])).toEqual([
        ["/answer blue & <green>", "q-1", `${open}:${ts}`],
        ["/answer red", "q-2", `${open}:${ts}`],
      ]);
      await until(() => app.state.whispers.length === 2);
      expect(app.state.whispers[0]).toEqual({ user: OWNER, channel: open, text: "Answered. See !status." });
      expect([asked && readable(asked.text), other?.blocks.length]).toEqual(["Answer: blue & <green>", 2]);
    });

    it("of buttons, which it answers again where Slack asks for a pause, or does not answer", async () => {
      const { fake, app, channel, commands, handlers } = await connected();
      await receiving(channel).up();
      handlers.command = async () => ({ text: "Answered.", data: { answered: true } });
      await channel.send(reply(app, "Red?", { question: question(["red"]) }));
      const asked = app.sent().at(-1) ?? expect.fail("nothing was sent");
      const refusals = new Map([
        ["chat.postEphemeral", [tooMany(6)]],
        ["chat.update", [new Refusal("internal_error")]],
      ]);
      let lost = 0;
      app.state.refuse = ({ method }) => {
        const refusal = refusals.get(method)?.shift();
        fake.fault = refusal === undefined && method === "chat.update" && lost++ === 0 ? "unanswered" : "none";
        return refusal;
      };
      app.press(asked, "red");
      await until(() => app.state.whispers.length === 1 && asked.blocks.length === 0);
      expect(commands.map(({ line }) => line)).toEqual(["/answer red"]);
      expect([...refusals.values()].flat()).toEqual([]);
    });

    it("of buttons also of those who are admitted, as another user's, and not of strangers", async () => {
      const { app, channel, commands, handlers } = await connected();
      const admitted = "U0ADMITTED";
      const strangers: Stranger[] = [];
      channel.onStranger?.(async (stranger) => {
        if (stranger.user === admitted) return { admitted: true };
        strangers.push(stranger);
        return { admitted: false, code: null };
      });
      await receiving(channel).up();
      const open = app.channel();
      const address = { channel: "slack", conversation: open, user: admitted };
      handlers.command = async () => ({ text: "done", data: { answered: true } });
      await channel.send(reply(app, "Red or blue?", { address, question: question(["red"]) }));
      const asked = app.sent().at(-1) ?? expect.fail("nothing was sent");
      app.press(asked, "red", STRANGER);
      await until(() => strangers.length === 1);
      app.press(asked, "red", admitted);
      await until(() => asked.blocks.length === 0 && app.state.whispers.length === 1);
      expect(commands).toMatchObject([{ line: "/answer red", question: "q-1", owner: false, address }]);
      expect(app.state.whispers).toEqual([{ user: admitted, channel: open, text: "done" }]);
      expect(strangers).toMatchObject([{ user: STRANGER, mayAsk: false }]);
    });

    it("of buttons once where it was not heard that Slack has the answer, which has no key", async () => {
      const { fake, app, channel, log } = await connected();
      await receiving(channel).up();
      await channel.send(reply(app, "Red?", { question: question(["red"]) }));
      const asked = app.sent().at(-1) ?? expect.fail("nothing was sent");
      app.state.refuse = ({ method }) => {
        fake.fault = method === "chat.postEphemeral" ? "unanswered" : "none";
        return undefined;
      };
      app.press(asked, "red");
      await until(() => log.some((line) => line.includes("a button could not be answered")));
      expect(app.state.whispers).toHaveLength(1);
    });

    it("of buttons of those who are admitted as soon as the database answers", async () => {
      const { app, channel, commands } = await connected();
      const admitted = "U0ADMITTED";
      let attempts = 0;
      channel.onStranger?.(async ({ user }) => {
        if (++attempts <= 2) throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
        return user === admitted ? { admitted: true } : { admitted: false, code: null };
      });
      await receiving(channel).up();
      const open = app.channel();
      const address = { channel: "slack", conversation: open, user: admitted };
      await channel.send(reply(app, "Red?", { address, question: question(["red"]) }));
      const asked = app.sent().at(-1) ?? expect.fail("nothing was sent");
      app.press(asked, "red", STRANGER);
      app.press(asked, "red", admitted);
      await until(() => attempts === 4 && app.state.whispers.length === 1);
      expect(commands).toMatchObject([{ line: "/answer red", owner: false, address }]);
      expect(app.state.whispers).toMatchObject([{ user: admitted }]);
    });

    it("of buttons of approvals, which name what they approve, pressed by the owner alone", async () => {
      const { app, channel, commands, handlers } = await connected();
      await receiving(channel).up();
      const question = {
        id: "01a2f3c4-0000-7000-8000-00005f3a91c2",
        text: "Approve?",
        choices: [],
        expires_at: "2030-01-01T00:00:00Z",
        approval: { tool: "shell", call: "command: make deploy", reason: "a rule", digest: "d" },
      };
      await channel.send(reply(app, "Approve?", { question }));
      const asked = app.sent().at(-1);
      expect(asked?.text).toContain("!approve 5f3a91c2\n!deny 5f3a91c2\n!approve 5f3a91c2 always");
      handlers.command = async () => ({ text: "done", data: { answered: true } });
      const buttons = ["Approve", "Deny", "Always, for exactly this"];
      for (const label of buttons) app.press(asked ?? expect.fail("nothing was sent"), label, "U0STRANGER");
      app.press(asked ?? expect.fail("nothing was sent"), "Always, for exactly this");
      await until(() => commands.length === 1 && asked?.blocks.length === 0);
      expect(commands.map(({ line, question: id, owner }) => [line, id, owner])).toEqual([
        ["/approve 01a2f3c4-0000-7000-8000-00005f3a91c2 always", undefined, true],
      ]);
      expect(asked && readable(asked.text)).toBe("Answer: Always, for exactly this");
    });

    it("of buttons that could not be carried out, with the reason", async () => {
      const { app, channel, handlers } = await connected();
      await receiving(channel).up();
      handlers.command = async () => {
        throw new RuntimeError("RUNTIME_NOT_FOUND", "Nothing waits for an answer.");
      };
      await channel.send(reply(app, "?", { question: question(["yes"]) }));
      const [, asked] = app.sent();
      if (asked) app.press(asked, "yes");
      await until(() => app.state.whispers.length === 1);
      expect([app.state.whispers[0]?.text, asked?.blocks.length]).toEqual(["Nothing waits for an answer.", 2]);
    });

    it("where the choices are no buttons, says how to answer", async () => {
      const { app, channel } = await connected();
      for (const choices of [[], ["x".repeat(76)], Array.from({ length: 26 }, (_, n) => `c${n}`)]) {
        await channel.send(reply(app, "?", { question: question(choices) }));
      }
      expect(app.sent().map(({ blocks }) => blocks)).toEqual([[], [], []]);
      expect(textsOf(app)[0]).toBe("?\n\nAnswer with\n!answer TEXT");
    });
  });

  describe("takes files", () => {
    it("with their text, for the bot's token", async () => {
      const { app, channel, accepted } = await connected();
      await receiving(channel).up();
      const file = app.file("a.txt", () => [Buffer.from("abc")]);
      app.say("with a file", { with: { subtype: "file_share", files: [file] } });
      await until(() => accepted.length === 1);
      expect(accepted[0]).toMatchObject({
        text: "with a file",
        attachments: [{ name: "a.txt", mediaType: "text/plain", data: Buffer.from("abc").toString("base64") }],
      });
    });

    it("while commands go first, also those that a connection has brought which is gone", async () => {
      const { app, channel, accepted, commands, handlers } = await connected();
      const [entered, storing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const [began, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      handlers.message = () => {
        entered.resolve();
        return storing.promise;
      };
      const file = app.file("a.txt", async function* () {
        yield Buffer.from("a");
        began.resolve();
        await gate.promise;
      });
      const { up, failures } = always(channel);
      await up();
      app.say("hello");
      app.say("look", { with: { files: [file] } });
      app.say("!stop");
      await entered.promise;
      await until(() => app.state.sockets.pending.size === 3);
      app.cut();
      await until(() => failures.length === 1 && app.state.sockets.open.size === 1);
      storing.resolve();
      await began.promise;
      await until(() => commands.length === 1);
      expect(textsIn(accepted)).toEqual(["hello"]);
      gate.resolve();
      await until(() => accepted.length === 2 && app.state.sockets.pending.size === 0);
      expect(commands.map(({ line }) => line)).toEqual(["/stop"]);
    });

    it("up to 25 MB, whatever their size is said to be; the text goes in", async () => {
      const { app, channel, accepted } = await connected();
      await receiving(channel).up();
      function* endless(): Generator<Buffer> {
        for (;;) yield Buffer.alloc(1024 ** 2);
      }
      app.say("endless", { with: { files: [app.file("e.bin", endless), app.file("s.bin", endless, { size: 3e9 })] } });
      await until(() => accepted.length === 1 && app.sent().length === 1);
      expect(accepted[0]).not.toHaveProperty("attachments");
      expect(textsOf(app)[0]).toMatch(/25 MB in all; not taken: e\.bin\.\n.*not taken: s\.bin\./);
    });

    it("and reads nothing of an answer that is no file", async () => {
      const { app, channel } = await connected();
      let ended = 0;
      function* endless(): Generator<Buffer> {
        try {
          for (;;) yield Buffer.alloc(1024 ** 2);
        } finally {
          ended++;
        }
      }
      const node = always(channel);
      await node.up();
      app.state.fileStatus = 503;
      app.say("a file", { with: { files: [app.file("e.bin", endless)] } });
      await until(() => app.sent().length === 1);
      expect(textsOf(app)).toEqual(["A file could not be fetched from Slack."]);
      await until(() => ended === node.failures.length + 1);
    });

    it("from Slack's own hosts alone: no other one is given the token", async () => {
      const { app, channel, accepted } = await connected();
      const other = await startSlackFake();
      const asked: string[] = [];
      other.app().file("a.txt", () => {
        asked.push("a");
        return [Buffer.from("abc")];
      });
      await receiving(channel).up();
      const foreign = app.file("a.txt", () => [], {
        url_private_download: `${new URL(other.url).origin}/files-pri/0/a.txt`,
      });
      const named = app.file("b.txt", () => [], { url_private_download: "http://127.0.0.1.example/b.txt" });
      const none = app.file("c.txt", () => [], { url_private_download: undefined });
      app.say("three files", { with: { files: [foreign, named, none] } });
      await until(() => accepted.length === 1 && app.sent().length === 1);
      expect(textsOf(app)[0]?.split("\n")).toEqual(
        ["a", "b", "c"].map((name) => `Slack does not give out the file ${name}.txt.`),
      );
      expect(asked).toEqual([]);
    });

    it("not where the app may not read them: what comes instead is a page for signing in", async () => {
      const { app, channel, accepted } = await connected();
      await receiving(channel).up();
      app.state.missingScopes.add("files:read");
      app.say("look", { with: { files: [app.file("a.txt", () => [Buffer.from("abc")])] } });
      await until(() => accepted.length === 1 && app.sent().length === 1);
      expect(textsOf(app)).toEqual(["Slack does not give out the file a.txt."]);
    });
  });

  describe("sends", () => {
    it("text as it is: nothing in it mentions anybody, and no address in it is fetched", async () => {
      const { app, channel } = await connected();
      const text = "<!everyone> <@U012AB3CD> @here a && b <b> &amp; https://a.example?q=secret";
      await channel.send(reply(app, text));
      const [message] = app.sent();
      expect(message?.text).toBe(
        "&lt;!everyone&gt; &lt;@U012AB3CD&gt; @here a &amp;&amp; b &lt;b&gt; &amp;amp; https://a.example?q=secret",
      );
      expect(message && readable(message.text)).toBe(text);
      const body = app.state.calls.at(-1)?.body;
      expect(body).toMatchObject({ parse: "none", link_names: "false", unfurl_links: "false", unfurl_media: "false" });
    });

    it("texts of any characters in messages that can all be changed", async () => {
      const { app, channel } = await connected();
      const text = `${"<&>".repeat(3_000)} ${"word ".repeat(2_000)}\ud800`;
      const sent = await channel.send(reply(app, text));
      expect(app.sent().every(({ text: piece }) => piece.length <= 4_000)).toBe(true);
      expect(textsOf(app).join("").replaceAll(/\s/g, "")).toBe(text.toWellFormed().replaceAll(/\s/g, ""));
      await channel.edit?.(app.direct, sent?.primary ?? "", "short", sent?.overflow);
      expect(textsOf(app)).toEqual(["short"]);
    });

    it("the reaction that it has a name of, once, and no other one", async () => {
      const { app, channel } = await connected();
      const { ts } = app.say("hello");
      await channel.react?.(app.direct, ts, "👀");
      expect(reactionsIn(app)).toEqual(["eyes"]);
      await expect(channel.react?.(app.direct, ts, "👀")).rejects.toThrow("already_reacted");
      await expect(channel.react?.(app.direct, ts, "🦤")).rejects.toThrow("not in the list");
      app.state.missingScopes.add("reactions:write");
      await expect(channel.react?.(app.direct, ts, "👀")).rejects.toThrow("reactions:write");
      expect(reactionsIn(app)).toEqual(["eyes"]);
    });

    it("files of agents, with no token for the address that takes them", async () => {
      const { app, channel } = await connected();
      const { ts } = app.say("hello");
      const address = { channel: "slack", conversation: `${app.direct}:${ts}`, user: OWNER };
      const attachments = ["a.txt", "b.txt", "empty"].map((name) => ({
        name,
        mediaType: "text/plain",
        data: Buffer.from(name === "empty" ? "" : name).toString("base64"),
      }));
      const sent = await channel.send(reply(app, "look", { address, attachments }));
      expect(sent?.overflow).toHaveLength(3);
      expect(app.sent().map(({ text, files }) => files[0]?.bytes.toString() ?? text)).toEqual([
        "look",
        "a.txt",
        "b.txt",
        "The file empty could not be sent: it is empty.",
      ]);
      expect(app.sent().every(({ thread }) => thread === ts)).toBe(true);
      expect(app.state.leaks).toBe(0);
    });

    it("a sentence in place of a file that the app may not send", async () => {
      const { app, channel } = await connected();
      app.state.missingScopes.add("files:write");
      const attachments = [{ name: "a.txt", mediaType: "text/plain", data: "YQ==" }];
      await channel.send(reply(app, "look", { attachments }));
      expect(textsOf(app)[1]).toBe(
        "The file a.txt could not be sent: The app lacks the scope files:write: add it at the app's page (OAuth & Permissions), and install the app again.",
      );
    });

    it("a file within one time for all its calls", async () => {
      const { fake, app, channel } = await connected();
      const late = new AbortController();
      const real = AbortSignal.timeout.bind(AbortSignal);
      const timeout = vi
        .spyOn(AbortSignal, "timeout")
        .mockImplementation((ms) => (ms === 50_000 ? late.signal : real(ms)));
      onTestFinished(() => timeout.mockRestore());
      app.state.refuse = ({ method }) => {
        if (method !== "files.completeUploadExternal") return undefined;
        fake.fault = "unanswered";
        late.abort(new DOMException("", "TimeoutError"));
        return undefined;
      };
      const attachments = [{ name: "a.txt", mediaType: "text/plain", data: "YQ==" }];
      await expect(channel.send(reply(app, "", { attachments }))).rejects.toMatchObject({
        code: "CHANNEL_CONNECTION_LOST",
        message: "Slack does not answer in time.",
      });
      expect(timeout.mock.calls.filter(([ms]) => ms > 15_000)).toEqual([[50_000]]);
    });

    it("the rest where it broke off, and says which may be a repetition", async () => {
      const { fake, app, channel } = await connected();
      const text = "word ".repeat(2_000);
      let kept: OutboundMessage["sent"];
      fake.fault = "none";
      const attempt = channel.send(reply(app, text), async (sent) => {
        kept = sent;
        fake.fault = "unanswered";
      });
      await expect(attempt).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      fake.fault = "none";
      await channel.send(reply(app, text, { ...(kept ? { sent: kept } : {}), mayRepeat: true }));
      // The second part came twice, since its answer was not heard.
      expect(app.sent()).toHaveLength(4);
      expect(textsOf(app).at(-1)).toMatch(/\(This may have reached you before\.\)$/);
    });

    it.each([
      ["has no room", `${"<".repeat(900)} ${"a".repeat(370)}`, []],
      ["has room", "word", []],
      ["has room", "word", [{ name: "a.txt", mediaType: "text/plain", data: "YQ==" }]],
    ] as const)("each part once, where a note %s in the last text", async (_, text, attachments) => {
      const { app, channel } = await connected();
      let kept: OutboundMessage["sent"];
      const more = { notice: "Interrupted.", attachments, question: question(["red"]) };
      app.state.refuse = () => (kept ? new Refusal("internal_error") : undefined);
      const attempt = channel.send(reply(app, text, more), async (sent) => {
        kept = sent;
      });
      await expect(attempt).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
      app.state.refuse = undefined;
      await channel.send(reply(app, text, { ...more, ...(kept ? { sent: kept } : {}), mayRepeat: true }));
      expect(textsOf(app)).toEqual([
        `${text}\n\nInterrupted.`,
        ...attachments.map(() => ""),
        "Choose an answer, or write !answer TEXT.",
        "(This may have reached you before.)",
      ]);
    });

    it.each([
      ["channel_not_found", "CHANNEL_REFUSED", "Slack answers channel_not_found."],
      ["is_archived", "CHANNEL_REFUSED", "Slack answers is_archived."],
      ["internal_error", "CHANNEL_CONNECTION_LOST", "Slack answers internal_error."],
      ["token_revoked", "CHANNEL_CONNECTION_LOST", /^Slack refuses the bot's token/],
    ] as const)("nothing where Slack answers %s: %s", async (error, code, message) => {
      const { app, channel } = await connected();
      app.state.refuse = () => new Refusal(error);
      const failure = await channel.send(reply(app, "hello")).catch((reason: unknown) => reason);
      expect(failure).toBeInstanceOf(ChannelError);
      expect(failure).toMatchObject({ code, message: expect.stringMatching(message) });
      const { details } = failure as ChannelError;
      expect(details.notTaken ?? false).toBe(error !== "internal_error");
    });
  });

  describe("shows drafts", () => {
    it("and changes them into the reply, of more or of fewer messages", async () => {
      const { app, channel } = await connected();
      const long = "word ".repeat(1_500);
      const first = await channel.send(reply(app, "word"));
      const grown = await channel.edit?.(app.direct, first?.primary ?? "", long);
      expect([app.sent().length, grown?.primary]).toEqual([2, first?.primary]);
      const draft = grown ?? { primary: "", overflow: [] };
      const sent = await channel.send(reply(app, "short", { draft }));
      expect([textsOf(app), sent]).toEqual([["short"], { primary: first?.primary, overflow: [] }]);
    });

    it("and sends anew what was deleted, or cannot be changed any more", async () => {
      const { app, channel } = await connected();
      const draft = await channel.send(reply(app, "word"));
      app.state.refuse = ({ method }) => (method === "chat.update" ? new Refusal("edit_window_closed") : undefined);
      const sent = await channel.send(reply(app, "whole", draft ? { draft } : {}));
      expect([textsOf(app), sent?.primary === draft?.primary]).toEqual([["word", "whole"], false]);
    });

    it("and keeps to the pauses that Slack asks for", async () => {
      const { app, channel } = await connected();
      const sent = await channel.send(reply(app, "one"));
      const edit = (text: string) => channel.edit?.(app.direct, sent?.primary ?? "", text) ?? Promise.resolve(null);
      let refusals = 1;
      app.state.refuse = () => (refusals-- > 0 ? tooMany(1) : undefined);
      await edit("two");
      expect([textsOf(app), app.state.calls.length]).toEqual([["two"], 3]);
      app.state.refuse = () => tooMany(30);
      await expect(edit("three")).rejects.toMatchObject({
        code: "CHANNEL_CONNECTION_LOST",
        details: { retryAfterS: 30, notTaken: true },
      });
      app.state.refuse = undefined;
      app.state.limits.updates = 1;
      await expect(edit("four")).rejects.toMatchObject({ details: { retryAfterS: 60 } });
    });

    it("and ends a change between two messages when it is cancelled, or the connection breaks in it", async () => {
      const { fake, app, channel } = await connected();
      const sent = await channel.send(reply(app, "word ".repeat(1_500)));
      const cancelled = new AbortController();
      app.state.refuse = () => {
        cancelled.abort();
        return undefined;
      };
      const change = channel.edit?.(
        app.direct,
        sent?.primary ?? "",
        "other ".repeat(1_500),
        sent?.overflow,
        cancelled.signal,
      );
      await expect(change).rejects.toBeInstanceOf(ChannelError);
      expect(app.sent().map(({ edits }) => edits)).toEqual([1, 0]);
      app.state.refuse = undefined;
      fake.fault = "unanswered";
      await expect(channel.edit?.(app.direct, sent?.primary ?? "", "last")).rejects.toMatchObject({
        code: "CHANNEL_CONNECTION_LOST",
        message: expect.stringMatching(/^Slack cannot be reached/),
      });
      fake.fault = "none";
      await channel.send(reply(app, "last", sent ? { draft: sent } : {}));
      expect(textsOf(app)).toEqual(["last"]);
    });
  });
});

describe("a token that is typed at a setup", () => {
  it("is asked about no more when the setup is cancelled, also in a pause", async () => {
    const fake = await startSlackFake();
    const { state } = fake.app();
    const cancelled = new AbortController();
    const verify = (signal: AbortSignal) =>
      slack.setup.verify({ key: "token", value: state.token, settings: { base_url: fake.url } }, signal);
    state.refuse = () => tooMany(5);
    const first = verify(cancelled.signal).catch(() => "cancelled");
    await until(() => state.calls.length === 1);
    state.refuse = () => (state.calls.length === 2 ? tooMany(2) : undefined);
    const other = verify(AbortSignal.timeout(30_000));
    await until(() => state.calls.length === 2);
    cancelled.abort();
    // The pause of the first one would be longer.
    expect(await Promise.race([first, other])).toBe("cancelled");
    expect(await other).toBe("Slack takes the token.");
  });

  it("is taken, or refused with where the right one is found, or cannot be judged", async () => {
    const fake = await startSlackFake();
    const { state } = fake.app();
    const verify = (key: string, value: string) =>
      slack.setup.verify({ key, value, settings: { base_url: `${fake.url}/` } }, AbortSignal.timeout(30_000));
    expect(await verify("token", state.token)).toBe("Slack takes the token.");
    expect(await verify("app_token", state.appToken)).toBe("Slack takes the token.");
    await expect(verify("token", "xoxb-none")).rejects.toMatchObject({
      code: "CHANNEL_REFUSED",
      message: expect.stringContaining("OAuth & Permissions"),
    });
    // The other one is typed easily.
    await expect(verify("app_token", state.token)).rejects.toMatchObject({
      code: "CHANNEL_REFUSED",
      message: expect.stringContaining("App-Level Tokens"),
    });
    fake.fault = "down";
    await expect(verify("token", state.token)).rejects.toMatchObject({ code: "CHANNEL_CONNECTION_LOST" });
    await fake.close();
  });
});
