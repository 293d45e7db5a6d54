/** Messages that have to wait: their authors see at once that they were taken, once, and nothing waits for it. */

import { expect, it, onTestFinished } from "vitest";
import type { Channel } from "../../../../runtime/contracts/channel.ts";
import { chatPlatform, createChatChannel } from "../../../support/chat-channel.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import { end, type Harness, type HarnessOptions, startHarness, text } from "../../../support/turn-harness.ts";

describeDatabase("a message that has to wait", (open) => {
  const wait = { timeout: 10_000, interval: 20 };

  /** Turns end when the gate is opened. */
  async function start(options: Partial<HarnessOptions> & { readonly react?: Channel["react"] } = {}) {
    const { react, ...given } = options;
    const gate = Promise.withResolvers<void>();
    const platform = chatPlatform();
    const right = createChatChannel("chat", platform);
    const channel = react === undefined ? right : { ...right, react };
    const harness = await startHarness({
      database: await open(),
      channel,
      script: async () => {
        await gate.promise;
        return [text("Done."), end()];
      },
      ...given,
    });
    await channel.start();
    onTestFinished(async () => {
      gate.resolve();
      await harness.stop();
    });
    const reacted = () =>
      platform.reactions.map(({ conversation, messageId, emoji }) => [conversation, messageId, emoji]);
    return { harness, channel, reacted, gate };
  }

  const say = (harness: Harness, messageId: string, session = "s1") =>
    harness.turns.accept(harness.message("hi", { messageId, externalId: messageId, session }));

  async function running(harness: Harness, turnId: string): Promise<void> {
    await expect.poll(async () => (await harness.turns.read(harness.agentName, turnId)).state, wait).toBe("running");
  }

  it("gets a reaction behind a turn of its conversation; one that begins at once gets none, nor one that comes twice", async () => {
    const { harness, reacted, gate } = await start();
    const { turnId } = await say(harness, "m1");
    await running(harness, turnId);
    await say(harness, "m2");
    await expect.poll(reacted, wait).toEqual([["s1", "m2", "👀"]]);
    expect((await say(harness, "m2")).fresh).toBe(false);
    const other = await say(harness, "m3", "s2");
    await running(harness, other.turnId);
    const last = await say(harness, "m4");
    await expect.poll(reacted, wait).toEqual([
      ["s1", "m2", "👀"],
      ["s1", "m4", "👀"],
    ]);
    gate.resolve();
    expect((await harness.turns.wait(harness.agentName, last.turnId)).text).toBe("Done.");
    expect(reacted()).toHaveLength(2);
  });

  it("gets one where the node has no room for its turn", async () => {
    const { harness, reacted } = await start({ limits: { maxActiveTurns: 1 } });
    const { turnId } = await say(harness, "m1");
    await running(harness, turnId);
    await say(harness, "m2", "s2");
    await expect.poll(reacted, wait).toEqual([["s2", "m2", "👀"]]);
  });

  it("gets one on the node that receives it, where another one runs the turn before it; after a restart no other one", async () => {
    const database = await open();
    const host = await start({ database, node: "host" });
    const { agentName } = host.harness;
    const receives = await start({ database, node: "receives", agent: { name: agentName } });
    const { turnId } = await say(receives.harness, "m1");
    await running(host.harness, turnId);
    await say(receives.harness, "m2");
    await expect.poll(receives.reacted, wait).toEqual([["s1", "m2", "👀"]]);

    const next = await start({ database, node: "receives-again", agent: { name: agentName } });
    expect((await say(next.harness, "m2")).fresh).toBe(false);
    await say(next.harness, "m3");
    await expect.poll(next.reacted, wait).toEqual([["s1", "m3", "👀"]]);
    expect(host.reacted()).toEqual([]);
  });

  it("is stored and answered as ever where the platform refuses the reaction, or does not answer; the log says so at debug", async () => {
    const logged: string[] = [];
    const logger = { ...quietLogger, debug: (_fields: object, message: string) => void logged.push(message) };
    let asked = 0;
    const { harness, gate } = await start({
      logger,
      react: async () => {
        if (++asked > 1) await new Promise(() => undefined);
        throw new Error("REACTION_INVALID");
      },
    });
    const { turnId } = await say(harness, "m1");
    await running(harness, turnId);
    await say(harness, "m2");
    await expect.poll(() => logged, wait).toContain("a reaction could not be shown");
    const last = await say(harness, "m3");
    await expect.poll(() => asked, wait).toBe(2);
    gate.resolve();
    expect((await harness.turns.wait(harness.agentName, last.turnId)).text).toBe("Done.");
    expect(asked).toBe(2);
  });

  it("gets none where there is nothing to react to, and of a burst the first ones alone", async () => {
    const asked: string[] = [];
    const { harness } = await start({
      react: (_conversation, messageId) => {
        asked.push(messageId);
        return new Promise(() => undefined);
      },
    });
    const { turnId } = await say(harness, "m0");
    await running(harness, turnId);
    await harness.turns.accept(harness.message("by a schedule"));
    for (let n = 1; n <= 30; n++) await say(harness, `m${n}`);
    await expect.poll(() => asked.length, wait).toBe(20);
    expect([...asked].sort()).toEqual([...Array(20).keys()].map((n) => `m${n + 1}`).sort());
  });
});
