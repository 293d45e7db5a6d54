/** Many compactors at one store, and compactors that die at each step: no message is lost, none is summarized twice. */

import { expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { openPostgres } from "../../../../runtime/plugins/memory/postgres/index.ts";
import type { TextFake } from "../../../fakes/chat-completions/index.ts";
import { createPostgresCopy, describeEachDatabase, quietLogger } from "../../../support/databases.ts";
import { absent } from "../../../support/faults/absent-database.ts";
import { type DeathPoint, mortal } from "../../../support/faults/mortal-database.ts";
import { notEmbedded } from "../../../support/through.ts";
import { compactorOf, counted, fakeModel, never, summariesOf, talk, workOf } from "./support.ts";

/** As if the claims of the dead had run out. */
async function expireClaims(database: Database): Promise<void> {
  await database.query(
    "update compaction_work set claimed_until = now() - interval '1 second' where claimed_by is not null",
  );
}

describeEachDatabase("compactors of one store", (open, backend) => {
  it("16 at the same time summarize 32 conversations with 384 messages, every message once", async () => {
    const database = await open({ fresh: true });
    for (let n = 0; n < 32; n += 1) await talk(database, `session-${n}`, 12);
    const fake = await fakeModel();
    // A compactor's first run over an embedded store frees the claims of the process before it, which none here is.
    const first = compactorOf(database, fake, { parallel: 1 });
    const others = Array.from({ length: 15 }, () => compactorOf(notEmbedded(database), fake, { parallel: 1 }));
    const reports = await Promise.all([first, ...others].map((compactor) => compactor.run(never)));
    expect(reports.reduce((sum, { stored }) => sum + stored.leaf, 0)).toBe(32);
    expect(reports.map(({ failed, unavailable }) => [failed, unavailable])).toEqual(reports.map(() => [0, null]));
    expect(await counted(database)).toEqual({ twice: 0, never: 0, once: 384 });
    // No model was asked for nothing.
    expect(fake.requests).toHaveLength(32);
  });

  it("16 at one conversation write its tree as one does, while 16 writers go on with it", async () => {
    const database = await open({ fresh: true });
    const id = await talk(database, "busy", 40, "before");
    const fake = await fakeModel();
    const compactors = Array.from({ length: 16 }, () => compactorOf(notEmbedded(database), fake, { parallel: 1 }));
    const writing = Promise.all(Array.from({ length: 16 }, (_, n) => talk(database, "busy", 10, `writer-${n}`)));
    const running = Promise.all(compactors.map((compactor) => compactor.run(never)));
    await Promise.all([writing, running]);
    await compactors[0]?.run(never);
    expect(await counted(database)).toEqual({ twice: 0, never: 0, once: 200 });
    const summaries = await summariesOf(database, id);
    const leaves = summaries.filter(({ kind }) => kind === "leaf");
    expect(leaves.reduce((sum, { message_count }) => sum + message_count, 0)).toBe(200);
    const roots = new Set(summaries.map(({ parent_id }) => parent_id));
    for (const parent of roots) if (parent !== null) expect(summaries.map((one) => one.id)).toContain(parent);
  });

  it("one whose store becomes unreachable while its model thinks releases its claim once it is back, and no other's", async () => {
    const database = await open({ fresh: true });
    const id = await talk(database, "left", 12);
    const other = await talk(database, "another's", 12);
    const fake = await fakeModel({
      fault: ({ number }) => (number === 1 ? { kind: "hold", gate: "model" } : undefined),
    });
    const store = absent(database);
    const compactor = compactorOf(store.database, fake, { parallel: 1 });
    const running = compactor.run(never);
    await fake.waitForRequests(1, 45_000);
    await database.query(
      `update compaction_work set claimed_by = gen_random_uuid(), claimed_until = now() + interval '4 minutes'
       where claimed_by is null`,
    );
    store.disconnect();
    fake.release("model");
    await expect(running).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    store.come();
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 1 } });
    const held = await Promise.all([id, other].map((one) => workOf(database, one)));
    expect(held.map((one) => one?.claimed).sort()).toEqual([false, true]);
  });

  it.runIf(backend === "postgres")(
    "one that waits for 12 answers of its model at once leaves all 10 connections of its pool free",
    async () => {
      const { url, remove } = await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "");
      const database = await openPostgres({ connectionString: url, pool: 10, logger: quietLogger });
      try {
        for (let n = 0; n < 12; n += 1) await talk(database, `session-${n}`, 10);
        const fake = await fakeModel({ fault: () => ({ kind: "hold", gate: "model" }) });
        const running = compactorOf(database, fake, { parallel: 12 }).run(never);
        running.catch(() => undefined);
        await fake.waitForRequests(12);
        // More than once, where a claim is being renewed or the machine is slow to connect.
        await expect.poll(() => heldAtOnce(database, 10)).toBe(10);
        expect(fake.requests).toHaveLength(12);
        fake.setFault(undefined);
        fake.release("model");
        expect((await running).stored.leaf).toBe(12);
        expect(await counted(database)).toEqual({ twice: 0, never: 0, once: 120 });
      } finally {
        await database.close();
        await remove();
      }
    },
  );

  it("one that is overtaken while its model thinks stores nothing", async () => {
    const database = await open();
    const id = await talk(database, "slow", 12);
    const fake = await fakeModel({
      fault: ({ number }) => (number === 1 ? { kind: "hold", gate: "slow" } : undefined),
    });
    const slow = compactorOf(database, fake, { parallel: 1 }).run(never);
    await fake.waitForRequests(1);
    await expireClaims(database);
    expect(await compactorOf(notEmbedded(database), fake).run(never)).toMatchObject({ stored: { leaf: 1 } });
    fake.release("slow");
    expect(await slow).toMatchObject({ stored: { leaf: 0 }, failed: 0, unavailable: null });
    expect(await summariesOf(database, id)).toHaveLength(1);
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 12 });
  });

  it("one that was overtaken stores nothing also while the other is not done yet", async () => {
    const database = await open();
    const id = await talk(database, "fenced", 12);
    const fake = await fakeModel({ fault: () => ({ kind: "hold", gate: "fenced" }) });
    const slow = compactorOf(notEmbedded(database), fake, { parallel: 1 }).run(never);
    await fake.waitForRequests(1);
    await database.query(
      `update compaction_work set claimed_by = gen_random_uuid(), claimed_until = now() + interval '4 minutes'
       where conversation_id = $1`,
      [id],
    );
    fake.release("fenced");
    expect(await slow).toMatchObject({ stored: { leaf: 0 }, failed: 0, unavailable: null });
    expect(await summariesOf(database, id)).toEqual([]);
    await expireClaims(database);
    await compactorOf(notEmbedded(database), fake).run(never);
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 12 });
  });

  it("one whose message another worker has linked meanwhile stores nothing, and does the rest afterwards", async () => {
    const database = await open();
    const id = await talk(database, "linked", 13);
    const fake = await fakeModel({
      fault: ({ number }) => (number === 1 ? { kind: "hold", gate: "linked" } : undefined),
    });
    const running = compactorOf(notEmbedded(database), fake, { parallel: 1 }).run(never);
    await fake.waitForRequests(1);
    await database.query(
      `with made as (
         insert into summaries (id, conversation_id, content) values (gen_random_uuid(), $1, 'by hand') returning id
       )
       insert into summary_sources (summary_id, message_id)
       select made.id, m.id from made, (select id from messages where conversation_id = $1 order by seq limit 1) as m`,
      [id],
    );
    fake.release("linked");
    expect(await running).toMatchObject({ stored: { leaf: 1 }, failed: 0 });
    expect((await summariesOf(database, id)).map(({ sources }) => sources.length)).toEqual([1, 12]);
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 13 });
  });

  it("one that loses its claim to another ends its request to the model", async () => {
    const database = await open();
    const id = await talk(database, "hung", 12);
    const fake = await fakeModel({ fault: ({ number }) => (number === 1 ? { kind: "hang" } : undefined) });
    const times = { leaseMs: 60_000, renewMs: 20, longestMs: 60_000 };
    const hung = compactorOf(database, fake, { parallel: 1, times }).run(never);
    await fake.waitForRequests(1);
    await database.query(
      `update compaction_work set claimed_by = gen_random_uuid(), claimed_until = now() + interval '4 minutes'
       where conversation_id = $1`,
      [id],
    );
    await fake.waitUntil(({ counters }) => counters().closed === 1);
    expect(await hung).toMatchObject({ stored: { leaf: 0 }, failed: 0, unavailable: null });
    // What the other one holds stays its own.
    expect(await workOf(database, id)).toMatchObject({ claimed: true, attempts: 0 });
    await expireClaims(database);
    await compactorOf(notEmbedded(database), fake).run(never);
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 12 });
  });

  const points: readonly DeathPoint[] = [
    { mark: "compaction:claim", when: "before" },
    { mark: "compaction:claim", when: "committed" },
    { mark: "compaction:summary", when: "before" },
    { mark: "compaction:summary", when: "after" },
    { mark: "compaction:links", when: "after" },
    { mark: "compaction:done", when: "before" },
    { mark: "compaction:done", when: "after" },
    { mark: "compaction:done", when: "committed" },
  ];
  it.each(points)("one that dies $when $mark leaves no message out and none in two summaries", async (point) => {
    const database = await open();
    const id = await talk(database, sessionOf(point), 12);
    const fake = await fakeModel();
    const dying = mortal(database, point);
    await expect(compactorOf(dying.database, fake, { parallel: 1 }).run(never)).rejects.toMatchObject({
      code: "MEMORY_UNAVAILABLE",
    });
    expect(dying.dead()).toBe(true);
    await expectOneLeafLater(database, id, fake);
  });

  it.each(["before", "after"] as const)(
    "one that dies %s its call of the model leaves no message out and none in two summaries",
    async (when) => {
      const database = await open();
      const id = await talk(database, `mortal/call/${when}`, 12);
      const dying = mortal(database);
      const fake = await fakeModel({
        answer: ({ lastUser }) => {
          dying.die();
          return lastUser.slice(0, 50);
        },
        ...(when === "before" ? { fault: () => ({ kind: "cut" as const }) } : {}),
      });
      await expect(compactorOf(dying.database, fake, { parallel: 1 }).run(never)).rejects.toMatchObject({
        code: "MEMORY_UNAVAILABLE",
      });
      await expectOneLeafLater(database, id, await fakeModel());
    },
  );

  it.each<DeathPoint>([
    { mark: "compaction:absorb", when: "before" },
    { mark: "compaction:absorb", when: "after" },
    { mark: "compaction:done", when: "committed" },
  ])("one that dies $when $mark of a branch leaves every leaf under one branch", async (point) => {
    const database = await open();
    const fake = await fakeModel();
    const compactor = compactorOf(database, fake);
    let id = "";
    for (let n = 0; n < 4; n += 1) {
      id = await talk(database, `tree/${sessionOf(point)}`, 10, `topic-${n}`);
      await compactor.run(never);
    }
    id = await talk(database, `tree/${sessionOf(point)}`, 10, "topic-4");
    const dying = mortal(database, point.mark === "compaction:absorb" ? point : undefined);
    const last = compactorOf(dying.database, fake, { parallel: 1 });
    if (point.mark === "compaction:absorb")
      await expect(last.run(never)).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    else await last.run(never);
    await expireClaims(database);
    await compactorOf(database, fake).run(never);
    const summaries = await summariesOf(database, id);
    const branches = summaries.filter(({ kind }) => kind === "branch");
    expect(branches).toHaveLength(1);
    expect(summaries.filter(({ kind, parent_id }) => kind === "leaf" && parent_id === branches[0]?.id)).toHaveLength(5);
  });
});

function sessionOf({ mark, when }: DeathPoint): string {
  return `${mark}/${when}`;
}

async function expectOneLeafLater(database: Database, id: string, fake: TextFake): Promise<void> {
  // The claim of the dead holds until it has run out.
  await expireClaims(database);
  await compactorOf(database, fake).run(never);
  expect(await summariesOf(database, id)).toHaveLength(1);
  expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 12 });
  expect(await workOf(database, id)).toMatchObject({ due: false, claimed: false, attempts: 0 });
}

/** How many of so many transactions have a connection at the same time. */
async function heldAtOnce(database: Database, count: number): Promise<number> {
  const all = Promise.withResolvers<void>();
  let held = 0;
  const results = await Promise.allSettled(
    Array.from({ length: count }, () =>
      database
        .transaction(async (tx) => {
          await tx.query("select 1");
          held += 1;
          if (held === count) all.resolve();
          await all.promise;
        })
        .finally(() => all.resolve()),
    ),
  );
  return results.filter(({ status }) => status === "fulfilled").length;
}
