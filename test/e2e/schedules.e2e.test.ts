/** Schedules on two nodes that share a database, as processes: run by hand, paused for both, and made up for once after they were down. */

import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import type { ScheduleRun, ScheduleStatus } from "../../runtime/contracts/schedules.ts";
import { startTelegramFake } from "../fakes/telegram/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { databaseUrl, deploymentOf, killed, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };
const OWNER = 7;

const deploymentNamed = (name: string, database: string, url: string, token: string) =>
  deploymentOf({
    env: { BOT_TOKEN: token },
    config: {
      runtime: { lease: "2s", listen: "127.0.0.1:0" },
      providers: { offline: {} },
      agents: {
        main: {
          provider: "offline",
          schedules: [
            { name: "sent", cron: "0 3 1 1 *", prompt: "What is there to send?", channel: "telegram" },
            { name: "kept", cron: "0 4 1 1 *", prompt: "What is there to keep?" },
          ],
        },
      },
      mesh: { name },
      memory: { postgres: { connection_string: database } },
      channels: { telegram: { token: "${BOT_TOKEN}", owner_id: OWNER, base_url: url } },
    },
  });

async function list(node: NodeProcess): Promise<readonly ScheduleStatus[]> {
  return (await node.call<{ schedules: readonly ScheduleStatus[] }>("/api/admin/schedules")).schedules;
}

it("a run by hand is answered where it belongs, a pause holds on both nodes, and what was missed is made up for by one of them", async () => {
  const fake = await startTelegramFake();
  onTestFinished(() => fake.close());
  const bot = fake.bot();
  const database = await databaseUrl();
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  onTestFinished(() => client.end());
  const rows = async (sql: string) => (await client.query(sql)).rows;
  const deployments = [
    await deploymentNamed("one", database, fake.url, bot.token),
    await deploymentNamed("two", database, fake.url, bot.token),
  ];
  const nodes: NodeProcess[] = [];
  for (const deployment of deployments) nodes.push(await runningNode(deployment));
  const [one, two] = nodes as [NodeProcess, NodeProcess];
  await expect.poll(() => rows("select name from schedules"), EVENTUALLY).toHaveLength(2);

  // A bot writes to nobody who has not written to it.
  bot.say("Hello.", { from: OWNER });
  await expect.poll(() => bot.state.sent, EVENTUALLY).toHaveLength(1);

  await two.call("/api/admin/schedules/main/sent/pause", {});
  expect(await list(one)).toMatchObject([
    { name: "sent", state: "paused", channel: "telegram", conversation: String(OWNER) },
    { name: "kept", state: "active", channel: null },
  ]);
  const sent = await two.call<ScheduleRun>("/api/admin/schedules/main/sent/run", {});
  await expect.poll(() => bot.state.sent, EVENTUALLY).toHaveLength(2);
  expect(bot.state.sent[1]).toMatchObject({ chat: OWNER });
  bot.say("Tell me more.", { from: OWNER });
  await expect.poll(() => bot.state.sent, EVENTUALLY).toHaveLength(3);
  expect(await rows("select distinct session_key from inbox")).toHaveLength(1);
  await expect
    .poll(() => list(one), EVENTUALLY)
    .toMatchObject([{ last: { turn_id: sent.turn_id, state: "done", error: null } }, { last: null }]);

  const kept = await one.call<ScheduleRun>("/api/admin/schedules/main/kept/run", {});
  await expect
    .poll(() => list(two), EVENTUALLY)
    .toMatchObject([{}, { last: { turn_id: kept.turn_id, state: "done" } }]);
  expect(await one.call(`/api/agents/main/turns/${kept.turn_id}`)).toMatchObject({ turn_id: kept.turn_id });
  expect(bot.state.sent).toHaveLength(3);

  await one.call("/api/admin/schedules/main/sent/resume", {});
  for (const node of nodes) await killed(node);
  await client.query("update schedules set planned_at = now() - interval '3 years'");
  const planned = "select name, planned_at > now() - interval '1 year' as current from schedules order by name";
  await Promise.all(deployments.map((deployment) => runningNode(deployment)));
  await expect
    .poll(() => rows(planned), EVENTUALLY)
    .toEqual([
      { name: "kept", current: true },
      { name: "sent", current: true },
    ]);
  await expect.poll(() => bot.state.sent, EVENTUALLY).toHaveLength(4);
  const runs = await rows("select external_id from inbox where external_id like 'schedule:%:2%' order by external_id");
  expect(runs.map(({ external_id: id }) => id)).toEqual([
    expect.stringMatching(/^schedule:kept:\d{4}-01-01T04:00:00\.000Z$/),
    expect.stringMatching(/^schedule:sent:\d{4}-01-01T03:00:00\.000Z$/),
  ]);
});
