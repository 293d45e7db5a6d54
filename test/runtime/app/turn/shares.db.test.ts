/** Whose turns a node runs next: the owner's first, then those of the user who has the fewest, within each one's share. */

import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createInbox } from "../../../../runtime/app/turn/inbox.ts";
import type { ClaimRoom } from "../../../../runtime/app/turn/queue-order.ts";
import { TurnStore } from "../../../../runtime/app/turn/turn-store.ts";
import { describeDatabase } from "../../../support/databases.ts";

const OWNER = "";
const UNLIMITED = {
  maxOpenOfOthers: 10_000,
  maxOpenOfOneUser: 10_000,
  maxTextOfOthers: 65_536,
  maxTextsOfOthers: 524_288,
  maxAttachedOfOthers: 4_194_304,
  maxSteersOfOthers: 20,
};
const FREE: ClaimRoom = { turns: 64, others: { turns: 56, ofOneUser: 16, active: [] } };

/** Who has a share of their own: a token with all the users that it names, or one user. */
const holderOf = (user: string) => (user.startsWith("token:") ? (user.split("/")[0] ?? "") : user);

function countBy<T>(items: readonly T[], key: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}

describeDatabase("shares of turns", (open) => {
  /** A queue of its own in the suite's store: one turn for each user that is named, each in a session of its own. */
  async function queueOf(users: readonly string[], priorities: readonly number[] = []) {
    const database = await open();
    const agent = `agent-${randomUUID()}`;
    const inbox = createInbox({ database, limits: UNLIMITED, newId: randomUUID });
    for (const [n, user] of users.entries()) {
      const address = { channel: "agent", conversation: `s${n}`, user };
      const message = { address, agent, externalId: `${n}`, text: "hi", owner: user === OWNER };
      await inbox.accept(message, priorities[n] ?? 0);
    }
    const store = new TurnStore({ database, owner: { node: agent, boot: "1" }, leaseMs: 600_000, newId: randomUUID });
    return { claim: async (room: ClaimRoom) => (await store.claim([agent], room, [])).map(({ user }) => user) };
  }

  const others = (active: readonly string[], turns = FREE.others.turns, ofOneUser = FREE.others.ofOneUser) => ({
    turns,
    ofOneUser,
    active: active.map((user) => ({ channel: "agent", user })),
  });

  it("are the owner's first, however late they come", async () => {
    const { claim } = await queueOf(["ann", "bob", "ann", OWNER, OWNER], [1]);
    expect(await claim({ ...FREE, turns: 2 })).toEqual([OWNER, OWNER]);
    expect((await claim({ ...FREE, turns: 2 })).sort()).toEqual(["ann", "bob"]);
  });

  it("leave places free for the owner alone", async () => {
    const { claim } = await queueOf(["ann", "bob", "cat", "dan", OWNER]);
    expect((await claim({ turns: 4, others: others([], 2) })).sort()).toEqual([OWNER, "ann", "bob"]);
    expect(await claim({ turns: 2, others: others(["ann", "bob"], 2) })).toEqual([]);
    expect(await claim({ turns: 2, others: others(["ann"], 2) })).toEqual(["cat"]);
  });

  it("are of one token for all the users that it names, and of a user apart from others of the same name elsewhere", async () => {
    const { claim } = await queueOf(["token:1", "token:1/a", "token:1/b", "token:10/a", "token", "a"]);
    const claimed = await claim({ turns: 64, others: others([], 64, 1) });
    expect(claimed.sort()).toEqual(["a", "token", "token:1", "token:10/a"]);
    const elsewhere = { turns: 64, ofOneUser: 1, active: [{ channel: "telegram", user: "token:1" }] };
    expect(await claim({ turns: 64, others: elsewhere })).toEqual(["token:1/a"]);
  });

  it("go to the user who has the fewest, not to the one who came first", async () => {
    const { claim } = await queueOf([...Array.from({ length: 30 }, () => "greedy"), "late"]);
    expect(countBy(await claim({ ...FREE, turns: 10 }), String)).toEqual(
      new Map([
        ["greedy", 9],
        ["late", 1],
      ]),
    );
    const users = await queueOf([...Array.from({ length: 30 }, () => "token:1/greedy"), "token:1/late"]);
    expect(await users.claim({ turns: 1, others: others(["token:1/greedy"]) })).toEqual(["token:1/late"]);
  });

  it("run a user's own turns in their order, what goes ahead of the queue first", async () => {
    const { claim } = await queueOf(["ann", "ann", "ann"], [0, 0, 1]);
    const database = await open();
    const claimed = async () => {
      await claim({ ...FREE, turns: 1 });
      const { rows } = await database.query<{ conversation: string }>(
        "select i.conversation from turns t join inbox i on i.id = t.inbox_id where t.state = 'running' order by t.lease_until desc limit 1",
      );
      return rows[0]?.conversation;
    };
    expect([await claimed(), await claimed(), await claimed()]).toEqual(["s2", "s0", "s1"]);
  });

  it("do not go first to the user whose turns go ahead of their own queue", async () => {
    const { claim } = await queueOf(["ann", "bob", "cat"], [0, 0, 1]);
    expect(await claim({ ...FREE, turns: 1 })).toEqual(["ann"]);
    const ofOneToken = await queueOf(["token:1/a", "token:1/b"], [0, 1]);
    expect(await ofOneToken.claim({ ...FREE, turns: 1 })).toEqual(["token:1/a"]);
  });

  /** A store with a long queue of one user, as it may have grown before messages were limited. */
  async function longQueue(n: number, session: string, lastPriority = 0) {
    const database = await open({ fresh: true });
    const agent = `agent-${randomUUID()}`;
    const key = (user: string, conversation: string) => `${agent}:agent:${conversation}:${user}`;
    const queue = (count: number, user: string, conversation: string, priority = 0) =>
      database.query(
        `with i as (
           insert into inbox (id, channel, agent, conversation, user_id, external_id, body_hash, session_key, text, owner)
           select gen_random_uuid(), 'agent', $1, $3 || coalesce($5, g::text), $2, gen_random_uuid()::text, 'h',
                  $4 || coalesce($5, g::text), 'hi', $2 = '' from generate_series(1, $6::int) g
           returning id, seq, session_key, agent)
         insert into turns (id, inbox_id, seq, priority, session_key, agent)
         select gen_random_uuid(), id, seq, $7, session_key, agent from i`,
        [agent, user, conversation, key(user, conversation), session === "one" ? "" : null, count, priority],
      );
    await queue(n, "greedy", "s");
    if (lastPriority > 0) await queue(1, "greedy", "s", lastPriority);
    const store = new TurnStore({ database, owner: { node: agent, boot: "1" }, leaseMs: 600_000, newId: randomUUID });
    const end = (inboxId: string) =>
      database.query(
        `with i as (update inbox set done_at = now() where id = $1 returning id)
         update turns set state = 'done' where inbox_id in (select id from i)`,
        [inboxId],
      );
    return { queue, end, claim: (room: ClaimRoom) => store.claim([agent], room, []) };
  }

  it("are claimed from however long a queue: no more rows of others are ranked than a claim has time for", async () => {
    const { claim, queue, end } = await longQueue(2_000, "many");
    await queue(1, "ann", "later");
    await queue(1, OWNER, "own");
    const claimed = await claim({ ...FREE, turns: 3 });
    // The owner's is found behind all of them; ann's is behind the 2,000 that are ranked.
    expect(claimed.map(({ user }) => user).sort()).toEqual([OWNER, "greedy", "greedy"]);
    for (const { inboxId } of claimed) await end(inboxId);
    expect((await claim({ ...FREE, turns: 2 })).map(({ user }) => user).sort()).toEqual(["ann", "greedy"]);
  });

  it("are claimed where a turn is ahead of a session's queue that is longer than what is ranked", async () => {
    const { claim } = await longQueue(2_001, "one", 1);
    expect(await claim({ ...FREE, turns: 3 })).toHaveLength(1);
    expect(await claim({ ...FREE, turns: 3 })).toEqual([]);
  });

  describe("are asked for by messages, of which", () => {
    async function inboxOf(maxOpenOfOneUser: number, maxOpenOfOthers: number) {
      const database = await open({ fresh: true });
      const limits = {
        maxOpenOfOneUser,
        maxOpenOfOthers,
        maxTextOfOthers: 65_536,
        maxTextsOfOthers: 524_288,
        maxAttachedOfOthers: 4_194_304,
        maxSteersOfOthers: 20,
      };
      const inbox = createInbox({ database, limits, newId: randomUUID });
      let n = 0;
      const send = (user: string, externalId = `${++n}`, text = "hi", channel = "agent", more: object = {}) =>
        inbox.accept({
          ...more,
          address: { channel, conversation: `s${externalId}`, user },
          agent: "main",
          externalId,
          text,
          owner: user === OWNER,
        });
      const attachments = async () => (await database.query("select distinct sha256 from attachments")).rows;
      return { database, send, attachments };
    }
    const refused = (message: string) => ({
      code: "RUNTIME_RATE_LIMITED",
      status: 429,
      retryable: true,
      details: { retryAfterS: 10 },
      message,
    });

    it("a user, and a token with all its users, have so many open", async () => {
      const { send } = await inboxOf(3, 1_000);
      for (const user of ["token:1", "token:1/a", "token:1/b"]) await send(user, `of ${user}`);
      const full = refused("3 of your messages wait for their answers already.");
      await expect(send("token:1/c")).rejects.toMatchObject(full);
      await expect(send("token:1")).rejects.toMatchObject(full);
      // Others are not held up by it: another token, a user of that name elsewhere, the owner.
      for (const user of ["token:10", "ann", OWNER, OWNER, OWNER, OWNER])
        expect(await send(user)).toMatchObject({ fresh: true });
      expect(await send("token:1", undefined, "hi", "telegram")).toMatchObject({ fresh: true });
      // A message that was taken has its answer still, and one with another body its conflict.
      expect(await send("token:1/a", "of token:1/a")).toMatchObject({ fresh: false });
      await expect(send("token:1/a", "of token:1/a", "other")).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    });

    it("the attachments are written only when the message is accepted", async () => {
      const { send, attachments } = await inboxOf(1, 1_000);
      const attach = (user: string, id: string, content: string) =>
        send(user, id, "hi", "agent", {
          attachments: [{ name: "a", mediaType: "text/plain", data: Buffer.from(content).toString("base64") }],
        });
      await attach("ann", "1", "first");
      expect(await attachments()).toHaveLength(1);
      await expect(attach("ann", "2", "second")).rejects.toMatchObject({ code: "RUNTIME_RATE_LIMITED" });
      await expect(attach("ann", "1", "third")).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
      expect(await attachments()).toHaveLength(1);
      // The same message again, and the owner's, are not held up by it.
      expect(await attach("ann", "1", "first")).toMatchObject({ fresh: false });
      expect(await attach(OWNER, "3", "fourth")).toMatchObject({ fresh: true });
      expect(await attachments()).toHaveLength(2);
    });

    it("there is room again when a turn has ended", async () => {
      const { database, send } = await inboxOf(1, 1_000);
      await send("ann");
      await expect(send("ann")).rejects.toMatchObject({ code: "RUNTIME_RATE_LIMITED" });
      await database.query("update inbox set done_at = now()");
      expect(await send("ann")).toMatchObject({ fresh: true });
    });

    it("all users who are not the owner have so many open together", async () => {
      const { database, send } = await inboxOf(100, 4);
      for (const user of ["ann", "bob", "token:1/a", "token:2/a"]) await send(user);
      await expect(send("cat")).rejects.toMatchObject(refused("4 messages wait for their answers already."));
      expect(await send(OWNER)).toMatchObject({ fresh: true });
      const { rows } = await database.query("select 1 from turns");
      expect(rows).toHaveLength(5);
    });

    it("the texts together and what is attached have a bound where the sender is not the owner", async () => {
      const { database, send } = await inboxOf(10, 10);
      const history = Array.from({ length: 8 }, () => ({ role: "user" as const, content: "x".repeat(65_536) }));
      const data = Buffer.alloc(3 * 1024 ** 2).toString("base64");
      const attachments = ["a.png", "b.png"].map((name) => ({ name, mediaType: "image/png", data }));
      for (const more of [{ history }, { attachments }]) {
        await expect(send("ann", "1", "hi", "agent", more)).rejects.toMatchObject({
          code: "RUNTIME_BODY_TOO_LARGE",
          status: 413,
        });
      }
      const { rows } = await database.query("select 1 from inbox");
      expect(rows).toEqual([]);
      await send("ann", "2", "hi", "agent", { history: history.slice(1), attachments: attachments.slice(1) });
      await send(OWNER, "3", "hi", "agent", { history, attachments });
    });

    it("the text has 65,536 UTF-16 units where the sender is not the owner", async () => {
      const { send } = await inboxOf(100, 100);
      const text = "x".repeat(65_536);
      expect(await send("ann", undefined, text)).toMatchObject({ fresh: true });
      await expect(send("ann", undefined, `${text}x`)).rejects.toMatchObject({
        code: "RUNTIME_BODY_TOO_LARGE",
        status: 413,
      });
      expect(await send(OWNER, undefined, "x".repeat(1_000_000))).toMatchObject({ fresh: true });
    });
  });

  it("are fair, for any queue and any running turns", async () => {
    const user = fc.constantFrom(OWNER, "ann", "bob", "token:1", "token:1/a", "token:1/b", "token:2/a");
    const stranger = user.filter((name) => name !== OWNER);
    await fc.assert(
      fc.asyncProperty(
        fc.array(user, { maxLength: 14 }),
        fc.array(stranger, { maxLength: 8 }),
        fc.record({ turns: fc.integer({ min: 1, max: 12 }), all: fc.nat(10), each: fc.integer({ min: 1, max: 5 }) }),
        async (queued, active, room) => {
          const { claim } = await queueOf(queued);
          const claimed = await claim({ turns: room.turns, others: others(active, room.all, room.each) });
          const strangers = claimed.filter((name) => name !== OWNER);
          const waiting: string[] = [...queued];
          for (const name of claimed) waiting.splice(waiting.indexOf(name), 1);
          const before = countBy(active, holderOf);
          const after = countBy([...active, ...strangers], holderOf);

          // No more than there is room for: in all, for others, for each of them.
          expect(claimed.length).toBeLessThanOrEqual(room.turns);
          if (strangers.length > 0) expect(active.length + strangers.length).toBeLessThanOrEqual(room.all);
          for (const holder of strangers.map(holderOf)) expect(after.get(holder)).toBeLessThanOrEqual(room.each);
          // The owner waits only where the node is full, and then no other turn was taken.
          if (waiting.includes(OWNER)) expect([claimed.length, strangers.length]).toEqual([room.turns, 0]);
          // Nothing is left idle: a user that waits has no share left, or there is no place.
          const full = claimed.length === room.turns || active.length + strangers.length >= room.all;
          const eligible = waiting.filter((name) => name !== OWNER && (after.get(holderOf(name)) ?? 0) < room.each);
          if (!full) expect(eligible).toEqual([]);
          // A user that got a turn has not more than one that waits would have with it.
          for (const waits of eligible.map(holderOf)) {
            for (const [holder, count] of after) {
              if (count > (before.get(holder) ?? 0)) expect(count).toBeLessThanOrEqual((after.get(waits) ?? 0) + 1);
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});
