/** Counting words in the background: what was written is counted soon, by one node of all that share the store. */

import { expect, it, onTestFinished } from "vitest";
import { createTermCounter } from "../../../runtime/app/terms/terms.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { TICKERS } from "../../../runtime/contracts/jobs.ts";
import { createTicker } from "../../../runtime/workers/ticker.ts";
import { describeEachDatabase, quietLogger } from "../../support/databases.ts";
import { said, write, writerOf } from "../../support/memory.ts";

/** A node's counter; the timer is an hour away, so that only writes and the start bring about work. */
function startNode(database: Database) {
  const counter = createTermCounter(database);
  const counting = createTicker({
    name: TICKERS.enrich,
    run: (signal) => counter.run(signal, () => counting.notify()),
    intervalMs: 3_600_000,
    gatherMs: 20,
    logger: quietLogger,
  });
  counting.start();
  onTestFinished(() => counting.stop());
  return { counting, writer: writerOf(database, { onWritten: () => counting.notify() }) };
}

async function documentsOf(database: Database, lexeme: string): Promise<number> {
  const { rows } = await database.query<{ n: number }>("select documents as n from search_terms where lexeme = $1", [
    lexeme,
  ]);
  return rows[0]?.n ?? 0;
}

describeEachDatabase("the counter of words", (open, backend) => {
  it("counts what was there before it and what is written while it works", async () => {
    const database = await open({ fresh: true });
    await write(writerOf(database), "s", [said("an old ship")]);
    const { writer } = startNode(database);
    for (let n = 0; n < 5; n += 1) await write(writer, "s", [said(`ship ${n}`)]);
    await expect.poll(() => documentsOf(database, "ship")).toBe(6);
  });

  it.skipIf(backend === "embedded")(
    "follows a counter of another node that dies, though nothing is written any more",
    async () => {
      const database = await open({ fresh: true });
      const died = Promise.withResolvers<void>();
      const counting = Promise.withResolvers<void>();
      const other = database
        .transaction(async (tx) => {
          await tx.query("select pg_advisory_xact_lock(hashtextextended('cairn.search_terms', 0))");
          counting.resolve();
          await died.promise;
          throw new Error("the other node dies");
        })
        .catch(() => undefined);
      await counting.promise;
      const { counting: counter, writer } = startNode(database);
      await write(writer, "s", [said("an old ship")]);
      await expect.poll(() => counter.state().completed).toBeGreaterThan(2);
      expect(await documentsOf(database, "ship")).toBe(0);
      died.resolve();
      await other;
      await expect.poll(() => documentsOf(database, "ship")).toBe(1);
    },
  );

  it.skipIf(backend === "embedded")("counts each row once on two nodes", async () => {
    const database = await open({ fresh: true });
    const nodes = [startNode(database), startNode(database)];
    for (let n = 0; n < 10; n += 1) {
      await Promise.all(nodes.map(({ writer }, node) => write(writer, `s${node}`, [said(`ship ${n}`)])));
    }
    await expect.poll(() => documentsOf(database, "ship")).toBe(20);
    await expect.poll(() => nodes[0]?.counting.state()).toMatchObject({ waiting: 0, active: 0, last_error: null });
    expect(await documentsOf(database, "ship")).toBe(20);
  });
});
