/** A Slack app on nodes that share a database, as processes: each message is answered once, whichever of them receives, and whichever ends. */

import { expect, it } from "vitest";
import { type SlackApp, startSlackFake } from "../fakes/slack/index.ts";
import { OWNER, STRANGER } from "../fakes/slack/workspace.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { channelState, receiverOf } from "../support/receiving-nodes.ts";
import { databaseUrl, deploymentOf, killed, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };

const deploymentNamed = (name: string, database: string, url: string, { token, appToken }: SlackApp["state"]) =>
  deploymentOf({
    env: { BOT_TOKEN: token, APP_TOKEN: appToken },
    config: {
      runtime: { lease: "2s", listen: "127.0.0.1:0" },
      providers: { offline: {} },
      agents: { main: { provider: "offline" } },
      mesh: { name },
      memory: { postgres: { connection_string: database } },
      channels: {
        slack: {
          token: "${BOT_TOKEN}",
          app_token: "${APP_TOKEN}",
          owner_id: OWNER,
          base_url: url,
          reconnect: { initial_delay: "50ms", max_delay: "500ms" },
        },
      },
    },
  });

it("one node receives, and what was missed is taken by the next one, when it is drained, stopped or killed", async () => {
  const fake = await startSlackFake();
  const app = fake.app();
  const open = app.channel();
  const database = await databaseUrl();
  const nodes: NodeProcess[] = [];
  for (const name of ["one", "two"]) {
    nodes.push(await runningNode(await deploymentNamed(name, database, fake.url, app.state)));
  }
  const [one, two] = nodes as [NodeProcess, NodeProcess];
  const answers = (count: number) => expect.poll(() => app.sent().length, EVENTUALLY).toBe(count);

  expect(await receiverOf(nodes, "slack")).toBe(one);
  expect(await channelState(two, "slack")).toEqual({ platform: "slack", state: "standby", reason: "one receives" });
  app.say("hello");
  await answers(1);
  const { ts } = app.say("hello in a channel", { channel: open });
  await answers(2);
  app.say("hello in a thread", { channel: open, thread: ts });
  await answers(3);
  expect(app.sent().map(({ channel, thread }) => [channel, thread])).toEqual([
    [app.direct, undefined],
    [open, undefined],
    [open, ts],
  ]);
  app.say("a stranger", { from: STRANGER, channel: open });

  app.announce("refresh_requested");
  app.say("while the connection is replaced");
  await answers(4);

  // Some are never said again, and some arrive while the nodes change.
  app.say("unheard", { isUnheard: true });
  const drained = one.call("/api/admin/drain", { wait: true });
  for (let n = 0; n < 20; n++) app.say(`while it drains ${n}`, n % 2 === 0 ? { channel: open } : {});
  await drained;
  expect(await receiverOf([two], "slack")).toBe(two);
  await answers(25);
  await one.call("/api/admin/resume", {});
  await expect.poll(async () => (await channelState(one, "slack"))?.reason, EVENTUALLY).toBe("two receives");

  await killed(two);
  app.say("while none receives", { channel: open, isUnheard: true });
  expect(await receiverOf([one], "slack")).toBe(one);
  await answers(26);
  app.say("after a kill");
  await answers(27);

  for (const { output } of nodes) {
    expect(output()).not.toContain(app.state.token);
    expect(output()).not.toContain(app.state.appToken);
  }
});
