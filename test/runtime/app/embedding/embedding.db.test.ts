/** Every record gets its vector once, whoever works on it and whatever happens meanwhile. */

import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { memoryStats } from "../../../../runtime/app/recall/stats.ts";
import { openPostgres } from "../../../../runtime/plugins/memory/postgres/index.ts";
import { createPostgresCopy, describeEachDatabase, quietLogger } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";
import { through } from "../../../support/through.ts";
import { embedderOf, fakeEncoder, fill, models, never, work } from "./support.ts";

const all = { visibility: { all: true } } as const;

describeEachDatabase("embedding", (open, backend) => {
  it("gives messages and summaries their vectors, in batches, and finds nothing to do afterwards", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const embedder = embedderOf(database, fake);
    await fill(database, 20);
    await database.query("insert into summaries (id, content) values ($1, 'a summary')", [v7()]);
    expect(await embedder.run(never)).toEqual({ embedded: 21, failed: 0, unavailable: null });
    expect(await models(database)).toMatchObject([{ name: "words", dimensions: 64, current: true, vectors: 21 }]);
    // The first request learns the dimensions; three carry the rows.
    const [first, ...others] = fake.requests.map(({ texts }) => texts.length);
    expect(first).toBe(1);
    // Some of them are with the encoder at the same time.
    expect(others.sort()).toEqual([5, 8, 8]);
    expect(await work(database)).toEqual([]);
    expect(await embedder.run(never)).toEqual({ embedded: 0, failed: 0, unavailable: null });
    await fill(database, 3, "later");
    expect(await embedder.run(never)).toMatchObject({ embedded: 3 });
    expect((await memoryStats(database, undefined, all)).messages).toEqual({ total: 23, embedded: 23, coverage: 1 });
  });

  it("leaves tool calls without a sentence alone until they have one", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const embedder = embedderOf(database, fake);
    const { rows } = await write(writerOf(database), "s", [
      said("", { key: "call", role: "assistant", toolName: "shell", toolArgs: { command: "ls" } }),
    ]);
    expect(await embedder.run(never)).toMatchObject({ embedded: 0 });
    // Long after the scan has passed the row.
    embedder.pass(120_000);
    await embedder.run(never);
    await database.query("update messages set content = 'The assistant listed the directory.' where id = $1", [
      rows[0]?.id,
    ]);
    expect(await embedder.run(never)).toMatchObject({ embedded: 1 });
    expect(fake.encoded.at(-1)).toBe("The assistant listed the directory.");
  });

  it("finds a row whose transaction ended after a younger row's", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const embedder = embedderOf(database, fake);
    const [first] = await fill(database, 3);
    await embedder.run(never);
    // The oldest row appears only now, as far as the embedder can see.
    await database.query("delete from embeddings_1 where id = $1", [first]);
    embedder.pass(30_000);
    expect(await embedder.run(never)).toMatchObject({ embedded: 1 });
  });

  it("embeds each row exactly once with four workers", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const embedders = Array.from({ length: 4 }, () => embedderOf(database, fake));
    await fill(database, 150);
    const writing = Promise.all([fill(database, 75, "red"), fill(database, 75, "blue")]);
    const first = await Promise.all(embedders.map((embedder) => embedder.run(never)));
    await writing;
    const second = await Promise.all(embedders.map((embedder) => embedder.run(never)));
    expect([...first, ...second].reduce((sum, { embedded }) => sum + embedded, 0)).toBe(300);
    const texts = fake.encoded.filter((text) => text !== "ok");
    expect(texts).toHaveLength(300);
    expect(new Set(texts).size).toBe(300);
    expect((await models(database))[0]).toMatchObject({ vectors: 300 });
    expect(await work(database)).toEqual([]);
  });

  it("has the next batches with the encoder before the last one's vectors are stored, six of them at most in hand", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await fill(database, 80);
    const store = Promise.withResolvers<void>();
    const held = through(database, {
      async query(text, values, options) {
        if (text.includes("insert into embeddings_")) await store.promise;
        return database.query(text, values, options);
      },
    });
    const running = embedderOf(held, fake).run(never);
    const batches = () => fake.requests.filter(({ texts }) => texts.length > 1).length;
    await expect.poll(() => batches()).toBe(6);
    await expect.poll(async () => (await work(database)).filter(({ claimed }) => claimed).length).toBe(48);
    expect((await models(database))[0]).toMatchObject({ vectors: 0 });
    store.resolve();
    expect(await running).toEqual({ embedded: 80, failed: 0, unavailable: null });
    expect(batches()).toBe(10);
  });

  it.each([
    ["two requests are with an encoder that answers quickly", 0, 2],
    ["one request is with an encoder that takes long", 5_000, 1],
  ])("sees to it that %s", async (_, tookMs, most) => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    let now = 0;
    const embedder = embedderOf(database, fake, { clock: { now: () => new Date(), monotonic: () => now } });
    await fill(database, 64);
    // The first one learns the dimensions; two batches follow.
    const answered = 3;
    fake.setFault(() => {
      now += tookMs;
      return fake.requests.length > answered ? { kind: "hold" } : undefined;
    });
    const running = embedder.run(never);
    // Six batches are in hand: whatever may be asked has been asked.
    const claimed = async () => (await work(database)).filter((row) => row.claimed).length;
    await expect.poll(claimed).toBe(48);
    await expect.poll(() => fake.requests.length).toBe(answered + most);
    await database.query("select pg_sleep(0.2)");
    expect(fake.requests).toHaveLength(answered + most);
    fake.setFault(undefined);
    fake.release();
    expect(await running).toMatchObject({ embedded: 64, failed: 0 });
  });

  it("keeps no more of long texts in hand than a batch", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder({ fault: ({ texts }) => (texts.length > 1 ? { kind: "hang" } : undefined) });
    const long = "a long story. ".repeat(18_300);
    for (let n = 0; n < 17; n += 1) await write(writerOf(database), "long", [said(`${n} ${long}`, { key: `${n}` })]);
    const stop = new AbortController();
    const running = embedderOf(database, fake, { batch: 16 }).run(stop.signal);
    await expect.poll(() => fake.open()).toBe(1);
    // Whatever else would be claimed has been claimed once another statement has had its turn after it.
    await database.query("select 1");
    expect((await work(database)).filter(({ claimed }) => claimed)).toHaveLength(16);
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    expect((await work(database)).filter(({ claimed }) => claimed)).toHaveLength(0);
  });

  it("embeds a long text by its parts, in requests of the batch's size", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    await write(writerOf(database), "s", [said("The car is red. ".repeat(1_000)), said("short")]);
    expect(await embedderOf(database, fake).run(never)).toMatchObject({ embedded: 2, failed: 0 });
    expect(Math.max(...fake.requests.map(({ texts }) => texts.length))).toBe(8);
    expect(fake.encoded.filter((text) => text.startsWith("The car")).length).toBeGreaterThan(15);
    const { rows } = await database.query<{ norm: number }>(
      "select -(embedding <#> embedding)::float8 as norm from embeddings_1",
    );
    for (const { norm } of rows) expect(norm).toBeCloseTo(1, 2);
  });

  it("cuts vectors of more than 4,000 dimensions", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder({ dimensions: 4_096 });
    await fill(database, 2);
    expect(await embedderOf(database, fake).run(never)).toMatchObject({ embedded: 2 });
    expect(await models(database)).toMatchObject([{ dimensions: 4_000, vectors: 2 }]);
  });

  it("fills a changed model's table beside the old one, and changes over once all is there", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder({ models: { old: 16, new: 32 } });
    await fill(database, 20);
    await embedderOf(database, fake, { model: "old" }).run(never);
    expect(await models(database)).toMatchObject([{ name: "old", current: true }]);
    // The new model's server fails half-way.
    fake.setFault(({ model, texts }) =>
      model === "new" && texts.some((text) => text.endsWith("number 12")) ? { kind: "status", status: 503 } : undefined,
    );
    const embedder = embedderOf(database, fake, { model: "new" });
    expect(await embedder.run(never)).toMatchObject({ embedded: 8 });
    const half = await models(database);
    expect(half.map(({ name, current, vectors }) => [name, current, vectors])).toEqual([
      ["old", true, 20],
      ["new", false, 8],
    ]);
    fake.setFault(undefined);
    await embedder.run(never);
    const whole = await models(database);
    expect(whole.map(({ name, current, vectors }) => [name, current, vectors])).toEqual([
      ["old", false, 20],
      ["new", true, 20],
    ]);
  });

  it("makes one table when several workers meet a new model", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const runs = await Promise.all(Array.from({ length: 4 }, () => embedderOf(database, fake).run(never)));
    expect(runs.every(({ unavailable }) => unavailable === null)).toBe(true);
    expect(await models(database)).toMatchObject([{ current: true, vectors: 0 }]);
  });

  it.runIf(backend === "postgres")("holds no connection while the model thinks", async () => {
    const { url, remove } = await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "");
    const database = await openPostgres({ connectionString: url, pool: 1, logger: quietLogger });
    try {
      const fake = await fakeEncoder();
      await fill(database, 24);
      fake.setFault(({ texts }) => (texts.length > 1 ? { kind: "hold" } : undefined));
      let running = true;
      const run = embedderOf(database, fake).run(never);
      void run.finally(() => {
        running = false;
      });
      let checks = 0;
      while (running) {
        if (fake.open() > 0) {
          // Without a free connection in the pool this would wait for the model, which waits for this.
          expect((await database.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
          checks += 1;
          fake.release();
        }
        await sleep(5);
      }
      expect(checks).toBeGreaterThanOrEqual(2);
      expect(await run).toMatchObject({ embedded: 24 });
    } finally {
      await database.close();
      await remove();
    }
  });
});
