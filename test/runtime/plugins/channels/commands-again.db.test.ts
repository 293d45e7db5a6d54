/** A command that the store failed in the middle of comes again, on each platform: its text is written once. */

import { expect, it, onTestFinished } from "vitest";
import { MemoryError } from "../../../../runtime/contracts/errors.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { PLATFORMS_WITH_FILES } from "../../../support/platforms-with-files.ts";
import { always } from "../../../support/receiving-channel.ts";
import { through } from "../../../support/through.ts";
import { end, hang, startHarness, text } from "../../../support/turn-harness.ts";

describeDatabase("/interrupt that the store fails after its text was taken", (open) => {
  it.each(Object.entries(PLATFORMS_WITH_FILES))("runs the text once on %s", async (name, start) => {
    const platform = await start();
    const channel = platform.channel();
    const agent = `agent-${name}-${Math.random().toString(36).slice(2)}`;
    const database = await open();
    let failures = 0;
    const failing = through(database, {
      query: async (statement, ...rest) => {
        if (failures === 0 && statement.includes("turn:abort")) {
          failures++;
          throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
        }
        return database.query(statement, ...rest);
      },
    });
    const harness = await startHarness({
      database: failing,
      channel,
      agent: { name: agent },
      channelBindings: { [platform.conversation]: agent },
      script: async ({ messages, options }) => {
        if (JSON.stringify(messages.at(-1)?.content).includes("and wait")) await hang(options.signal);
        return [text("Paid."), end()];
      },
    });
    channel.onCommand((command) => harness.commands.run(command));
    await channel.start();
    onTestFinished(async () => {
      platform.release();
      await harness.stop();
      await channel.stop();
    });
    await always(channel).up();
    platform.owner("/interrupt pay the bill");
    await expect.poll(() => failures, { timeout: 20_000 }).toBe(1);
    platform.owner("and then go on");
    const asked = () => harness.requests.map(({ messages }) => JSON.stringify(messages.at(-1)?.content));
    await expect.poll(() => asked().filter((said) => said.includes("go on")), { timeout: 20_000 }).toHaveLength(1);
    expect(asked().filter((said) => said.includes("pay the bill"))).toHaveLength(1);
  });
});
