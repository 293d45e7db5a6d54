/** PostgreSQL crashes under the memory's background work: it goes on soon after the server is back, and nothing is lost. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { migrate } from "../../../runtime/app/migrate.ts";
import { CircuitBreaker } from "../../../runtime/app/synthesis/circuit-breaker.ts";
import { createTermCounter } from "../../../runtime/app/terms/terms.ts";
import { createSynthesisQueue } from "../../../runtime/app/transcript/synthesis-queue.ts";
import type { Writer } from "../../../runtime/app/transcript/writer.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { CairnError } from "../../../runtime/contracts/errors.ts";
import { type JobQueue, QUEUES, TICKERS } from "../../../runtime/contracts/jobs.ts";
import { openPostgres } from "../../../runtime/plugins/memory/postgres/index.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { startSynthesizer } from "../../../runtime/workers/synthesizer.ts";
import { createTicker } from "../../../runtime/workers/ticker.ts";
import { type PostgresServer, startPostgres } from "../../lanes/postgres.ts";
import { lacks } from "../../lanes/tools.ts";
import { MIGRATIONS, quietLogger } from "../../support/databases.ts";
import { memoryOf, said, systemClock, writerOf } from "../../support/memory.ts";
import { compactorOf, fakeModel } from "../app/compaction/support.ts";
import { embedderOf, fakeEncoder, models } from "../app/embedding/support.ts";
import { playedModel, synthesisOf } from "../app/synthesis/support.ts";

const TIMEOUT = 300_000;
/** It has to happen, and soon; how soon depends on the machine. */
const EVENTUALLY = { timeout: 120_000, interval: 100 };

describe.skipIf(lacks("postgresql"))("background work and a PostgreSQL that crashes", { timeout: TIMEOUT }, () => {
  let server: PostgresServer;
  let database: Database;
  const cleanups: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    database = await openPostgres({ connectionString: server.url, pool: 24, logger: quietLogger });
    await migrate(database, { directory: MIGRATIONS });
  }, TIMEOUT);

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await database.query("delete from pgboss.job");
  });

  afterAll(async () => {
    await database.close();
    await server.stop();
  }, TIMEOUT);

  async function startQueue(): Promise<JobQueue> {
    const jobs = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    await jobs.start();
    cleanups.push(() => jobs.stop(500));
    return jobs;
  }

  const stateOf = async (jobs: JobQueue, name: string) => (await jobs.states()).find(({ queue }) => queue === name);

  it("completes a job that ended while the server was unreachable, and does not run it again", async () => {
    const jobs = await startQueue();
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    let runs = 0;
    await jobs.work(QUEUES.extractWiki, async () => {
      runs += 1;
      started.resolve();
      await finish.promise;
    });
    await jobs.enqueue(QUEUES.extractWiki, {}, { key: "k" });
    await started.promise;
    await server.crash();
    finish.resolve();
    await expect(jobs.enqueue(QUEUES.extractWiki, {}, { key: "k" })).rejects.toThrow();
    await server.restart();
    await expect
      .poll(() => stateOf(jobs, QUEUES.extractWiki).catch(() => null), EVENTUALLY)
      .toMatchObject({ completed: 1, active: 0 });
    expect(runs).toBe(1);
  });

  it("runs a job again at once that failed for want of the server, and counts no attempt", async () => {
    const jobs = await startQueue();
    const began: number[] = [];
    const crashed = Promise.withResolvers<void>();
    await jobs.work(QUEUES.extractWiki, async () => {
      began.push(performance.now());
      if (began.length === 1) await crashed.promise;
      await database.query("select 1");
    });
    await jobs.enqueue(QUEUES.extractWiki, {}, { key: "k" });
    await expect.poll(() => began.length, EVENTUALLY).toBe(1);
    // Its last attempt: one that counted would be the end of it.
    await database.query("update pgboss.job set retry_limit = 0 where singleton_key = 'k'");
    await server.crash();
    crashed.resolve();
    await sleep(500);
    await server.restart();
    await expect
      .poll(() => stateOf(jobs, QUEUES.extractWiki).catch(() => null), EVENTUALLY)
      .toMatchObject({ completed: 1, failed: 0 });
    expect(began).toHaveLength(2);
  });

  it("takes up the jobs of a process that was killed, and none of a living one", async () => {
    const [one, other] = [await startQueue(), await startQueue()];
    const finish = Promise.withResolvers<void>();
    const ran: string[] = [];
    await other.work<{ name: string }>(QUEUES.synthesizeToolCall, async ({ data }) => {
      ran.push(data.name);
      await finish.promise;
    });
    await other.enqueue(QUEUES.synthesizeToolCall, { name: "living" }, { key: "living" });
    await expect.poll(() => ran, EVENTUALLY).toEqual(["living"]);
    await one.enqueue(QUEUES.extractWiki, { name: "dead" }, { key: "dead" });
    await database.query(
      `update pgboss.job set state = 'active', started_on = now() - interval '30 s', heartbeat_on = now() - interval '30 s'
       where singleton_key = 'dead'`,
    );
    await one.work<{ name: string }>(QUEUES.extractWiki, async ({ data }) => void ran.push(data.name));
    await one.work<{ name: string }>(
      QUEUES.synthesizeToolCall,
      async ({ data }) => void ran.push(`${data.name} twice`),
    );
    await expect.poll(() => ran, EVENTUALLY).toEqual(["living", "dead"]);
    const { rows } = await database.query("select state::text from pgboss.job where singleton_key = 'living'");
    expect(rows).toEqual([{ state: "active" }]);
    finish.resolve();
    await expect.poll(() => stateOf(one, QUEUES.synthesizeToolCall), EVENTUALLY).toMatchObject({ completed: 1 });
    expect(ran).toEqual(["living", "dead"]);
  });

  it("loses and doubles nothing in three crashes under 16 writers, two searchers and all workers, and all work is done", async () => {
    const jobs = await startQueue();
    const encoder = await fakeEncoder();
    const model = await fakeModel();
    const embedding = embedderOf(database, encoder, { batch: 64 });
    const timing = { intervalMs: 3_600_000, gatherMs: 50, logger: quietLogger };
    const embedder = createTicker({ name: TICKERS.embed, run: (signal) => embedding.run(signal), ...timing });
    const counter = createTermCounter(database);
    const counting = createTicker({
      name: TICKERS.enrich,
      run: (signal) => counter.run(signal, () => counting.notify()),
      ...timing,
    });
    const onText = () => {
      embedder.notify();
      counting.notify();
    };
    const compaction = compactorOf(database, model, { onStored: onText });
    const compactor = createTicker({
      name: TICKERS.compact,
      run: (signal) => compaction.run(signal),
      intervalMs: 1_000,
      logger: quietLogger,
    });
    const synthesis = createSynthesisQueue({ database, jobs, logger: quietLogger });
    const breaker = new CircuitBreaker({ clock: systemClock, sleep: (ms, signal) => sleep(ms, undefined, { signal }) });
    const writer = writerOf(database, {
      onWritten: ({ toolCalls }) => {
        synthesis.add(toolCalls);
        onText();
      },
    });
    cleanups.push(async () => {
      synthesis.stop();
      await Promise.all([embedder, counting, compactor].map((worker) => worker.stop()));
    });
    for (const worker of [embedder, counting, compactor]) worker.start();
    const sentences = playedModel(() => "Ran the command `make` in a shell.");
    await startSynthesizer({ synthesis: synthesisOf(database, sentences, { onWritten: onText }), breaker, jobs });

    const acknowledged = new Set<string>();
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, n) => writeAll(writer, n, acknowledged)));
    const done = new AbortController();
    const searching = [1, 2].map(() => searchUntil(database, done.signal));
    const signals = ["SIGQUIT", "SIGKILL", "SIGINT"] as const;
    for (const [n, signal] of signals.entries()) {
      // The last one strikes when all is written: nothing new wakes the workers after it.
      const due = Math.ceil(((n + 1) * WRITERS * BATCHES) / signals.length);
      await expect.poll(() => acknowledged.size, { ...EVENTUALLY, interval: 5 }).toBeGreaterThanOrEqual(due);
      await server.crash(signal);
      await sleep(200);
      await server.restart();
    }
    await writing;
    done.abort();
    expect((await Promise.all(searching)).reduce((sum, n) => sum + n, 0)).toBeGreaterThan(0);

    const { rows } = await database.query<{ key: string; n: number }>(
      "select key, count(*)::int as n from messages m join message_keys k on k.message_id = m.id group by key",
    );
    expect(rows.filter(({ n }) => n !== 1)).toEqual([]);
    expect(new Set(rows.map(({ key }) => key))).toEqual(acknowledged);
    const messages = await database.query("select id from messages");
    expect(messages.count).toBe(WRITERS * BATCHES);

    await expect.poll(() => openJobs(database), EVENTUALLY).toEqual(NOTHING);
    const summaries = await database.query("select id from summaries");
    expect(summaries.count).toBeGreaterThanOrEqual(WRITERS);
    await expect
      .poll(async () => (await models(database))[0]?.vectors, EVENTUALLY)
      .toBe(messages.count + summaries.count);
    const twice = await database.query(
      `select message_id from summary_sources l join summaries s on s.id = l.summary_id where s.kind = 'leaf'
       group by message_id having count(*) > 1`,
    );
    expect(twice.rows).toEqual([]);
    expect((await jobs.states()).map(({ failed }) => failed)).toEqual((await jobs.states()).map(() => 0));
  });
});

const WRITERS = 16;
const BATCHES = 40;

/** One row a batch, each repeated under its key until it is acknowledged; every eighth is a tool call without text. */
async function writeAll(writer: Writer, n: number, acknowledged: Set<string>): Promise<void> {
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const key = `${n}/${batch}`;
    const entry =
      batch % 8 === 3
        ? said("", { key, role: "assistant", toolName: "shell", toolArgs: { command: "make", key } })
        : said(`Message ${batch} of writer ${n}.`, { key });
    for (;;) {
      try {
        await writer.write({
          sessionKey: `writer-${n}`,
          agent: "main",
          channel: "agent",
          openedBy: "turn",
          entries: [entry],
        });
        break;
      } catch (error) {
        expect(error).toMatchObject({ retryable: true });
        await sleep(50);
      }
    }
    acknowledged.add(key);
    await sleep(20);
  }
}

/** Answers how many searches were answered; what fails must be worth another attempt. */
async function searchUntil(database: Database, signal: AbortSignal): Promise<number> {
  const memory = memoryOf(database);
  let answered = 0;
  while (!signal.aborted) {
    try {
      await memory.search("message writer");
      answered += 1;
    } catch (error) {
      if (!(error instanceof CairnError && error.retryable)) throw error;
    }
    await sleep(20);
  }
  await memory.idle();
  return answered;
}

const NOTHING = { uncounted: 0, undescribed: 0, unembedded: 0, claimed: 0, due: 0, waiting: 0 };

async function openJobs(database: Database): Promise<Record<string, number>> {
  const { rows } = await database.query<Record<string, number>>(
    `select
       (select count(*) from messages where content <> '')::int
         - coalesce((select documents from search_totals where kind = 'message'), 0)::int as uncounted,
       (select count(*) from messages where content = '')::int as undescribed,
       (select count(*) from embedding_work)::int as unembedded,
       (select count(*) from compaction_work where claimed_by is not null)::int as claimed,
       (select count(*) from compaction_work where due_at is not null)::int as due,
       (select count(*) from (
          select 1 from messages m join conversations c on c.id = m.conversation_id
          left join compaction_work w on w.conversation_id = c.id
          where m.seq > coalesce(w.summarized_seq, 0) group by c.id having count(*) >= 10) as late)::int as waiting`,
  );
  return rows[0] ?? {};
}
