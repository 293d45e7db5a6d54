/** The embedder at work: written rows are found by meaning soon, on every node that shares the store. */

import { expect, it, onTestFinished } from "vitest";
import { createQueryEmbedding } from "../../../runtime/app/embedding/query.ts";
import type { Writer } from "../../../runtime/app/transcript/writer.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { TICKERS } from "../../../runtime/contracts/jobs.ts";
import { createOllamaEmbedding } from "../../../runtime/plugins/embeddings/ollama/index.ts";
import { createTicker, type Ticker } from "../../../runtime/workers/ticker.ts";
import type { FakeEncoder } from "../../fakes/embeddings/index.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { describeEachDatabase, quietLogger } from "../../support/databases.ts";
import { memoryOf, said, write, writerOf } from "../../support/memory.ts";
import { embedderOf, fakeEncoder, models } from "../app/embedding/support.ts";

interface Node {
  readonly writer: Writer;
  stop(): Promise<void>;
}

function startEmbedder(database: Database, fake: FakeEncoder, intervalMs: number): Ticker {
  const embedding = embedderOf(database, fake);
  const run = (signal: AbortSignal) => embedding.run(signal);
  const embedder = createTicker({ name: TICKERS.embed, run, intervalMs, gatherMs: 100, logger: quietLogger });
  embedder.start();
  onTestFinished(() => embedder.stop());
  return embedder;
}

/** A node's embedder, notified by its writer. Only writes and the start bring about work: the timer is an hour away. */
function startNode(database: Database, fake: FakeEncoder): Node {
  const embedder = startEmbedder(database, fake, 3_600_000);
  return { writer: writerOf(database, { onWritten: () => embedder.notify() }), stop: embedder.stop };
}

describeEachDatabase("the embedder", (open, backend) => {
  it("finds by meaning what was just written in other words", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const { writer } = startNode(database, fake);
    const service = createOllamaEmbedding({ model: "words", baseUrl: fake.url });
    const queries = createQueryEmbedding({
      service,
      redact: (text) => text,
      logger: quietLogger,
      deadlineMs: EVENTUALLY_MS,
    });
    const memory = memoryOf(database, { writer, embed: queries.embed });
    await write(writer, "s", [
      said("My physician purchased an automobile."),
      said("The weather was fine."),
      said("Nothing to report."),
    ]);
    await expect.poll(async () => (await models(database))[0]?.vectors).toBe(3);
    const hits = await memory.search("doctor bought car");
    expect(hits[0]).toMatchObject({ content: "My physician purchased an automobile.", scores: { fts: 0 } });
    expect(hits[0]?.scores.semantic).toBeGreaterThan(0.5);
    expect(await memory.getContextForTurn("doctor bought car", "main")).toContain("My physician purchased");
    await memory.idle();
  });

  it("finds what is written while it works", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const { writer } = startNode(database, fake);
    for (let n = 0; n < 30; n += 1) await write(writer, `s${n % 3}`, [said(`row ${n}`)]);
    await expect.poll(async () => (await models(database))[0]?.vectors).toBe(30);
    const texts = fake.encoded.filter((text) => text !== "ok");
    expect(new Set(texts).size).toBe(texts.length);
  });

  it("ends a request when the node stops, and the next start does the rest", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder({ fault: ({ texts }) => (texts[0] === "ok" ? undefined : { kind: "hang" }) });
    const node = startNode(database, fake);
    await write(node.writer, "s", [said("a"), said("b")]);
    await expect.poll(() => fake.requests.some(({ texts }) => texts.length === 2)).toBe(true);
    await node.stop();
    await expect.poll(() => fake.open()).toBe(0);
    fake.setFault(undefined);
    startNode(database, fake);
    await expect.poll(async () => (await models(database))[0]?.vectors).toBe(2);
  });

  it("does not count as failed while the encoder is unavailable", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder({ fault: () => ({ kind: "status", status: 503 }) });
    const embedder = startEmbedder(database, fake, 100);
    await expect.poll(() => embedder.state().completed).toBeGreaterThan(1);
    expect(embedder.state()).toMatchObject({ waiting: 0, failed: 0, last_error: null });
  });

  it.runIf(backend === "postgres")("shares the rows of one store among nodes, each row embedded once", async () => {
    const database = await open({ fresh: true });
    const fake = await fakeEncoder();
    const first = startNode(database, fake);
    const second = startNode(database, fake);
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const { writer } = n % 2 === 0 ? first : second;
        return write(writer, `s${n}`, [said(`red ${n}`), said(`blue ${n}`), said(`green ${n}`)]);
      }),
    );
    await expect.poll(async () => (await models(database))[0]?.vectors).toBe(120);
    const texts = fake.encoded.filter((text) => text !== "ok");
    expect(new Set(texts).size).toBe(120);
    expect(texts).toHaveLength(120);
  });
});
