/** The owner's /stop ends the turn that runs while the file of a message behind it is still being fetched, on each platform. */

import { expect, it, onTestFinished } from "vitest";
import { describeDatabase } from "../../../support/databases.ts";
import { PLATFORMS_WITH_FILES } from "../../../support/platforms-with-files.ts";
import { receiving } from "../../../support/receiving-channel.ts";
import { end, hang, startHarness, text } from "../../../support/turn-harness.ts";

describeDatabase("a turn that runs", (open) => {
  it.each(Object.entries(PLATFORMS_WITH_FILES))("is stopped on %s while a file is fetched", async (name, start) => {
    const platform = await start();
    const channel = platform.channel();
    const agent = `agent-${name}-${Math.random().toString(36).slice(2)}`;
    let stopped = 0;
    const harness = await startHarness({
      database: await open(),
      channel,
      agent: { name: agent },
      channelBindings: { [platform.conversation]: agent },
      script: async ({ options }) => {
        if (stopped === 0) await hang(options.signal).finally(() => stopped++);
        return [text("Done."), end()];
      },
    });
    channel.onCommand((command) => harness.commands.run(command));
    await channel.start();
    onTestFinished(async () => {
      platform.release();
      await harness.stop();
      await channel.stop();
    });
    await receiving(channel).up();
    platform.owner("first");
    await expect.poll(() => harness.requests.length, { timeout: 20_000 }).toBe(1);
    const asked = platform.asked();
    platform.ownerFile("look");
    await asked;
    platform.owner("/stop");
    await expect.poll(() => stopped, { timeout: 20_000 }).toBe(1);
    expect(harness.requests).toHaveLength(1);
    platform.owner("behind");
    platform.release();
    await expect.poll(() => harness.requests.length, { timeout: 20_000 }).toBe(3);
    const said = harness.requests.slice(1).map(({ messages }) => JSON.stringify(messages.at(-1)?.content));
    expect(said).toEqual([expect.stringContaining("look"), expect.stringContaining("behind")]);
  });
});
