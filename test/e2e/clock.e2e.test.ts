/** A node whose clock jumps by an hour while it runs; with an embedded store, so does that of its database. */

import { describe, expect, it } from "vitest";
import type { ScheduleStatus } from "../../runtime/contracts/schedules.ts";
import { startTelegramFake } from "../fakes/telegram/index.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { lacks } from "../lanes/tools.ts";
import { databaseUrl, deploymentOf, killed, runningNode } from "../support/running-node.ts";
import { turnedClock } from "../support/turned-clock.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };
const HOUR_S = 3_600;
const OWNER = 1;

/** Half past some hour, so that a jump by an hour passes one full hour, and the test itself none. */
function halfPast(): number {
  return HOUR_S / 2 - (Math.floor(Date.now() / 1_000) % HOUR_S);
}

async function started(backend: "embedded" | "postgres") {
  const fake = await startTelegramFake();
  const bot = fake.bot();
  const offset = halfPast();
  const clock = await turnedClock(offset);
  const deployment = await deploymentOf({
    env: { BOT_TOKEN: bot.token },
    config: {
      runtime: { lease: "2s", listen: "127.0.0.1:0" },
      providers: { offline: {} },
      agents: {
        main: {
          provider: "offline",
          schedules: [
            { name: "hourly", cron: "0 * * * *", prompt: "Which hour is it?" },
            { name: "yearly", cron: "0 3 1 1 *", prompt: "Which year is it?", channel: "telegram" },
          ],
        },
      },
      ...(backend === "postgres" ? { memory: { postgres: { connection_string: await databaseUrl() } } } : {}),
      channels: {
        telegram: {
          token: "${BOT_TOKEN}",
          owner_id: OWNER,
          base_url: fake.url,
          reconnect: { initial_delay: "50ms", max_delay: "500ms" },
        },
      },
    },
  });
  let node = await runningNode(deployment, { env: clock.env });
  const said: string[] = [];
  return {
    fake,
    bot,
    node: () => node,
    turn: (seconds: number) => clock.turn(offset + seconds),
    async restart() {
      await killed(node);
      node = await runningNode(deployment, { env: clock.env });
    },
    /** The owner writes, and gets one answer. */
    async answered(text: string) {
      said.push(text);
      bot.say(text, { from: OWNER });
      await expect.poll(() => bot.state.sent.length, EVENTUALLY).toBe(said.length);
    },
    /** A schedule's run is answered, too. */
    expectAnswer: (text: string) => said.push(text),
    expectSent: () => expect.poll(() => bot.state.sent.length, EVENTUALLY).toBe(said.length),
    async hourly() {
      const { schedules } = await node.call<{ schedules: readonly ScheduleStatus[] }>("/api/admin/schedules");
      return schedules.find(({ name }) => name === "hourly");
    },
  };
}

describe.skipIf(lacks("faketime"))("a clock that jumps by an hour", () => {
  it.each(["embedded", "postgres"] as const)("delays and repeats no reply and no schedule (%s)", async (backend) => {
    const one = await started(backend);
    await one.answered("hello");
    await expect.poll(async () => (await one.hourly())?.state, EVENTUALLY).toBe("active");
    const first = (await one.hourly())?.next_at ?? "";

    // A reply that the platform cannot take yet.
    one.fake.fault = "down";
    one.expectAnswer("which year");
    await one.node().call("/api/admin/schedules/main/yearly/run", {});
    await expect.poll(() => one.node().output(), EVENTUALLY).toContain("a reply could not be sent");
    // Behind the statement that stores its pause.
    await one.hourly();
    await one.turn(-HOUR_S);
    one.fake.fault = "none";
    await one.expectSent();
    await one.answered("an hour back");
    await one.restart();
    await one.answered("an hour back, and started again");

    await one.turn(HOUR_S);
    await expect.poll(async () => (await one.hourly())?.last?.state, EVENTUALLY).toBe("done");
    const run = (await one.hourly())?.last?.turn_id;
    await one.answered("an hour ahead");

    // The hour that has come comes again, and is done with.
    await one.turn(0);
    await expect.poll(async () => (await one.hourly())?.next_at, EVENTUALLY).toBe(first);
    await one.turn(HOUR_S);
    await expect.poll(async () => (await one.hourly())?.next_at, EVENTUALLY).not.toBe(first);
    expect((await one.hourly())?.last?.turn_id).toBe(run);
    await one.answered("an hour ahead again");
    await one.expectSent();
  });
});
