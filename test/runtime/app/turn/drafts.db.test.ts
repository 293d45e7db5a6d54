/** Replies that are shown while they are written, and become the reply that the outbox sends: over restarts, questions and failures. */

import { expect, it, onTestFinished } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { ChannelError, MemoryError } from "../../../../runtime/contracts/errors.ts";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { type ChatChannel, type ChatPlatform, chatPlatform, createChatChannel } from "../../../support/chat-channel.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { end, type HarnessOptions, hang, startHarness, text, toolCall } from "../../../support/turn-harness.ts";

describeDatabase("a reply that is being written", (open) => {
  interface Given extends Partial<HarnessOptions> {
    readonly platform?: ChatPlatform;
  }

  async function start(database: Database, script: HarnessOptions["script"], given: Given = {}) {
    const { platform = chatPlatform(), ...options } = given;
    const channel = createChatChannel("chat", platform);
    const harness = await startHarness({ database, channel, script, ...options });
    await channel.start();
    return { platform, channel, harness };
  }

  /** Says the pieces one after the other, each when it is told to. */
  function dictated(...pieces: readonly string[]) {
    const gates = pieces.map(() => Promise.withResolvers<void>());
    const script: HarnessOptions["script"] = async function* () {
      for (const [index, piece] of pieces.entries()) {
        await gates[index]?.promise;
        yield text(piece);
      }
      yield end();
    };
    return { script, say: (index: number) => gates[index]?.resolve() };
  }

  const texts = ({ messages }: ChatPlatform): string[] => messages.map((message) => message.text);
  const wait = { timeout: 10_000, interval: 20 };

  async function outbox(database: Database, turnId: string) {
    const { rows } = await database.query<{ key: string; state: string; platform_ids: string[] }>(
      "select split_part(key, ':', 1) as key, state, platform_ids from outbox where turn_id = $1 order by seq",
      [turnId],
    );
    return rows;
  }

  it("is shown in a message that grows, into further ones where it is long, and becomes the reply", async () => {
    const database = await open();
    const { script, say } = dictated("Hello", ", and a good", " morning to you all.", "");
    const { platform, channel, harness } = await start(database, script);
    const turnId = await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello …"]);
    say(1);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello, and a good …"]);
    say(2);
    await expect.poll(() => texts(platform).join(""), wait).toBe("Hello, and a good morning to you all. …");
    say(3);
    await expect.poll(() => texts(platform).join(""), wait).toBe("Hello, and a good morning to you all.");
    await expect
      .poll(() => outbox(database, turnId), wait)
      .toEqual([{ key: "reply", state: "sent", platform_ids: ["m1", "m2"] }]);
    expect(platform.messages.map(({ id }) => id)).toEqual(["m1", "m2"]);
    await harness.stop();
  });

  it("is shown up to 40,000 characters, and is whole as the reply", async () => {
    const long = "It is written again. ".repeat(2_100);
    const { script, say } = dictated(long, "");
    const { channel, harness } = await start(await open(), script);
    onTestFinished(() => harness.stop());
    const shown: string[] = [];
    channel.send = async (message, keep) => {
      shown.push(message.text);
      const sent = { primary: "m1", overflow: [] };
      await keep?.(sent);
      return sent;
    };
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => shown.length, wait).toBe(1);
    expect(shown[0]).toMatch(/…$/);
    expect(shown[0]?.length).toBeLessThanOrEqual(40_002);
    say(1);
    await expect.poll(() => shown, wait).toEqual([shown[0], long]);
  });

  it("is changed into the reply of the node that takes the turn over, when the first one has died", async () => {
    const database = await open();
    const first = dictated("Hello", " there");
    const { platform, channel, harness } = await start(database, first.script);
    first.say(0);
    const turnId = await channel.hear(harness.message("hi"));
    await expect.poll(() => texts(platform), wait).toEqual(["Hello …"]);
    await expect
      .poll(async () => (await database.query("select 1 from drafts where turn_id = $1", [turnId])).count, wait)
      .toBe(1);
    await harness.die();
    const second = await start(database, () => [text("Good evening"), end()], { platform, ...harness.next });
    onTestFinished(() => second.harness.stop());
    await expect.poll(() => texts(platform).join(""), wait).toMatch(/^Good evening This turn was/);
    await expect.poll(async () => (await outbox(database, turnId))[0]?.state, wait).toBe("sent");
    expect(platform.messages[0]?.id).toBe("m1");
  });

  it("loses its further messages where the reply is shorter than what was shown", async () => {
    const database = await open();
    const { script, say } = dictated("Hello, and a good morning to you all.", "");
    const { platform, channel, harness } = await start(database, script, {
      hooks: [
        {
          name: "short",
          event: "turn:after",
          priority: 0,
          deadlineMs: 1_000,
          policy: "open",
          run: async (context) => ({ ...context, reply: "Hello." }),
        },
      ],
    });
    onTestFinished(() => harness.stop());
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => texts(platform).length, wait).toBe(3);
    say(1);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello."]);
  });

  it("goes out before a question, which stands below it, and the reply is sent without it", async () => {
    const database = await open();
    const ask: Tool = {
      name: "ask",
      description: "ask",
      parameters: { type: "object" },
      execute: async (_args, _signal, context) => {
        const answer = await context?.ask({ text: "Which?" });
        return { content: answer?.kind === "answered" ? answer.text : "none" };
      },
    };
    const { platform, channel, harness } = await start(
      database,
      ({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? [text("Done it."), end()]
          : [text("Two are full."), toolCall("c1", "ask"), end("tool_calls")],
      { tools: [ask] },
    );
    onTestFinished(() => harness.stop());
    const turnId = await channel.hear(harness.message("hi"));
    await expect.poll(() => texts(platform), wait).toEqual(["Two are full.", "Which?"]);
    await harness.command("/answer the first");
    await expect.poll(() => texts(platform), wait).toEqual(["Two are full.", "Which?", "Done it."]);
    expect((await outbox(database, turnId)).map(({ key }) => key)).toEqual(["words", "question", "reply"]);
    // For clients over HTTP the turn's text is whole.
    expect(await harness.turns.read(harness.agentName, turnId)).toMatchObject({
      final: { text: "Two are full.\n\nDone it." },
    });
  });

  it("is not begun twice where its first message may have arrived, and the reply is sent all the same", async () => {
    const { script, say } = dictated("Hello", ", and", " good day");
    const { platform, channel, harness } = await start(await open(), script);
    onTestFinished(() => harness.stop());
    let tries = 0;
    platform.check = () => {
      if (++tries === 1) throw new ChannelError("CHANNEL_CONNECTION_LOST", "gone");
    };
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => tries, wait).toBe(1);
    say(1);
    say(2);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello, and good day ", "(again?)"]);
    expect(platform.changes).toEqual([]);
  });

  it("is marked as a possible repetition where the node has died before it heard of the first message", async () => {
    const database = await open();
    const { script, say } = dictated("Hello", " there");
    const { platform, channel, harness } = await start(database, script);
    const { send } = channel;
    const taken = Promise.withResolvers<void>();
    channel.send = async (message) => {
      await send(message);
      taken.resolve();
      return new Promise<never>(() => undefined);
    };
    await channel.hear(harness.message("hi"));
    say(0);
    await taken.promise;
    expect(texts(platform)).toEqual(["Hello …"]);
    await harness.die();
    // Nothing is shown of it while it is written: what is below the message of the dead node is the reply.
    const pieces = dictated("Hello", " there");
    const second = await start(database, pieces.script, { platform, ...harness.next });
    onTestFinished(() => second.harness.stop());
    pieces.say(0);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(texts(platform)).toEqual(["Hello …"]);
    pieces.say(1);
    await expect.poll(() => texts(platform).join(""), wait).toMatch(/^Hello …Hello there This turn was .*\(again\?\)$/);
  });

  /** A further message is sent, and what `keep` gets of it then goes through `heard`. */
  function whoseFurtherMessage(channel: ChatChannel, heard: () => Promise<void>): void {
    const { edit } = channel;
    channel.edit = async (conversation, id, value, overflow, signal, keep) =>
      (await edit?.(conversation, id, value, overflow, signal, async (sent, more) => {
        if (sent.overflow.length > 0) await heard();
        await keep?.(sent, more);
      })) ?? null;
  }

  it("is marked as a possible repetition where the node has died before it heard of a further message", async () => {
    const database = await open();
    const { script, say } = dictated("Hello", ", and a good morning", " to you");
    const { platform, channel, harness } = await start(database, script);
    const taken = Promise.withResolvers<void>();
    whoseFurtherMessage(channel, () => {
      taken.resolve();
      return new Promise<never>(() => undefined);
    });
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello …"]);
    say(1);
    await taken.promise;
    expect(texts(platform).join("")).toBe("Hello, and a good morning …");
    await harness.die();
    const second = await start(database, () => [text("Hello, and a good morning"), end()], {
      platform,
      ...harness.next,
    });
    onTestFinished(() => second.harness.stop());
    await expect.poll(() => texts(platform).at(-1), wait).toMatch(/\(again\?\)$/);
    const [first, unheard, ...rest] = platform.messages;
    expect([first?.id, unheard?.text]).toEqual(["m1", "morning …"]);
    expect([first?.text, ...rest.map((message) => message.text)].join("")).toMatch(
      /^Hello, and a good morning This turn was .*\(again\?\)$/,
    );
  });

  it("is not gone on with where a further message may have arrived, and the reply says so", async () => {
    const { script, say } = dictated("Hello", ", and a good morning", " to all", "");
    const { platform, channel, harness } = await start(await open(), script);
    onTestFinished(() => harness.stop());
    let tries = 0;
    whoseFurtherMessage(channel, async () => {
      tries++;
      throw new ChannelError("CHANNEL_CONNECTION_LOST", "gone");
    });
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello …"]);
    say(1);
    await expect.poll(() => tries, wait).toBe(1);
    say(2);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([tries, texts(platform).join("")]).toEqual([1, "Hello, and a good morning …"]);
    say(3);
    await expect.poll(() => texts(platform).at(-1), wait).toMatch(/\(again\?\)$/);
    expect(texts(platform)).toHaveLength(4);
  });

  it("is gone on with where a further message was refused, and nothing is marked", async () => {
    const { script, say } = dictated("Hello", ", and a good morning", "");
    const { platform, channel, harness } = await start(await open(), script);
    onTestFinished(() => harness.stop());
    let tries = 0;
    platform.check = (value) => {
      if (!value.startsWith("morning") || ++tries > 1) return;
      throw new ChannelError("CHANNEL_CONNECTION_LOST", "slow down", { notTaken: true });
    };
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello …"]);
    say(1);
    await expect.poll(() => texts(platform).join(""), wait).toBe("Hello, and a good morning …");
    say(2);
    await expect.poll(() => texts(platform).join(""), wait).toBe("Hello, and a good morning");
  });

  it("waits as long as the platform asks for, and is not in the way of the reply", async () => {
    const { script, say } = dictated("Hello", ", and", " good day");
    const { platform, channel, harness } = await start(await open(), script);
    onTestFinished(() => harness.stop());
    platform.check = (value) => {
      const details = { retryAfterS: 3_600, notTaken: true } as const;
      if (value.endsWith("…")) throw new ChannelError("CHANNEL_CONNECTION_LOST", "slow down", details);
    };
    await channel.hear(harness.message("hi"));
    say(0);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    say(1);
    say(2);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello, and good day"]);
  });

  it("is never changed any more when its reply has been sent, however slow the platform is", async () => {
    const { script, say } = dictated("Hello", ", and good day");
    const { platform, channel, harness } = await start(await open(), script);
    onTestFinished(() => harness.stop());
    const slow = Promise.withResolvers<void>();
    const { send } = channel;
    const order: string[] = [];
    channel.send = async (message, keep) => {
      if (order.push(message.text) === 1) await slow.promise;
      return send(message, keep);
    };
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => order, wait).toEqual(["Hello …"]);
    say(1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(order).toEqual(["Hello …"]);
    slow.resolve();
    await expect.poll(() => texts(platform), wait).toEqual(["Hello, and good day"]);
  });

  it("is not changed once more while its end is being stored, after a change that was under way", async () => {
    const { script, say } = dictated("Hello", ", and good", " day");
    const ending = Promise.withResolvers<void>();
    const { platform, channel, harness } = await start(await open(), script);
    onTestFinished(() => harness.stop());
    const slow = Promise.withResolvers<void>();
    const { send } = channel;
    let sends = 0;
    channel.send = async (message, keep) => {
      if (++sends === 1) await slow.promise;
      return send(message, keep);
    };
    const { finish } = harness.store;
    harness.store.finish = async (...args) => {
      await ending.promise;
      return finish.apply(harness.store, args);
    };
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => sends, wait).toBe(1);
    say(1);
    say(2);
    slow.resolve();
    await expect.poll(() => texts(platform), wait).toEqual(["Hello …"]);
    // Longer than the pause between two changes.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(texts(platform)).toEqual(["Hello …"]);
    ending.resolve();
    await expect.poll(() => texts(platform), wait).toEqual(["Hello, and good day"]);
  });

  it("holds up no /stop while the platform hangs, and a change that was under way is cancelled", async () => {
    const more = Promise.withResolvers<void>();
    const { platform, channel, harness } = await start(await open(), async function* ({ options }) {
      yield text("Hello");
      await more.promise;
      yield text(", and good");
      await hang(options.signal);
    });
    onTestFinished(() => harness.stop());
    let signal: AbortSignal | undefined;
    const { edit } = channel;
    channel.edit = async (...args) => {
      signal = args[4];
      // It never answers.
      await new Promise(() => undefined);
      return edit?.(...args) ?? null;
    };
    const turnId = await channel.hear(harness.message("hi"));
    await expect.poll(() => texts(platform), wait).toEqual(["Hello …"]);
    more.resolve();
    await expect.poll(() => signal?.aborted, wait).toBe(false);
    await harness.command("/stop");
    expect((await harness.turns.read(harness.agentName, turnId)).state).toBe("finished");
    expect(signal?.aborted).toBe(true);
    await expect.poll(() => texts(platform).join(""), wait).toBe("Hello, and good Stopped.");
  });

  it("is not shown above the reply before it, which the platform does not take at first", async () => {
    const { script, say } = dictated("Hello", " there");
    const { platform, channel, harness } = await start(await open(), (request, ...more) =>
      JSON.stringify(request.messages.at(-1)).includes("first")
        ? [text("One moment."), end()]
        : script(request, ...more),
    );
    onTestFinished(() => harness.stop());
    let tries = 0;
    platform.check = (value) => {
      if (value === "One moment." && ++tries === 1)
        throw new ChannelError("CHANNEL_CONNECTION_LOST", "busy", { notTaken: true });
    };
    await channel.hear(harness.message("first"));
    await expect.poll(() => tries, wait).toBe(1);
    await channel.hear(harness.message("second"));
    say(0);
    await expect.poll(() => texts(platform), { timeout: 20_000 }).toEqual(["One moment.", "Hello …"]);
    say(1);
    await expect.poll(() => texts(platform), wait).toEqual(["One moment.", "Hello there"]);
  });

  it.each([
    ["before it is sent", 1],
    ["with its id", 2],
  ])("becomes the reply though its message could not be stored with the turn at first: %s", async (_, nth) => {
    const { script, say } = dictated("Hello", " there");
    const { platform, channel, harness } = await start(await open(), script);
    onTestFinished(() => harness.stop());
    const { keepDraft } = harness.store;
    let tries = 0;
    harness.store.keepDraft = async (...args) => {
      if (++tries === nth) throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
      return keepDraft.apply(harness.store, args);
    };
    await channel.hear(harness.message("hi"));
    say(0);
    await expect.poll(() => tries, wait).toBe(nth);
    say(1);
    await expect.poll(() => texts(platform), wait).toEqual(["Hello there"]);
    expect(platform.messages[0]?.id).toBe("m1");
  });

  it("is marked as a possible repetition where an attempt to send it went unheard, and not where it was refused", async () => {
    const database = await open();
    const { platform, channel, harness } = await start(database, () => [text("Hello"), end()]);
    onTestFinished(() => harness.stop());
    for (const notTaken of [true, undefined]) {
      let tries = 0;
      platform.messages.length = 0;
      platform.check = () => {
        if (++tries > 1) return;
        throw new ChannelError("CHANNEL_CONNECTION_LOST", "gone", notTaken ? { notTaken } : {});
      };
      const turnId = await channel.hear(harness.message("hi"));
      await expect.poll(() => tries, wait).toBe(1);
      await expect
        .poll(
          () =>
            database
              .query(
                "update outbox set next_attempt_at = now() where turn_id = $1 and last_error is not null returning 1",
                [turnId],
              )
              .then(({ count }) => count),
          wait,
        )
        .toBe(1);
      await expect.poll(() => texts(platform), wait).toEqual([notTaken ? "Hello" : "Hello (again?)"]);
    }
  });
});
