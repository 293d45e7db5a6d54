/** What a chat channel adds to a turn: its replies beside those of the agent channel, of the same node, with a model that answers at once. */

import { setTimeout as sleep } from "node:timers/promises";
import { OWNER } from "../test/fakes/discord/bot.ts";
import { openDiscordFake } from "../test/fakes/discord/index.ts";
import { openSlackFake } from "../test/fakes/slack/index.ts";
import { OWNER as SLACK_OWNER } from "../test/fakes/slack/workspace.ts";
import { openTelegramFake } from "../test/fakes/telegram/index.ts";
import { createDeployment } from "../test/support/node-process.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { startModel } from "./support/model.ts";
import { messageText, TurnClient, withNode } from "./support/node.ts";
import { stats } from "./support/stats.ts";

const SESSIONS = 50;
const WARM_UP_ROUNDS = 3;
const ROUNDS = 15;
/** Milliseconds between two rounds, so that no limit of a platform is reached: Discord takes fifty requests a second of a bot. */
const PAUSE_MS = 2_500;
/** Milliseconds until a reply counts as lost. */
const PATIENCE_MS = 60_000;
/** Within a tenth of the agent channel's. */
const GOAL = { of: "value", atMost: 1.1 } as const;

/** Sends a message in the session of this number; resolves with the milliseconds until its reply is whole. */
type Reply = (session: number, text: string) => Promise<number>;

export const bench: Bench = {
  about: `from a message to its reply, ${SESSIONS} sessions at once: Telegram, Discord, Slack and the agent channel of one node, in turns`,
  async run(context) {
    const model = await startModel(context);
    const telegram = await openTelegramFake();
    context.defer(() => telegram.close());
    const discord = await openDiscordFake();
    context.defer(() => discord.close());
    const slack = await openSlackFake();
    context.defer(() => slack.close());
    const [chat, server, app] = [telegram.bot(), discord.bot(), slack.app()];
    const deployment = await createDeployment({
      env: {
        TELEGRAM_TOKEN: chat.token,
        DISCORD_TOKEN: server.token,
        SLACK_TOKEN: app.state.token,
        SLACK_APP_TOKEN: app.state.appToken,
      },
      config: {
        providers: { model: { kind: "openai-compatible", base_url: model, model: "fake", api_key: "none" } },
        agents: { main: { provider: "model" } },
        memory: { postgres: { connection_string: await context.postgres() } },
        runtime: { max_concurrent_turns: SESSIONS },
        channels: {
          telegram: { token: "${TELEGRAM_TOKEN}", owner_id: 1, base_url: telegram.url },
          discord: { token: "${DISCORD_TOKEN}", owner_id: OWNER, base_url: discord.url },
          slack: {
            token: "${SLACK_TOKEN}",
            app_token: "${SLACK_APP_TOKEN}",
            owner_id: SLACK_OWNER,
            base_url: slack.url,
          },
        },
      },
    });
    context.defer(() => deployment.remove());
    await withNode(deployment, async (node) => {
      const client = new TurnClient(node, context.signal);
      context.defer(() => client.close());
      const rooms = Array.from({ length: SESSIONS }, () => server.channel());
      const places = Array.from({ length: SESSIONS }, () => app.channel());
      const variants: Readonly<Record<string, Reply>> = {
        agent: (session, text) => client.wholeReply(`session-${session}`, text),
        telegram: (session, text) => {
          const id = -1 - session;
          const before = countOf(chat.state.sent, ({ chat: of }) => of === id);
          chat.say(text, { chat: id });
          return until(context, () => countOf(chat.state.sent, ({ chat: of }) => of === id) > before);
        },
        discord: (session, text) => {
          const room = server.state.channels.get(rooms[session] ?? "");
          const before = room?.messages.length ?? 0;
          server.say(text, { channel: rooms[session] ?? "" });
          // The message itself, and the reply.
          return until(context, () => (room?.messages.length ?? 0) > before + 1);
        },
        slack: (session, text) => {
          const place = app.state.channels.get(places[session] ?? "");
          const before = place?.messages.length ?? 0;
          app.say(text, { channel: places[session] ?? "" });
          return until(context, () => (place?.messages.length ?? 0) > before + 1);
        },
      };
      await receiving(context, async () => (await node.call<Health>("/health")).channels);
      await compare(context, variants);
    });
  },
};

interface Health {
  readonly channels: Readonly<Record<string, { readonly state: string }>>;
}

async function receiving(context: BenchContext, read: () => Promise<Health["channels"]>): Promise<void> {
  const areUp = async (): Promise<boolean> => {
    const channels = await read();
    return [channels["telegram"], channels["discord"], channels["slack"]].every((one) => one?.state === "up");
  };
  while (!(await areUp())) await sleep(100, undefined, { signal: context.signal });
}

async function compare(context: BenchContext, variants: Readonly<Record<string, Reply>>): Promise<void> {
  const times = new Map(Object.keys(variants).map((name) => [name, [] as number[]]));
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    if (round === WARM_UP_ROUNDS) context.begin();
    for (const [name, reply] of Object.entries(variants)) {
      await sleep(PAUSE_MS, undefined, { signal: context.signal });
      const replies = Array.from({ length: SESSIONS }, (_, n) => reply(n, messageText(round * SESSIONS + n)));
      const taken = await Promise.all(replies);
      if (round >= WARM_UP_ROUNDS) times.get(name)?.push(...taken);
    }
  }
  context.together(() => {
    for (const [name, values] of times) context.samples({ name: `whole reply, ${name}`, unit: "ms" }, values);
    const agent = stats(times.get("agent") ?? []).p95;
    for (const name of ["telegram", "discord", "slack"]) {
      const ratio = stats(times.get(name) ?? []).p95 / agent;
      context.value({ name: `whole reply, ${name} / agent, p95`, unit: "x", goal: GOAL }, ratio);
    }
  });
}

async function until(context: BenchContext, isThere: () => boolean): Promise<number> {
  const sent = performance.now();
  while (!isThere()) {
    if (performance.now() - sent > PATIENCE_MS) throw new Error("There is no reply.");
    await sleep(1, undefined, { signal: context.signal });
  }
  return performance.now() - sent;
}

function countOf<T>(list: readonly T[], isOne: (one: T) => boolean): number {
  return list.filter(isOne).length;
}
