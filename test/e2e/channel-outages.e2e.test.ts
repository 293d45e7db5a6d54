/**
 * What goes wrong on a platform's side while a node runs: it cannot be reached for long, it refuses the bot's token, and a person changes
 * what waits in line. The node's state says so, other channels go on, and each message is answered once when it is over.
 */

import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { until } from "../support/eventually.ts";
import type { Chat } from "../support/faults/chats/chat.ts";
import { discordChat } from "../support/faults/chats/discord.ts";
import { slackChat } from "../support/faults/chats/slack.ts";
import { telegramChat } from "../support/faults/chats/telegram.ts";
import { channelState } from "../support/receiving-nodes.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };
const reconnect = { initial_delay: "50ms", max_delay: "200ms", max_retries: 2 };

const telegram = () => telegramChat("polling");
const discord = () => discordChat();

const CASES: readonly (readonly [name: string, chat: () => Promise<Chat>, other: () => Promise<Chat>])[] = [
  ["Telegram", telegram, discord],
  ["Discord", discord, telegram],
  ["Slack", slackChat, telegram],
];

it.each(CASES)("%s is down, and refuses the token, and is back: nothing is lost", async (name, open, openOther) => {
  const [chat, other] = [await open(), await openOther()];
  const model = await startOpenAiFake({
    script: ({ lastUser }) => ({
      text: [`echo: ${lastUser}`],
      ...(lastUser.includes("Take your time") ? { hold: { gate: "time" } } : {}),
    }),
  });
  onTestFinished(() => model.close());
  const deployment = await deploymentOf({
    env: { ...chat.env, ...other.env },
    config: {
      providers: { model: { kind: "openai-compatible", base_url: model.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      memory: { postgres: { connection_string: await databaseUrl() } },
      channels: {
        [chat.channel]: { ...chat.settings, reconnect },
        [other.channel]: { ...other.settings, reconnect },
      },
    },
  });
  const node = await runningNode(deployment);
  const stateOf = (channel: string) => channelState(node, channel).catch(() => undefined);
  const isUp = async (channel: string) => until(async () => (await stateOf(channel))?.state === "up");
  await Promise.all([isUp(chat.channel), isUp(other.channel)]);
  const answersTo = (of: Chat, text: string) => of.shown().filter((one) => one.text.startsWith(`echo: ${text}`)).length;
  const isAnswered = (of: Chat, text: string) => expect.poll(() => answersTo(of, text), EVENTUALLY).toBe(1);

  chat.unreachable(true);
  chat.say("As it breaks.");
  await expect.poll(() => stateOf(chat.channel), EVENTUALLY).toMatchObject({ state: "down" });
  expect((await stateOf(chat.channel))?.reason).toContain(name);
  chat.say("While it is down.");
  other.say("Elsewhere.");
  await isAnswered(other, "Elsewhere.");
  expect(await stateOf(other.channel)).toMatchObject({ state: "up" });
  chat.unreachable(false);
  await isUp(chat.channel);
  await isAnswered(chat, "As it breaks.");
  await isAnswered(chat, "While it is down.");

  chat.revoked(true);
  chat.say("As the token is refused.");
  await expect.poll(() => stateOf(chat.channel), EVENTUALLY).toMatchObject({ state: "down" });
  expect((await stateOf(chat.channel))?.reason).toMatch(new RegExp(`${name} refuses the (bot|app)'s token`));
  chat.say("While it is refused.");
  other.say("Elsewhere, too.");
  await isAnswered(other, "Elsewhere, too.");
  chat.revoked(false);
  await isUp(chat.channel);
  await isAnswered(chat, "As the token is refused.");
  await isAnswered(chat, "While it is refused.");

  chat.say("Take your time.");
  await until(() => model.requests.some(({ lastUser, state }) => lastUser.includes("Take") && state === "open"));
  chat.say("As it was.");
  await until(async () => {
    const { agents } = await node.call<{ agents: { main: { queued: number } } }>("/health");
    return agents.main.queued === 1;
  });
  chat.changeLast("As it became.");
  model.release("time");
  await isAnswered(chat, "Take your time.");
  await isAnswered(chat, "As it was.");
  chat.say("The last one.");
  await isAnswered(chat, "The last one.");
  expect(chat.shown()).toHaveLength(7);
  expect(model.requests.filter(({ texts }) => texts.join().includes("As it became."))).toEqual([]);
  for (const secret of Object.values({ ...chat.env, ...other.env })) expect(node.output()).not.toContain(secret);
});

it("sends soon, in their order and once, what was answered while the platform was down for ten minutes", async () => {
  const chat = await telegram();
  const model = await startOpenAiFake({
    script: ({ lastUser }) => ({ text: [`echo: ${lastUser}`], hold: { gate: "down" } }),
  });
  onTestFinished(() => model.close());
  const url = await databaseUrl();
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  onTestFinished(() => database.end());
  const deployment = await deploymentOf({
    env: chat.env,
    config: {
      providers: { model: { kind: "openai-compatible", base_url: model.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      memory: { postgres: { connection_string: url } },
      channels: { [chat.channel]: { ...chat.settings, reconnect } },
    },
  });
  const node = await runningNode(deployment);
  const stateIs = (state: string) =>
    expect.poll(async () => (await channelState(node, chat.channel))?.state, EVENTUALLY).toBe(state);
  await stateIs("up");
  for (const text of ["One.", "Two."]) chat.say(text);
  await expect
    .poll(async () => (await database.query("select 1 from turns where state <> 'done'")).rowCount, EVENTUALLY)
    .toBe(2);
  chat.unreachable(true);
  await stateIs("down");
  model.release("down");
  const waiting = async (where: string) =>
    (await database.query(`select 1 from outbox where state = 'pending' and ${where}`)).rowCount;
  await expect.poll(() => waiting("true"), EVENTUALLY).toBe(2);
  await expect.poll(() => waiting("last_error is not null"), EVENTUALLY).toBe(1);
  // Ten minutes later.
  await database.query(
    `update outbox set created_at = now() - interval '10 minutes', attempts = 9, sent_at = now() - interval '2 minutes',
       next_attempt_at = case when last_error is null then next_attempt_at else now() + interval '180 seconds' end`,
  );
  chat.unreachable(false);
  await expect.poll(() => waiting("true"), EVENTUALLY).toBe(0);
  expect(chat.shown().map(({ text }) => text.split("\n")[0])).toEqual(["echo: One.", "echo: Two."]);
});
