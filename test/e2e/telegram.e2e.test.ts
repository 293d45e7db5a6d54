/** A Telegram bot on nodes that share a database, as processes: one receives at a time, and each message is answered once. */

import { expect, it } from "vitest";
import { startTelegramFake, type TelegramBot } from "../fakes/telegram/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { channelState, receiverOf } from "../support/receiving-nodes.ts";
import { databaseUrl, deploymentOf, killed, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };
const LEASE = "2s";

const deploymentNamed = (name: string, database: string, url: string, token: string) =>
  deploymentOf({
    env: { BOT_TOKEN: token },
    config: {
      runtime: { lease: LEASE, listen: "127.0.0.1:0" },
      providers: { offline: {} },
      agents: { main: { provider: "offline" }, other: { provider: "offline" } },
      mesh: { name },
      memory: { postgres: { connection_string: database } },
      channels: {
        telegram: {
          token: "${BOT_TOKEN}",
          owner_id: 1,
          base_url: url,
          channel_bindings: { "-100": "other" },
          reconnect: { initial_delay: "50ms", max_delay: "500ms" },
        },
      },
    },
  });

/** The owner writes, and gets one more answer. */
async function answered(bot: TelegramBot, text: string, chat = 1): Promise<void> {
  const before = bot.state.sent.length;
  bot.say(text, { chat });
  await expect.poll(() => bot.state.sent.length, EVENTUALLY).toBe(before + 1);
  expect(bot.state.sent.at(-1)).toMatchObject({ chat });
}

it("one node receives while the others send, and each message is answered once when it is drained, stopped or killed", async () => {
  const fake = await startTelegramFake();
  const bot = fake.bot();
  const database = await databaseUrl();
  const nodes: NodeProcess[] = [];
  for (const name of ["one", "two", "three"]) {
    nodes.push(await runningNode(await deploymentNamed(name, database, fake.url, bot.token)));
  }
  const [one, two] = nodes as [NodeProcess, NodeProcess, NodeProcess];
  const except = (...gone: readonly NodeProcess[]) => nodes.filter((node) => !gone.includes(node));

  expect(await receiverOf(nodes, "telegram")).toBe(one);
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
  for (let n = 0; n < 20; n++) bot.say(`while it stops ${n}`, { chat: n % 2 === 0 ? 1 : -100 });
  expect(await second.exited).toBe(0);
  await expect.poll(() => bot.state.sent.length, EVENTUALLY).toBe(before + 20);
  const third = await receiverOf(except(second), "telegram");
  await killed(third);
  await receiverOf(except(second, third), "telegram");
  await answered(bot, "after a kill");

  expect(bot.state.polls).toMatchObject({ most: 1, refused: 0 });
  expect(bot.state.sent).toHaveLength(before + 21);
  for (const { output } of nodes) expect(output()).not.toContain(bot.token.split(":")[1]);
});
