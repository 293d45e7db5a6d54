/** A channel that does all that the contract has, over the real inbox, turns and outbox. */

import { expect, it, onTestFinished } from "vitest";
import { writeAttachments } from "../../../runtime/app/attachments/chunks.ts";
import { toReceived } from "../../../runtime/app/attachments/refs.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { ChannelError } from "../../../runtime/contracts/errors.ts";
import { chatPlatform, createChatChannel } from "../../support/chat-channel.ts";
import { describeDatabase } from "../../support/databases.ts";
import { end, startHarness, text } from "../../support/turn-harness.ts";

const busy = () => new ChannelError("CHANNEL_CONNECTION_LOST", "busy", { notTaken: true });

describeDatabase("a chat channel", (open) => {
  async function start(database: Database, reply: string) {
    const platform = chatPlatform();
    const channel = createChatChannel("chat", platform);
    const gate = Promise.withResolvers<void>();
    const harness = await startHarness({
      database,
      channel,
      script: async function* () {
        yield text(reply.slice(0, 5));
        await gate.promise;
        yield text(reply.slice(5));
        yield end();
      },
    });
    await channel.start();
    onTestFinished(async () => {
      await harness.stop();
      await channel.stop();
    });
    return { platform, channel, harness, gate };
  }

  it("shows that the agent types while a turn runs, and then sends its reply in messages that the platform takes", async () => {
    const { platform, channel, harness, gate } = await start(await open(), "Hello, and a good morning to you.");
    await channel.hear(harness.message("hi"));
    await expect.poll(() => [...platform.typing]).toEqual(["s1"]);
    expect(platform.messages).toEqual([]);
    gate.resolve();
    await expect
      .poll(() => platform.messages.map((message) => message.text).join(""))
      .toBe("Hello, and a good morning to you.");
    expect(platform.changes).toEqual([]);
    await expect.poll(() => [...platform.typing]).toEqual([]);
  });

  it("goes on with a long reply where the platform stopped taking it, and all its ids are kept", async () => {
    const database = await open();
    const { platform, channel, harness, gate } = await start(database, "Hello, and a good morning to you.");
    let calls = 0;
    platform.check = () => {
      if (++calls === 2) throw busy();
    };
    gate.resolve();
    const turnId = await channel.hear(harness.message("hi"));
    const row = async () => {
      const { rows } = await database.query<{ state: string; platform_ids: string[]; attempts: number }>(
        "select state, platform_ids, attempts from outbox where turn_id = $1",
        [turnId],
      );
      return rows[0];
    };
    await expect.poll(row).toMatchObject({ state: "pending", platform_ids: ["m1"], attempts: 1 });
    await database.query("update outbox set next_attempt_at = now() where turn_id = $1", [turnId]);
    await expect.poll(row).toEqual({ state: "sent", platform_ids: ["m1", "m2"], attempts: 2 });
    expect(platform.messages.map((message) => message.text).join("")).toBe("Hello, and a good morning to you.");
  });

  it("is called again after the pause that the platform asks for, and not at all where it refuses for good", async () => {
    const database = await open();
    const { platform, channel, harness, gate } = await start(database, "Hello");
    const row = async (turnId: string) => {
      const { rows } = await database.query<{ state: string; pause: number }>(
        "select state, extract(epoch from next_attempt_at - now())::int as pause from outbox where turn_id = $1",
        [turnId],
      );
      return rows[0];
    };
    platform.check = () => {
      throw new ChannelError("CHANNEL_CONNECTION_LOST", "slow down", { retryAfterS: 3_600 });
    };
    gate.resolve();
    const paused = await channel.hear(harness.message("hi"));
    await expect.poll(async () => ((await row(paused))?.pause ?? 0) > 3_000).toBe(true);
    expect(await row(paused)).toMatchObject({ state: "pending" });
    platform.check = () => {
      throw new ChannelError("CHANNEL_REFUSED", "The bot was blocked.");
    };
    const refused = await channel.hear(harness.message("hi again"));
    // The replies behind it wait until the pause is over.
    await expect.poll(async () => (await row(refused))?.state).toBe("pending");
    await database.query("update outbox set next_attempt_at = now() where turn_id = $1", [paused]);
    await expect.poll(async () => (await row(refused))?.state).toBe("failed");
  });

  it("is left the rest of a reply whose parts take long in all: no other sender takes it meanwhile", async () => {
    const database = await open();
    const { platform, channel, harness, gate } = await start(database, "Hello, and a good morning to you.");
    const second = Promise.withResolvers<void>();
    const claims: number[] = [];
    let parts = 0;
    platform.check = () => void parts++;
    const { send } = channel;
    channel.send = (message, keep) =>
      send(message, async (sent) => {
        await database.query("update outbox set next_attempt_at = now() where turn_id = $1", [message.turnId]);
        await keep?.(sent);
        const { rows } = await database.query<{ remaining: number }>(
          "select extract(epoch from next_attempt_at - now())::int as remaining from outbox where turn_id = $1",
          [message.turnId],
        );
        claims.push(rows[0]?.remaining ?? 0);
        if (parts === 2) second.resolve();
      });
    gate.resolve();
    await channel.hear(harness.message("hi"));
    await second.promise;
    for (const remaining of claims) expect(remaining).toBeGreaterThan(30);
  });

  it("is given the files of a reply, and the names of those that are gone", async () => {
    const database = await open();
    const { platform, channel, harness, gate } = await start(database, "Here");
    // What a turn will hand over: its payload names files by their content.
    const file = { name: "a.txt", mediaType: "text/plain", data: Buffer.from("content").toString("base64") };
    const { ref: kept, data } = toReceived(file);
    await database.transaction((tx) => writeAttachments(tx, [{ ref: kept, data }]));
    const gone = { ...kept, sha256: "0".repeat(64), name: "b.txt" };
    let tries = 0;
    platform.check = () => {
      if (++tries === 1) throw busy();
    };
    gate.resolve();
    const turnId = await channel.hear(harness.message("hi"));
    await expect.poll(() => tries).toBe(1);
    await database.query(
      "update outbox set payload = payload || $2::jsonb, next_attempt_at = now() where turn_id = $1",
      [turnId, JSON.stringify({ attachments: [kept, gone] })],
    );
    const said = () => platform.messages.map((message) => message.text).join("");
    await expect.poll(said).toBe("Here The file b.txt is not there any more.");
    expect(platform.messages[0]?.files).toEqual([file]);
  });
});
