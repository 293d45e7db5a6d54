/** Commands of the owner's while files of a message before them are fetched, on each platform. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { RuntimeError } from "../../../../runtime/contracts/errors.ts";
import { until } from "../../../support/eventually.ts";
import { PLATFORMS_WITH_FILES } from "../../../support/platforms-with-files.ts";
import { receiving, type Stored, started, unavailable } from "../../../support/receiving-channel.ts";

describe.each(Object.entries(PLATFORMS_WITH_FILES))("on %s a command of the owner's", (_, start) => {
  /** A node of the platform that receives. */
  async function receivingNode() {
    const platform = await start();
    const stored: Stored = {};
    const node = async () => {
      const channel = platform.channel();
      const { accepted, commands, handlers } = await started(channel);
      return {
        channel,
        handlers,
        texts: () => accepted.map(({ text }) => text),
        lines: () => commands.map(({ line }) => line),
      };
    };
    const first = await node();
    return { platform, stored, node, first };
  }

  /** The file of its first message is held. */
  async function heldUp() {
    const { platform, stored, node, first } = await receivingNode();
    const reception = receiving(first.channel, stored);
    await reception.up();
    const asked = platform.asked();
    platform.ownerFile("look");
    await asked;
    return { platform, stored, node, first, reception };
  }

  it("acts while a file is fetched; that message is taken once, and what is behind it in its order", async () => {
    const { platform, first } = await heldUp();
    for (const text of ["/new", "one", "/stop", "/steer faster", "/approve"]) platform.owner(text);
    await until(() => first.lines().length === 3);
    expect([first.lines(), first.texts()]).toEqual([["/stop", "/steer faster", "/approve"], []]);
    platform.owner("two");
    platform.release();
    await until(() => first.texts().length === 3);
    expect(first.texts()).toEqual(["look", "one", "two"]);
    expect(first.lines()).toEqual(["/stop", "/steer faster", "/approve", "/new"]);
  });

  it("acts as soon as a file is fetched, where it was there before, and never before a text that is being stored", async () => {
    const { platform, stored, first } = await receivingNode();
    const storing = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    first.handlers.message = () => {
      entered.resolve();
      return storing.promise;
    };
    await receiving(first.channel, stored).up();
    platform.owner("hello");
    await entered.promise;
    const asked = platform.asked();
    platform.ownerFile("look");
    platform.owner("/stop");
    // Enough for it to come, where it would not wait.
    await sleep(200);
    expect(first.lines()).toEqual([]);
    storing.resolve();
    await asked;
    await until(() => first.lines().length > 0);
    expect([first.lines(), first.texts()]).toEqual([["/stop"], ["hello"]]);
    platform.release();
    await until(() => first.texts().length === 2);
    expect(first.lines()).toEqual(["/stop"]);
  });

  it.each([
    ["is stopped", undefined],
    ["has lost its lease", new RuntimeError("RUNTIME_LEASE_LOST", "Another node receives.")],
  ])(
    "is not repeated by the next node when this one %s, which gets the message and what is behind it",
    async (_, reason) => {
      const { platform, stored, node, first, reception } = await heldUp();
      platform.owner("/stop");
      platform.owner("behind");
      await until(() => JSON.stringify(stored.position ?? "").includes("ahead"));
      await reception.end(reason);
      expect([first.lines(), first.texts()]).toEqual([["/stop"], []]);
      platform.release();
      const second = await node();
      await receiving(second.channel, stored).up();
      platform.owner("/status");
      await until(() => second.lines().length > 0 && second.texts().length === 2);
      expect([second.texts(), second.lines()]).toEqual([["look", "behind"], ["/status"]]);
    },
  );

  it("that could not be carried out is, in its turn", async () => {
    const { platform, first } = await heldUp();
    first.handlers.command = async () => {
      first.handlers.command = async () => ({ text: "done" });
      await unavailable();
      return { text: "" };
    };
    platform.owner("/stop");
    await until(() => first.lines().length === 1);
    platform.release();
    await until(() => first.lines().length === 2);
    expect([first.lines(), first.texts()]).toEqual([["/stop", "/stop"], ["look"]]);
  });

  it("that fails when its turn has come already is carried out in its turn", async () => {
    const { platform, first } = await heldUp();
    const failing = Promise.withResolvers<void>();
    first.handlers.command = async () => {
      first.handlers.command = async () => ({ text: "done" });
      await failing.promise;
      return { text: "" };
    };
    platform.owner("/stop");
    await until(() => first.lines().length === 1);
    platform.release();
    await until(() => first.texts().length === 1);
    await sleep(200);
    failing.resolve(unavailable());
    await until(() => first.lines().length === 2);
    expect(first.lines()).toEqual(["/stop", "/stop"]);
  });

  it("that could not be carried out goes first again with the next connection", async () => {
    const { platform, stored, first, reception } = await heldUp();
    first.handlers.command = async () => {
      await unavailable();
      return { text: "" };
    };
    platform.owner("/stop");
    await until(() => first.lines().length === 1);
    await reception.end();
    // Telegram brings it more than once where that takes a while.
    const failed = first.lines().length;
    first.handlers.command = async () => ({ text: "done" });
    receiving(first.channel, stored);
    await until(() => first.lines().length > failed);
    expect(first.texts()).toEqual([]);
  });

  it("behind another one is left to the next node where this one stops meanwhile", async () => {
    const { platform, stored, node, first, reception } = await heldUp();
    const stopping = Promise.withResolvers<void>();
    first.handlers.command = async () => {
      await stopping.promise;
      return { text: "done" };
    };
    for (const text of ["/stop", "/steer faster"]) platform.owner(text);
    await until(() => first.lines().length === 1);
    await sleep(200);
    await reception.end();
    stopping.resolve();
    await until(() => JSON.stringify(stored.position ?? "").includes("ahead"));
    await sleep(200);
    expect(first.lines()).toEqual(["/stop"]);
    platform.release();
    const second = await node();
    await receiving(second.channel, stored).up();
    await until(() => second.texts().length === 1 && second.lines().length > 0);
    expect([second.texts(), second.lines()]).toEqual([["look"], ["/steer faster"]]);
  });

  it("that another node has taken meanwhile is not carried out when this one receives again", async () => {
    const { platform, stored, node, first } = await receivingNode();
    const storing = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    first.handlers.message = () => {
      entered.resolve();
      return storing.promise;
    };
    const reception = receiving(first.channel, stored);
    await reception.up();
    for (const text of ["hello", "/stop"]) platform.owner(text);
    await entered.promise;
    await sleep(200);
    await reception.end();
    storing.resolve();
    const second = await node();
    const meanwhile = receiving(second.channel, stored);
    await until(() => second.lines().length === 1);
    // Once what is behind it is taken, that it was is stored.
    platform.owner("behind");
    await until(() => second.texts().includes("behind"));
    await meanwhile.end();
    await receiving(first.channel, stored).up();
    const asked = platform.asked();
    platform.ownerFile("look");
    await asked;
    platform.owner("/approve");
    await until(() => first.lines().includes("/approve"));
    expect([first.lines(), second.lines()]).toEqual([["/approve"], ["/stop"]]);
  });

  it("acts while that of others waits; what was carried out in its turn is not, once more", async () => {
    const { platform, stored, first } = await receivingNode();
    first.channel.onStranger?.(async () => ({ admitted: true }));
    await receiving(first.channel, stored).up();
    platform.owner("/status");
    await until(() => first.lines().length === 1);
    const asked = platform.asked();
    platform.ownerFile("look");
    await asked;
    platform.stranger("/steer me");
    platform.owner("/stop");
    await until(() => first.lines().length === 2);
    expect(first.lines()).toEqual(["/status", "/stop"]);
    platform.release();
    await until(() => first.lines().length === 3);
    expect([first.lines(), first.texts()]).toEqual([["/status", "/stop", "/steer me"], ["look"]]);
  });
});
