/** A Telegram bot on nodes that share a database, as processes: one receives at a time, and each message is answered once. */

import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { startTelegramFake, type TelegramBot } from "../fakes/telegram/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { channelState, receiverOf } from "../support/receiving-nodes.ts";
import { databaseUrl, deploymentOf, killed, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };
/** No load makes a node lose this one within the test. */
const LONG_LEASE = "10m";

interface Given {
  readonly name: string;
  readonly database: string;
  readonly url: string;
  readonly token: string;
  readonly lease: string;
  /** Of the model. */
  readonly model: string;
}

const deploymentNamed = ({ name, database, url, token, lease, model }: Given) =>
  deploymentOf({
    env: { BOT_TOKEN: token },
    config: {
      runtime: { lease, listen: "127.0.0.1:0" },
      providers: { echo: { kind: "openai-compatible", base_url: model, model: "fake", api_key: "none" } },
      agents: { main: { provider: "echo" }, other: { provider: "echo" } },
      mesh: { name },
      memory: { postgres: { connection_string: database } },
      channels: {
        telegram: {
          token: "${BOT_TOKEN}",
          owner_id: 1,
          base_url: url,
          channel_bindings: { "-100": "other" },
          reconnect: { initial_delay: "50ms", max_delay: "500ms", max_retries: 10_000 },
        },
      },
    },
  });

/** Nodes of these names; the first one receives. */
async function nodesOf(lease: string, ...names: readonly string[]) {
  const fake = await startTelegramFake();
  const bot = fake.bot();
  const model = await startOpenAiFake({ script: ({ lastUser }) => ({ text: `${lastUser.split("\n").at(-1)}!` }) });
  onTestFinished(() => model.close());
  const database = await databaseUrl();
  const nodes: NodeProcess[] = [];
  for (const name of names) {
    const given = { name, database, url: fake.url, token: bot.token, lease, model: model.baseUrl };
    nodes.push(await runningNode(await deploymentNamed(given)));
  }
  const [first] = nodes as [NodeProcess];
  expect(await receiverOf(nodes, "telegram")).toBe(first);
  const store = new pg.Client({ connectionString: database });
  await store.connect();
  onTestFinished(() => store.end());
  /** All that was sent has been noted as sent: what is cut off before that goes out once more. */
  const noted = () =>
    expect
      .poll(async () => (await store.query("select 1 from outbox where state = 'pending'")).rowCount, EVENTUALLY)
      .toBe(0);
  return {
    bot,
    nodes,
    noted,
    except: (...gone: readonly NodeProcess[]) => nodes.filter((node) => !gone.includes(node)),
  };
}

/** The owner writes, and gets one more answer. */
async function answered(bot: TelegramBot, text: string, chat = 1): Promise<void> {
  const before = bot.state.sent.length;
  bot.say(text, { chat });
  await expect.poll(() => bot.state.sent.length, EVENTUALLY).toBe(before + 1);
  expect(bot.state.sent.at(-1)?.chat).toBe(chat);
  expect(sentSince(bot, before)).toEqual([`${text}!`]);
}

/** The owner writes so many at once, and what is to be their answers. */
function burst(bot: TelegramBot, what: string, chats: readonly number[], count: number): readonly string[] {
  const texts = Array.from({ length: count }, (_, n) => `${what} ${n}`);
  for (const [n, text] of texts.entries()) bot.say(text, { chat: chats[n % chats.length] ?? 1 });
  return texts.map((text) => `${text}!`);
}

/** What was sent from then on, whatever its order in several chats, without the note of a turn that has changed its node. */
const sentSince = ({ state }: TelegramBot, before: number): readonly string[] =>
  state.sent
    .slice(before)
    .map(({ text }) => text.replace("\n\nThis turn was interrupted and has been resumed.", ""))
    .toSorted();

it("one node receives while the others send, and hands over without an overlap when it is drained or stopped", async () => {
  const { bot, nodes, except } = await nodesOf(LONG_LEASE, "one", "two", "three");
  const [one, two] = nodes as [NodeProcess, NodeProcess];
  expect(await channelState(two, "telegram")).toEqual({
    platform: "telegram",
    state: "standby",
    reason: "one receives",
  });
  await answered(bot, "hello");
  await answered(bot, "hello to the other one", -100);
  bot.say("a stranger", { from: 2 });

  await one.call("/api/admin/drain", { wait: true });
  const second = await receiverOf(except(one), "telegram");
  await answered(bot, "after a drain");
  await one.call("/api/admin/resume", {});
  await expect
    .poll(async () => (await channelState(one, "telegram"))?.reason, EVENTUALLY)
    .toMatch(/^(two|three) receives$/);

  // Some arrive while nobody receives.
  const before = bot.state.sent.length;
  second.signal("SIGTERM");
  const answers = burst(bot, "while it stops", [1, -100], 20);
  expect(await second.exited).toBe(0);
  await expect.poll(() => sentSince(bot, before), EVENTUALLY).toEqual(answers.toSorted());
  await receiverOf(except(second), "telegram");

  expect(bot.state.polls).toMatchObject({ most: 1, terminated: 0 });
  expect(bot.state.sent).toHaveLength(before + 20);
  for (const { output } of nodes) expect(output()).not.toContain(bot.token.split(":")[1]);
});

it("each message is answered once when the node that receives is killed, or stands still while another takes over", async () => {
  const { bot, nodes, noted, except } = await nodesOf("2s", "one", "two", "three");
  await answered(bot, "hello");
  const [one] = nodes as [NodeProcess];
  await noted();
  await killed(one);
  const still = await receiverOf(except(one), "telegram");
  const [next] = except(one, still) as [NodeProcess];
  await answered(bot, "after a kill");

  await noted();
  // Its poll stays open at the platform until the next one's ends it.
  still.signal("SIGSTOP");
  await receiverOf([next], "telegram");
  expect(bot.state.polls.terminated).toBe(1);
  const before = bot.state.sent.length;
  const answers = burst(bot, "while it stands still", [1], 10);
  await expect.poll(() => sentSince(bot, before), EVENTUALLY).toEqual(answers.toSorted());
  still.signal("SIGCONT");
  const more = [...answers, ...burst(bot, "while it goes on", [1], 10)];
  await expect.poll(() => sentSince(bot, before), EVENTUALLY).toEqual(more.toSorted());
  await receiverOf([still, next], "telegram");
  await answered(bot, "after all");
  expect(sentSince(bot, before)).toEqual([...more, "after all!"].toSorted());
});
