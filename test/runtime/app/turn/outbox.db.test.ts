/** The order in which messages of turns are sent, and what a channel that hangs delays. */

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createOutbox } from "../../../../runtime/app/turn/outbox.ts";
import type { Channel, OutboundMessage } from "../../../../runtime/contracts/channel.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { ChannelError } from "../../../../runtime/contracts/errors.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { end, startHarness, text } from "../../../support/turn-harness.ts";

describeDatabase("the outbox", (open) => {
  const channelOf = (id: string, send: Channel["send"]): Channel => ({
    id,
    platform: "test",
    start: async () => {},
    stop: async () => {},
    send,
    onMessage: () => {},
    onCommand: () => {},
  });

  /** A turn whose own reply has been sent. */
  async function ended(database: Database): Promise<string> {
    const harness = await startHarness({ database, script: () => [text("ok"), end()] });
    await harness.say("hi");
    await harness.stop();
    const { rows } = await database.query<{ turn_id: string }>("select turn_id from outbox where agent = $1", [
      harness.agentName,
    ]);
    return rows[0]?.turn_id ?? "";
  }

  async function put(
    database: Database,
    turnId: string,
    channel: string,
    texts: readonly string[],
    conversation = turnId,
  ): Promise<void> {
    for (const value of texts) {
      await database.query(
        "insert into outbox (id, turn_id, key, channel, agent, payload) values (gen_random_uuid(), $1, $2, $3, 'main', $4)",
        [turnId, value, channel, JSON.stringify({ conversation, user: "", text: value, notice: null })],
      );
    }
  }

  function start(
    database: Database,
    sends: Readonly<Record<string, (message: OutboundMessage) => Promise<void>>>,
    { load = async () => null, connectedMs = 0 }: { load?: () => Promise<null>; connectedMs?: number } = {},
  ) {
    const channels = new Map(
      Object.entries(sends).map(([id, send]) => [id, channelOf(id, (message) => send(message).then(() => null))]),
    );
    const outbox = createOutbox({
      database,
      channels,
      attachments: { load },
      connectedMs: () => connectedMs,
      logger: quietLogger,
    });
    outbox.start();
    onTestFinished(() => outbox.stop());
    return outbox;
  }

  it("sends the messages of a turn one after the other, and what follows one that fails after that one", async () => {
    const database = await open();
    const turn = await ended(database);
    const arrived: string[] = [];
    let tries = 0;
    const id = `chat-${turn}`;
    await put(database, turn, id, ["one", "two", "three"]);
    start(database, {
      [id]: async ({ text: value }) => {
        if (value === "two" && ++tries === 1) throw new Error("busy");
        arrived.push(value);
      },
    });
    await expect.poll(() => tries, { timeout: 10_000 }).toBe(1);
    expect(arrived).toEqual(["one"]);
    await expect.poll(() => arrived, { timeout: 15_000 }).toEqual(["one", "two", "three"]);
  });

  it("sends the replies of a conversation in their order, also where one fails, and those of others meanwhile", async () => {
    const database = await open();
    const turns = await Promise.all(Array.from({ length: 3 }, () => ended(database)));
    const [first = "", second = "", other = ""] = turns;
    const id = `chat-${first}`;
    await put(database, first, id, ["one"], "c");
    await put(database, second, id, ["two"], "c");
    await put(database, other, id, ["elsewhere"], "d");
    const arrived: string[] = [];
    let tries = 0;
    const outbox = start(database, {
      [id]: async ({ text: value }) => {
        if (value === "one" && ++tries === 1) throw new Error("busy");
        arrived.push(value);
      },
    });
    await expect.poll(() => arrived).toEqual(["elsewhere"]);
    outbox.kick();
    await expect.poll(() => arrived, { timeout: 15_000 }).toEqual(["elsewhere", "one", "two"]);
  });

  it("holds nothing up for ever behind a reply that fails again and again", async () => {
    const database = await open();
    const [first, second] = [await ended(database), await ended(database)];
    const id = `chat-${first}`;
    // What follows it in its own turn cannot be sent either.
    await put(database, first, id, ["one", "one more"], "c");
    await put(database, second, id, ["two"], "c");
    await database.query(
      "update outbox set created_at = now() - interval '6 minutes' where channel = $1 and key = 'one'",
      [id],
    );
    const arrived: string[] = [];
    const outbox = start(database, {
      [id]: async ({ text: value }) => {
        if (value === "one") throw new Error("never");
        arrived.push(value);
      },
    });
    await expect
      .poll(
        () => {
          outbox.kick();
          return arrived;
        },
        { timeout: 10_000 },
      )
      .toEqual(["two"]);
  });

  describe("whose channel has no connection for ten minutes", () => {
    const lost = (details = {}) => new ChannelError("CHANNEL_CONNECTION_LOST", "away", details);

    /** Two replies of one conversation; the first one has been tried for ten minutes, in vain. */
    async function down({ connectedMs = 0, details = {}, minutes = 10 } = {}) {
      const database = await open();
      const [first, second] = [await ended(database), await ended(database)];
      const id = `chat-${first}`;
      await put(database, first, id, ["one"], "c");
      await put(database, second, id, ["two"], "c");
      const [tried, arrived]: string[][] = [[], []];
      const state = { isDown: true, held: Promise.resolve() };
      const node = () =>
        start(
          database,
          {
            [id]: async ({ text: value }) => {
              tried?.push(value);
              if (state.isDown) throw lost(details);
              await state.held;
              arrived?.push(value);
            },
          },
          { connectedMs },
        );
      const outbox = node();
      await expect
        .poll(
          async () =>
            (await database.query("select 1 from outbox where channel = $1 and last_error is not null", [id])).count,
        )
        .toBe(1);
      await database.query(
        `update outbox set created_at = now() - $2 * interval '1 minute', attempts = 9, sent_at = now() - interval '2 minutes',
           next_attempt_at = case when key = 'one' then now() + interval '180 seconds' else next_attempt_at end where channel = $1`,
        [id, minutes],
      );
      outbox.kick();
      await outbox.drain();
      return { database, id, state, outbox, node, tried, arrived };
    }

    it("waits in its order, and is sent as soon as the channel is connected, once", async () => {
      const { id, state, outbox, tried, arrived } = await down();
      expect(tried).toEqual(["one"]);
      state.isDown = false;
      await outbox.connected("another");
      await outbox.drain();
      expect(arrived).toEqual([]);
      await outbox.connected(id);
      await expect.poll(() => arrived, { timeout: 10_000 }).toEqual(["one", "two"]);
      await outbox.connected(id);
      await outbox.drain();
      expect(tried).toEqual(["one", "one", "two"]);
    });

    it("is not sent twice where another node is sending it", async () => {
      const { id, state, outbox, node, tried, arrived } = await down();
      const held = Promise.withResolvers<void>();
      onTestFinished(() => held.resolve());
      Object.assign(state, { isDown: false, held: held.promise });
      await outbox.connected(id);
      await expect.poll(() => tried).toEqual(["one", "one"]);
      const other = node();
      await other.connected(id);
      await other.drain();
      expect(tried).toEqual(["one", "one"]);
      held.resolve();
      await expect.poll(() => arrived, { timeout: 10_000 }).toEqual(["one", "two"]);
    });

    it("keeps a pause that the platform has asked for", async () => {
      const { id, state, outbox, tried, arrived } = await down({ details: { retryAfterS: 600 } });
      state.isDown = false;
      await outbox.connected(id);
      await outbox.drain();
      expect([tried, arrived]).toEqual([["one"], []]);
    });

    it("keeps the order during a pause that the platform has asked for, on a connection that has lasted, too", async () => {
      const { outbox, tried } = await down({ connectedMs: 600_000, details: { retryAfterS: 900 } });
      await outbox.drain();
      expect(tried).toEqual(["one"]);
    });

    it("holds nothing up any more after an hour", async () => {
      const { tried } = await down({ minutes: 61 });
      await expect.poll(() => tried, { timeout: 10_000 }).toContain("two");
    });

    it("holds nothing up where the connection has lasted: it is the message that fails", async () => {
      const { tried } = await down({ connectedMs: 600_000 });
      await expect.poll(() => tried, { timeout: 10_000 }).toContain("two");
    });
  });

  describe("when the database's clock is set back by an hour", () => {
    /** Times that were stored before lie an hour ahead then. */
    const setBack = (database: Database, channel: string) =>
      database.query(
        `update outbox set created_at = created_at + interval '1 hour', sent_at = sent_at + interval '1 hour',
           next_attempt_at = next_attempt_at + interval '1 hour' where channel = $1`,
        [channel],
      );

    /** Seconds until the channel's first message is due. */
    async function dueIn(database: Database, channel: string): Promise<number> {
      const { rows } = await database.query<{ due: number }>(
        `select extract(epoch from next_attempt_at - now())::float8 as due from outbox
         where channel = $1 and state = 'pending'`,
        [channel],
      );
      return rows[0]?.due ?? Number.NaN;
    }

    it("sends what was written before", async () => {
      const database = await open();
      const turn = await ended(database);
      const id = `chat-${turn}`;
      await put(database, turn, id, ["one", "two"]);
      await setBack(database, id);
      const arrived: string[] = [];
      start(database, { [id]: async ({ text: value }) => void arrived.push(value) });
      await expect.poll(() => arrived, { timeout: 10_000 }).toEqual(["one", "two"]);
    });

    it("sends nothing a second time that is on its way", async () => {
      const database = await open();
      const turn = await ended(database);
      const id = `chat-${turn}`;
      await put(database, turn, id, ["one"]);
      const sent = Promise.withResolvers<void>();
      onTestFinished(() => sent.resolve());
      let sends = 0;
      const outbox = start(database, {
        [id]: async () => {
          sends++;
          await sent.promise;
        },
      });
      await expect.poll(() => sends).toBe(1);
      await setBack(database, id);
      await expect.poll(() => dueIn(database, id), { timeout: 10_000 }).toBeLessThanOrEqual(60);
      outbox.kick();
      sent.resolve();
      await expect
        .poll(
          async () => (await database.query("select 1 from outbox where channel = $1 and state = 'sent'", [id])).count,
        )
        .toBe(1);
      expect(sends).toBe(1);
    });

    it("keeps the pause that a platform has asked for, and no more of it", async () => {
      const database = await open();
      const turn = await ended(database);
      const id = `chat-${turn}`;
      await put(database, turn, id, ["one"]);
      await database.query("update outbox set created_at = now() - interval '3 hours' where channel = $1", [id]);
      let sends = 0;
      start(database, {
        [id]: async () => {
          sends++;
          throw new ChannelError("CHANNEL_CONNECTION_LOST", "busy", { retryAfterS: 7_200 });
        },
      });
      await expect.poll(() => dueIn(database, id), { timeout: 10_000 }).toBeGreaterThan(7_000);
      await setBack(database, id);
      await expect.poll(() => dueIn(database, id), { timeout: 10_000 }).toBeLessThanOrEqual(7_200);
      expect(await dueIn(database, id)).toBeGreaterThan(7_000);
      expect(sends).toBe(1);
    });
  });

  it("sends nothing a second time that is on its way when the database's clock is set forward by an hour", async () => {
    const database = await open();
    const [turn, other] = [await ended(database), await ended(database)];
    const id = `chat-${turn}`;
    await put(database, turn, id, ["one"]);
    const sent = Promise.withResolvers<void>();
    onTestFinished(() => sent.resolve());
    const sends: string[] = [];
    const outbox = start(database, {
      [id]: async ({ text: value }) => {
        sends.push(value);
        if (value === "one") await sent.promise;
      },
    });
    await expect.poll(() => sends).toEqual(["one"]);
    // Times that were stored before lie an hour behind then.
    await database.query(
      "update outbox set next_attempt_at = next_attempt_at - interval '1 hour', sent_at = sent_at - interval '1 hour' where channel = $1",
      [id],
    );
    await put(database, other, id, ["two"]);
    outbox.kick();
    await expect.poll(() => sends).toEqual(["one", "two"]);
    sent.resolve();
    await expect
      .poll(
        async () => (await database.query("select 1 from outbox where channel = $1 and state = 'sent'", [id])).count,
      )
      .toBe(2);
    expect(sends).toEqual(["one", "two"]);
  });

  it("sends on one channel while another one hangs, which it gives no more than it takes", async () => {
    const database = await open();
    const [slow, fast] = [`slow-${crypto.randomUUID()}`, `fast-${crypto.randomUUID()}`];
    const turns = await Promise.all(Array.from({ length: 3 }, () => ended(database)));
    for (const turn of turns) await put(database, turn, slow, ["a"]);
    const later = await ended(database);
    const arrived: string[] = [];
    const hanging = Promise.withResolvers<void>();
    onTestFinished(() => hanging.resolve());
    let hung = 0;
    const outbox = start(database, {
      [slow]: async () => {
        hung++;
        await hanging.promise;
      },
      [fast]: async ({ text: value }) => void arrived.push(value),
    });
    await expect.poll(() => hung).toBe(3);
    await put(database, later, fast, ["b"]);
    outbox.kick();
    await expect.poll(() => arrived).toEqual(["b"]);
    expect(hung).toBe(3);
  });

  it("marks what the platform may have taken before, and nothing else", async () => {
    const database = await open();
    const [lost, refused, unread] = [await ended(database), await ended(database), await ended(database)];
    const arrived: Record<string, (boolean | undefined)[]> = {};
    const failing =
      (name: string, error?: Error) =>
      async ({ mayRepeat }: OutboundMessage) => {
        arrived[name] = [...(arrived[name] ?? []), mayRepeat];
        if (error && arrived[name].length === 1) throw error;
      };
    await put(database, lost, `lost-${lost}`, ["a"]);
    await put(database, refused, `refused-${refused}`, ["b"]);
    await put(database, unread, `unread-${unread}`, ["c"]);
    await database.query(
      `update outbox set payload = jsonb_set(payload, '{attachments}', '[{"name": "a.txt"}]') where turn_id = $1 and key = 'c'`,
      [unread],
    );
    let loads = 0;
    const load = async () => {
      if (++loads === 1) throw new Error("The disk is busy.");
      return null;
    };
    const connection = (notTaken: object) => new ChannelError("CHANNEL_CONNECTION_LOST", "It is down.", notTaken);
    start(
      database,
      {
        [`lost-${lost}`]: failing("lost", connection({})),
        [`refused-${refused}`]: failing("refused", connection({ notTaken: true })),
        [`unread-${unread}`]: failing("unread"),
      },
      { load },
    );
    await expect
      .poll(() => arrived, { timeout: 15_000 })
      .toEqual({ lost: [undefined, true], refused: [undefined, undefined], unread: [undefined] });
    expect(loads).toBe(2);
  });

  it("ends its drain and its stop although a channel never says that it has sent", async () => {
    const database = await open();
    const turn = await ended(database);
    const id = `silent-${turn}`;
    await put(database, turn, id, ["one"]);
    const sending = vi.fn(() => new Promise<void>(() => {}));
    const outbox = start(database, { [id]: sending });
    await expect.poll(() => sending.mock.calls.length).toBe(1);
    await outbox.drain();
    await outbox.stop();
  });
});
