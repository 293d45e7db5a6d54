/** What an idle channel costs: how often the threads of a node wake up, with a chat channel connected and without one. */

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { OWNER } from "../test/fakes/discord/bot.ts";
import { openDiscordFake } from "../test/fakes/discord/index.ts";
import { openSlackFake } from "../test/fakes/slack/index.ts";
import { OWNER as SLACK_OWNER } from "../test/fakes/slack/workspace.ts";
import { openTelegramFake } from "../test/fakes/telegram/index.ts";
import { createDeployment, type NodeProcess, startNode } from "../test/support/node-process.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { startModel } from "./support/model.ts";
import { endNode } from "./support/node.ts";

/** Milliseconds for what follows a start. */
const REST_MS = 15_000;
/** Two long polls of Telegram. */
const WATCHED_MS = 60_000;

export const bench: Bench = {
  about: "wake-ups of idle nodes at the same time: without a chat channel, with Telegram, with Discord, with Slack",
  async run(context) {
    const model = await startModel(context);
    const telegram = await openTelegramFake();
    context.defer(() => telegram.close());
    const discord = await openDiscordFake();
    context.defer(() => discord.close());
    const slack = await openSlackFake();
    context.defer(() => slack.close());
    const [chat, server, app] = [telegram.bot(), discord.bot(), slack.app()];
    const nodes = new Map<string, NodeProcess>();
    const variants = {
      "no chat channel": {},
      Telegram: { telegram: { token: chat.token, owner_id: 1, base_url: telegram.url } },
      Discord: { discord: { token: server.token, owner_id: OWNER, base_url: discord.url } },
      Slack: {
        slack: { token: app.state.token, app_token: app.state.appToken, owner_id: SLACK_OWNER, base_url: slack.url },
      },
    };
    for (const [name, channels] of Object.entries(variants)) nodes.set(name, await idleNode(context, model, channels));
    await sleep(REST_MS, undefined, { signal: context.signal });
    context.begin();
    const before = await wakeUpsOf(nodes);
    const calls = chat.state.calls.length;
    const beats = server.state.gateway.heartbeats;
    const asked = app.state.calls.length;
    await sleep(WATCHED_MS, undefined, { signal: context.signal });
    const after = await wakeUpsOf(nodes);
    context.together(() => {
      for (const name of nodes.keys()) {
        const perSecond = (((after.get(name) ?? 0) - (before.get(name) ?? 0)) * 1_000) / WATCHED_MS;
        context.value({ name: `wake-ups of the main thread, ${name}`, unit: "1/s" }, perSecond);
      }
      context.value({ name: "requests to Telegram", unit: "in a minute" }, chat.state.calls.length - calls);
      context.value({ name: "requests to Slack", unit: "in a minute" }, app.state.calls.length - asked);
      context.value({ name: "heartbeats to Discord", unit: "in a minute" }, server.state.gateway.heartbeats - beats);
    });
  },
};

async function idleNode(context: BenchContext, model: string, channels: object): Promise<NodeProcess> {
  const deployment = await createDeployment({
    config: {
      providers: { model: { kind: "openai-compatible", base_url: model, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      memory: { postgres: { connection_string: await context.postgres() } },
      channels,
    },
  });
  context.defer(() => deployment.remove());
  const node = await startNode(deployment);
  context.defer(() => endNode(node));
  return node;
}

/** How often each main thread gave the processor back, having nothing to do: once a wake-up. */
async function wakeUpsOf(nodes: ReadonlyMap<string, NodeProcess>): Promise<ReadonlyMap<string, number>> {
  const counted = [...nodes].map(async ([name, { pid }]) => {
    const status = await readFile(`/proc/${pid}/task/${pid}/status`, "utf8");
    return [name, Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1])] as const;
  });
  return new Map(await Promise.all(counted));
}
