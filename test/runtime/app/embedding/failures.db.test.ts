/** Encoders that fail, stores that go away, workers that end: no row is lost, and none holds up the others. */

import { v7 } from "uuid";
import { expect, it } from "vitest";
import { memoryStats } from "../../../../runtime/app/recall/stats.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { absent } from "../../../support/faults/absent-database.ts";
import { said, write, writerOf } from "../../../support/memory.ts";
import { through } from "../../../support/through.ts";
import { embedderOf, fakeEncoder, fill, makeDue, never, work } from "./support.ts";

const all = { visibility: { all: true } } as const;

describeEachDatabase("embedding, when something fails,", (open, backend) => {
  it("gives its rows back when it is aborted in the middle of a request", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await fill(database, 20);
    fake.setFault(({ texts }) => (texts.length > 1 ? { kind: "hang" } : undefined));
    const stop = new AbortController();
    const running = embedderOf(database, fake).run(stop.signal);
    await expect.poll(() => fake.requests.some(({ texts }) => texts.length > 1)).toBe(true);
    stop.abort(new Error("the node stops"));
    await expect(running).rejects.toThrow("the node stops");
    expect((await work(database)).filter(({ claimed }) => claimed)).toEqual([]);
    fake.setFault(undefined);
    expect(await embedderOf(database, fake).run(never)).toMatchObject({ embedded: 20, failed: 0 });
    expect(await work(database)).toEqual([]);
  });

  it("takes the rows of a worker that died once its claim is over", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await fill(database, 4);
    const embedder = embedderOf(database, fake);
    await embedder.run(never);
    const [dead] = await fill(database, 1, "claimed");
    const claim = (until: string) =>
      database.query(
        `insert into embedding_work (model_id, kind, id, claimed_by, claimed_until)
         values (1, 'message', $1, $2, now() + $3::interval)
         on conflict (model_id, kind, id) do update set claimed_until = excluded.claimed_until`,
        [dead, v7(), until],
      );
    await claim("1 minute");
    expect(await embedder.run(never)).toMatchObject({ embedded: 0 });
    await claim("-1 second");
    expect(await embedder.run(never)).toMatchObject({ embedded: 1 });
  });

  it("releases, once the store is back, what it had claimed before that became unreachable", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await fill(database, 20);
    fake.setFault(({ texts }) => (texts.length > 1 ? { kind: "hold" } : undefined));
    const store = absent(database);
    const embedder = embedderOf(store.database, fake);
    const running = embedder.run(never);
    await expect.poll(() => fake.requests.some(({ texts }) => texts.length > 1)).toBe(true);
    store.disconnect();
    fake.setFault(undefined);
    fake.release();
    await expect(running).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    await expect(embedder.run(never)).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    expect((await work(database)).some(({ claimed }) => claimed)).toBe(true);
    const [others] = await fill(database, 1, "claimed by a living one");
    await database.query(
      `insert into embedding_work (model_id, kind, id, claimed_by, claimed_until)
       values (1, 'message', $1, $2, now() + interval '4 minutes')`,
      [others, v7()],
    );
    store.come();
    expect(await embedder.run(never)).toMatchObject({ embedded: 20, failed: 0 });
    expect(await work(database)).toMatchObject([{ id: others, claimed: true }]);
  });

  it("waits 5, 10 and 15 seconds for an unavailable encoder, blames no row, and continues when it is back", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const embedder = embedderOf(database, fake);
    await fill(database, 2);
    await embedder.run(never);
    await fill(database, 10, "more");
    fake.setFault(() => ({ kind: "status", status: 500 }));
    expect(await embedder.run(never)).toMatchObject({
      embedded: 0,
      failed: 0,
      unavailable: { code: "PROVIDER_SERVER_ERROR" },
    });
    expect(embedder.pauses).toEqual([5_000, 10_000, 15_000]);
    expect((await work(database)).every(({ attempts, claimed, due }) => attempts === 0 && !claimed && due)).toBe(true);
    const { embedding_queue_depth: depth } = await memoryStats(database, undefined, all);
    expect(depth).toBe(10);
    fake.setFault(undefined);
    expect(await embedder.run(never)).toMatchObject({ embedded: 10, unavailable: null });
  });

  it("waits as long as the encoder asks for, and takes it for unavailable when that is more than a minute", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await fill(database, 2);
    const patient = embedderOf(database, fake);
    await patient.run(never);
    await fill(database, 2, "more");
    fake.setFault(() => ({ kind: "status", status: 429, retryAfterS: 12 }));
    expect(await patient.run(never)).toMatchObject({
      embedded: 0,
      failed: 0,
      unavailable: { code: "PROVIDER_RATE_LIMITED" },
    });
    expect(patient.pauses).toEqual([12_000, 12_000, 15_000]);
    fake.setFault(() => ({ kind: "status", status: 429, retryAfterS: 61 }));
    const asked = fake.requests.length;
    expect(await patient.run(never)).toMatchObject({
      embedded: 0,
      failed: 0,
      unavailable: { code: "PROVIDER_RATE_LIMITED" },
    });
    expect(patient.pauses).toHaveLength(3);
    expect(fake.requests).toHaveLength(asked + 1);
  });

  it("keeps what a batch brought before the encoder became unavailable to two others, and is waited for by one of them", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await fill(database, 24);
    const unavailable = { kind: "status", status: 503 } as const;
    // The first learns the dimensions, the second brings a batch, the next two are there at the same time.
    fake.setFault(() => {
      if (fake.requests.length <= 2) return undefined;
      return fake.requests.length <= 4 ? { kind: "hold", next: unavailable } : unavailable;
    });
    const embedder = embedderOf(database, fake, { clock: { now: () => new Date(), monotonic: () => 0 } });
    const running = embedder.run(never);
    await expect.poll(() => fake.requests.length).toBe(4);
    fake.release();
    expect(await running).toMatchObject({ embedded: 8, unavailable: { code: "PROVIDER_OVERLOADED" } });
    expect(embedder.pauses).toEqual([5_000, 10_000, 15_000]);
    expect(fake.requests).toHaveLength(4 + 3);
    fake.setFault(undefined);
    expect(await embedderOf(database, fake).run(never)).toMatchObject({ embedded: 16 });
  });

  it("lets 30 rows that have failed before hold up no new one", async () => {
    const database = await open({ fresh: true });
    const isPoison = ({ texts }: { texts: readonly string[] }) => texts.some((text) => text.includes("poison"));
    const fake = await fakeEncoder({
      fault: (request) => (isPoison(request) ? { kind: "status", status: 400 } : undefined),
    });
    const embedder = embedderOf(database, fake);
    await fill(database, 30, "poison");
    expect(await embedder.run(never)).toEqual({ embedded: 0, failed: 30, unavailable: null });
    await makeDue(database);
    await fill(database, 6, "fresh");
    const before = fake.requests.length;
    expect(await embedder.run(never)).toEqual({ embedded: 6, failed: 30, unavailable: null });
    const asked = fake.requests.slice(before);
    const first = asked.findIndex(({ texts }) => texts.some((text) => text.includes("fresh")));
    expect(asked.slice(0, first).filter(isPoison).length).toBeLessThanOrEqual(2);
  });

  it("ends when vectors cannot be stored, and gives every row back that it has in hand", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await fill(database, 80);
    const broken = through(database, {
      async query(text, values, options) {
        if (text.includes("insert into embeddings_")) throw new Error("the disk is full");
        return database.query(text, values, options);
      },
    });
    await expect(embedderOf(broken, fake).run(never)).rejects.toThrow("the disk is full");
    expect(fake.open()).toBe(0);
    expect((await work(database)).filter(({ claimed }) => claimed)).toEqual([]);
    expect(await embedderOf(database, fake).run(never)).toMatchObject({ embedded: 80, failed: 0 });
  });

  const poisons = [
    ["HTTP 500", { kind: "status", status: 500 }],
    ["HTTP 400", { kind: "status", status: 400 }],
    ["a complaint that holds a NUL", { kind: "status", status: 400, message: "What is \0?" }],
    ["NaN", { kind: "nan" }],
    ["Infinity", { kind: "infinity" }],
    ["a vector of other dimensions in the middle of a batch", { kind: "uneven" }],
    ["a vector too few", { kind: "missing" }],
    ["silence", { kind: "hang" }],
  ] as const;
  // What the encoder does is the same on both; the embedded store is the slower one.
  it.each(backend === "postgres" ? poisons : poisons.slice(0, 1))(
    "embeds all rows but the one that brings about %s, which is tried 5 times and given up",
    async (_, fault) => {
      const database = await open({ fresh: true });
      const poisoned = (texts: readonly string[]) => texts.some((text) => text.includes("poison"));
      const fake = await fakeEncoder({ fault: ({ texts }) => (poisoned(texts) ? fault : undefined) });
      const embedder = embedderOf(database, fake, { timeoutMs: fault.kind === "hang" ? 1_000 : 10_000 });
      await fill(database, 5);
      const [bad] = await fill(database, 1, "poison");
      await fill(database, 14, "good");
      expect(await embedder.run(never)).toEqual({ embedded: 19, failed: 1, unavailable: null });
      expect(embedder.pauses).toEqual([]);
      // Not before its time.
      expect(await embedder.run(never)).toMatchObject({ failed: 0 });
      for (let attempt = 2; attempt <= 5; attempt += 1) {
        await makeDue(database);
        await fill(database, 1, `fresh ${attempt}`);
        expect(await embedder.run(never)).toEqual({ embedded: 1, failed: 1, unavailable: null });
        expect(await work(database)).toMatchObject([{ id: bad, attempts: attempt, claimed: false }]);
      }
      expect(await work(database)).toMatchObject([
        { id: bad, due: false, failed: true, error: expect.stringMatching(/./) },
      ]);
      await makeDue(database);
      expect(await embedder.run(never)).toEqual({ embedded: 0, failed: 0, unavailable: null });
      const stats = await memoryStats(database, undefined, all);
      expect([stats.messages.total - stats.messages.embedded, stats.embedding_queue_depth]).toEqual([1, 0]);
    },
  );

  it("gives up at once what has nothing in it, without asking", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await write(writerOf(database), "s", [said(" \n "), said("a car")]);
    expect(await embedderOf(database, fake).run(never)).toEqual({ embedded: 1, failed: 1, unavailable: null });
    expect(await work(database)).toMatchObject([{ attempts: 1, failed: true }]);
    expect((await memoryStats(database, undefined, all)).embedding_queue_depth).toBe(0);
  });
});
