/**
 * 5,000 messages at once on 50 conversations of a chat platform, each with much around it: a node with little memory answers all of them
 * once, in the order of each conversation.
 */

import { readFile } from "node:fs/promises";
import { expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { until } from "../support/eventually.ts";
import type { Chat } from "../support/faults/chats/chat.ts";
import { discordChat } from "../support/faults/chats/discord.ts";
import { slackChat } from "../support/faults/chats/slack.ts";
import { telegramChat } from "../support/faults/chats/telegram.ts";
import { channelState } from "../support/receiving-nodes.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

const CONVERSATIONS = 50;
const MESSAGES = 5_000;
/** Megabytes for all that lives longer: a node that is idle needs some 60 of them, and the burst would take 200. */
const HEAP = 192;
/** Of the process, with its code and what stands in its sockets: idle it has 250. */
const MOST_OF_ALL = 600;
/** Characters around each message, such as those of one that it answers. In V8 they take two bytes each. */
const AROUND = "ў".repeat(20_000);

const PLATFORMS: Readonly<Record<string, () => Promise<Chat>>> = {
  "Telegram, polling": () => telegramChat("polling"),
  "Telegram, webhook": () => telegramChat("webhook"),
  Discord: () => discordChat(),
  Slack: () => slackChat(),
};

it.each(Object.entries(PLATFORMS))("over %s", async (_name, open) => {
  const chat = await open();
  const model = await startOpenAiFake({
    // What memory finds of other messages stands beside it.
    script: ({ lastUser }) => ({
      text: [/^message \d+\.$/m.exec(lastUser)?.[0] ?? `none in ${lastUser.slice(0, 200)}`],
    }),
  });
  onTestFinished(() => model.close());
  const deployment = await deploymentOf({
    env: chat.env,
    config: {
      providers: { model: { kind: "openai-compatible", base_url: model.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      memory: { postgres: { connection_string: await databaseUrl() } },
      channels: { [chat.channel]: chat.settings },
    },
  });
  const node = await runningNode(deployment, { nodeOptions: [`--max-old-space-size=${HEAP}`] });
  chat.attach(node);
  await until(async () => (await channelState(node, chat.channel))?.state === "up");

  const conversations = Array.from({ length: CONVERSATIONS }, () => chat.conversation());
  const of = new Map(conversations.map((conversation) => [conversation, [] as number[]]));
  for (let n = 0; n < MESSAGES; n++) {
    const conversation = conversations[n % CONVERSATIONS] ?? "";
    of.get(conversation)?.push(n);
    chat.say(`message ${n}.`, conversation, AROUND);
  }
  // It may take long, as long as it goes on.
  for (let count = 0; count < MESSAGES; count = chat.shown().length) {
    await Promise.race([until(() => chat.shown().length > count), node.exited]);
    if (node.output().includes("heap out of memory")) throw new Error(node.output().slice(-2_000));
  }

  const answered = new Map(conversations.map((conversation) => [conversation, [] as (number | string)[]]));
  for (const { conversation, text } of chat.shown()) answered.get(conversation)?.push(numberIn(text));
  expect(answered).toEqual(of);
  await until(() => chat.unacknowledged() === 0);
  expect(await mostMemory(node.pid)).toBeLessThan(MOST_OF_ALL);
});

/** The text where there is none. */
function numberIn(text: string): number | string {
  const number = /^message (\d+)\./.exec(text)?.[1];
  return number === undefined ? text : Number(number);
}

/** Megabytes. */
async function mostMemory(pid: number): Promise<number> {
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}
