/** A Discord bot on nodes that share a database, as processes: what is written while no node is connected is answered once, by the next one. */

import { expect, it } from "vitest";
import { OWNER, STRANGER } from "../fakes/discord/bot.ts";
import { type DiscordBot, startDiscordFake } from "../fakes/discord/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { channelState, receiverOf } from "../support/receiving-nodes.ts";
import { databaseUrl, deploymentOf, killed, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };

const deploymentNamed = (name: string, database: string, url: string, token: string, server: string) =>
  deploymentOf({
    env: { BOT_TOKEN: token },
    config: {
      runtime: { lease: "2s", listen: "127.0.0.1:0" },
      providers: { offline: {} },
      agents: { main: { provider: "offline" }, other: { provider: "offline" } },
      mesh: { name },
      memory: { postgres: { connection_string: database } },
      channels: {
        discord: {
          token: "${BOT_TOKEN}",
          owner_id: OWNER,
          base_url: url,
          channel_bindings: { [server]: "other" },
          reconnect: { initial_delay: "50ms", max_delay: "500ms" },
        },
      },
    },
  });

/** The owner writes, and gets one more answer. */
async function answered(bot: DiscordBot, text: string, channel = bot.direct): Promise<void> {
  const before = bot.sent().length;
  bot.say(text, { channel });
  await expect.poll(() => bot.sent().length, EVENTUALLY).toBe(before + 1);
  expect(bot.sent().at(-1)).toMatchObject({ channel_id: channel });
}

it("one node receives, and what was missed is read by the next one, when it is drained, stopped or killed", async () => {
  const fake = await startDiscordFake();
  const bot = fake.bot();
  const server = bot.channel();
  const quiet = bot.channel();
  const database = await databaseUrl();
  const nodes: NodeProcess[] = [];
  for (const name of ["one", "two"]) {
    nodes.push(await runningNode(await deploymentNamed(name, database, fake.url, bot.token, server)));
  }
  const [one, two] = nodes as [NodeProcess, NodeProcess];

  expect(await receiverOf(nodes, "discord")).toBe(one);
  expect(await channelState(two, "discord")).toEqual({
    platform: "discord",
    state: "standby",
    reason: "one receives",
  });
  await answered(bot, "hello");
  await answered(bot, "hello to the other one", server);
  await answered(bot, "hello in a third place", quiet);
  bot.say("a stranger", { from: STRANGER, channel: server });

  // One is missed by the gateway, with none behind it that is heard, and some arrive while the nodes change.
  const before = bot.sent().length;
  bot.say("unheard", { isUnheard: true, channel: quiet });
  const drained = one.call("/api/admin/drain", { wait: true });
  for (let n = 0; n < 20; n++) bot.say(`while it drains ${n}`, { channel: n % 2 === 0 ? server : bot.direct });
  await drained;
  expect(await receiverOf([two], "discord")).toBe(two);
  await expect.poll(() => bot.sent().length, EVENTUALLY).toBe(before + 21);
  await one.call("/api/admin/resume", {});
  await expect.poll(async () => (await channelState(one, "discord"))?.reason, EVENTUALLY).toBe("two receives");

  await killed(two);
  bot.say("while none receives", { channel: server });
  expect(await receiverOf([one], "discord")).toBe(one);
  await expect.poll(() => bot.sent().length, EVENTUALLY).toBe(before + 22);
  await answered(bot, "after a kill");

  expect(bot.sent()).toHaveLength(before + 23);
  for (const { output } of nodes) {
    expect(output()).not.toContain(bot.token);
    expect(output()).not.toContain(bot.token.split(".")[2]);
  }
});
