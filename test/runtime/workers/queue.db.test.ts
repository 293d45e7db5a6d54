import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from "vitest";
import type { Database } from "../../../runtime/contracts/database.ts";
import { type JobQueue, QUEUES } from "../../../runtime/contracts/jobs.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { sweepCompleted } from "../../../runtime/workers/queue-records.ts";
import { describeEachDatabase, quietLogger } from "../../support/databases.ts";
import { eventually } from "../../support/eventually.ts";

const TIMEOUT = 180_000;

describeEachDatabase("job queue", (open) => {
  let database: Database;
  let queue: JobQueue;

  beforeAll(async () => {
    database = await open();
    queue = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    await queue.start();
  }, TIMEOUT);

  afterEach(async () => {
    await database.query("delete from pgboss.job");
  });

  afterAll(async () => {
    await queue.stop(1_000);
  }, TIMEOUT);

  /** A queue of its own, so that no other test's jobs go to the worker of this one. */
  async function working(): Promise<JobQueue> {
    const own = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    await own.start();
    onTestFinished(() => own.stop(1_000));
    return own;
  }

  const stateOf = async (name: string) => (await queue.states()).find((state) => state.queue === name);
  /** As if the job had used up its attempts. */
  const kill = (key: string, message: string) =>
    database.query(
      `update pgboss.job set state = 'failed', retry_count = retry_limit, completed_on = now(),
              started_on = now(), output = $2 where singleton_key = $1`,
      [key, JSON.stringify({ message })],
    );

  it("runs a job with its data, once", async () => {
    const seen: unknown[] = [];
    const worker = await working();
    await worker.work<{ n: number }>(QUEUES.extractWiki, async (job) => void seen.push([job.name, job.data.n]));
    await queue.enqueue(QUEUES.extractWiki, { n: 1 });
    await eventually(async () => expect((await stateOf(QUEUES.extractWiki))?.completed).toBe(1));
    expect(seen).toEqual([["extract-wiki", 1]]);
  });

  it("adds no second job with a key that is waiting, and one more with another key or none", async () => {
    expect(await queue.enqueue(QUEUES.synthesizeToolCall, { a: 1 }, { key: "k" })).toEqual(expect.any(String));
    expect(await queue.enqueue(QUEUES.synthesizeToolCall, { a: 2 }, { key: "k" })).toBeNull();
    expect(await queue.enqueue(QUEUES.synthesizeToolCall, { a: 3 }, { key: "other" })).toEqual(expect.any(String));
    expect(await queue.enqueue(QUEUES.synthesizeToolCall, { a: 4 })).toEqual(expect.any(String));
    expect(await queue.enqueue(QUEUES.synthesizeToolCall, { a: 5 })).toEqual(expect.any(String));
    expect(await stateOf(QUEUES.synthesizeToolCall)).toMatchObject({ waiting: 4, active: 0 });
  });

  it("adds a job while another session keeps the table for longer than a lock is awaited", async () => {
    const locked = Promise.withResolvers<void>();
    const kept = database.transaction(async (tx) => {
      await tx.query("lock table pgboss.job in access exclusive mode");
      locked.resolve();
      await tx.query("select pg_sleep(3)");
    });
    await locked.promise;
    expect(await queue.enqueue(QUEUES.extractWiki, { n: 1 }, { key: "kept out" })).toEqual(expect.any(String));
    await kept;
  });

  it("adds many at once: 300 of 500 keys of which 100 wait and 100 are named twice", async () => {
    const job = (n: number) => ({ data: { n }, key: `many ${n}` });
    const first = Array.from({ length: 100 }, (_, n) => job(n));
    expect(await queue.enqueueAll(QUEUES.synthesizeToolCall, first)).toBe(100);
    const rest = Array.from({ length: 400 }, (_, n) => job(n));
    expect(await queue.enqueueAll(QUEUES.synthesizeToolCall, [...rest, ...rest.slice(300)])).toBe(300);
    expect(await queue.enqueueAll(QUEUES.synthesizeToolCall, [])).toBe(0);
    expect(await stateOf(QUEUES.synthesizeToolCall)).toMatchObject({ waiting: 400 });
    const { rows } = await database.query<{ data: unknown }>(
      "select data from pgboss.job where singleton_key = 'many 399'",
    );
    expect(rows).toEqual([{ data: { n: 399 } }]);
  });

  it("adds no second job with a key that is running, and one more once that has ended", async () => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    await (await working()).work(QUEUES.extractWiki, async () => {
      started.resolve();
      await finish.promise;
    });
    await queue.enqueue(QUEUES.extractWiki, {}, { key: "running" });
    await started.promise;
    expect(await queue.enqueue(QUEUES.extractWiki, {}, { key: "running" })).toBeNull();
    finish.resolve();
    await eventually(async () => expect((await stateOf(QUEUES.extractWiki))?.completed).toBe(1));
    expect(await queue.enqueue(QUEUES.extractWiki, {}, { key: "running" })).toEqual(expect.any(String));
  });

  it(
    "retries a failing job and keeps it when it has failed for good, with its error",
    async () => {
      let attempts = 0;
      const fails = async (): Promise<void> => {
        attempts += 1;
        throw Object.assign(new Error("the model is unavailable"), { secret: "sk-very-secret" });
      };
      await (await working()).work(QUEUES.extractWiki, fails, { pollS: 0.5 });
      await queue.enqueue(QUEUES.extractWiki, {}, { key: "fails" });
      await eventually(() => expect(attempts).toBe(1));
      await eventually(async () => expect(await stateOf(QUEUES.extractWiki)).toMatchObject({ waiting: 1, failed: 0 }));
      await database.query(
        "update pgboss.job set retry_count = retry_limit, start_after = now(), started_on = null where singleton_key = 'fails'",
      );
      await eventually(async () =>
        expect(await stateOf(QUEUES.extractWiki)).toMatchObject({ failed: 1, last_error: "the model is unavailable" }),
      );
      const { rows } = await database.query(
        "select output::text, keep_until > now() + interval '300 days' as kept from pgboss.job",
      );
      expect(JSON.stringify(rows)).not.toContain("sk-very-secret");
      expect(rows).toEqual([expect.objectContaining({ kept: true })]);
      expect(await queue.failedKeys(QUEUES.extractWiki)).toEqual(new Set(["fails"]));
    },
    TIMEOUT,
  );

  it("revives dead jobs as new ones, but for those whose key lives again or whose error does not match", async () => {
    for (const [key, message] of [
      ["revive", "Timeout"],
      ["lives", "timeout again"],
      ["other", "bad prompt"],
    ] as const) {
      await queue.enqueue(QUEUES.synthesizeToolCall, { key }, { key });
      await kill(key, message);
    }
    await queue.enqueue(QUEUES.synthesizeToolCall, {}, { key: "lives" });

    const options = { errorPattern: "TIME.?OUT" };
    const expected = { matched: 2, retried: 1, skipped: 1 };
    expect(await queue.retryFailed(QUEUES.synthesizeToolCall, { ...options, dryRun: true })).toEqual(expected);
    expect(await stateOf(QUEUES.synthesizeToolCall)).toMatchObject({ waiting: 1, failed: 3 });
    expect(await queue.retryFailed(QUEUES.synthesizeToolCall, options)).toEqual(expected);

    const { rows } = await database.query(
      `select state::text, retry_count, output, started_on, completed_on, data, start_after <= now() as due
         from pgboss.job where singleton_key = 'revive'`,
    );
    expect(rows).toEqual([
      {
        state: "created",
        retry_count: 0,
        output: null,
        started_on: null,
        completed_on: null,
        data: { key: "revive" },
        due: true,
      },
    ]);
    expect(await queue.failedKeys(QUEUES.synthesizeToolCall)).toEqual(new Set(["lives", "other"]));
    expect(await queue.enqueue(QUEUES.synthesizeToolCall, {}, { key: "revive" })).toBeNull();
  });

  it("revives one of several dead jobs with the same key", async () => {
    for (let n = 0; n < 3; n += 1) {
      await queue.enqueue(QUEUES.extractWiki, { n }, { key: "same" });
      await kill("same", "dead");
    }
    expect(await queue.retryFailed(QUEUES.extractWiki)).toEqual({ matched: 3, retried: 1, skipped: 2 });
  });

  it("refuses a pattern that is no regular expression, also where nothing has failed and in a dry run", async () => {
    for (const [errorPattern, dryRun] of [
      ["(", false],
      ["a{2,1}", true],
      ["a\0b", false],
    ] as const) {
      await expect(queue.retryFailed(QUEUES.extractWiki, { errorPattern, dryRun })).rejects.toMatchObject({
        code: "MEMORY_INVALID_ARGUMENT",
        details: { issues: [{ path: "error" }] },
      });
    }
    expect(await queue.retryFailed(QUEUES.extractWiki, { errorPattern: "x" })).toEqual({
      matched: 0,
      retried: 0,
      skipped: 0,
    });
  });

  it("tells the keys of jobs that wait or run, and of dead ones, apart", async () => {
    await queue.enqueue(QUEUES.extractWiki, {}, { key: "waits" });
    await queue.enqueue(QUEUES.extractWiki, {});
    await queue.enqueue(QUEUES.synthesizeToolCall, {}, { key: "elsewhere" });
    await queue.enqueue(QUEUES.extractWiki, {}, { key: "dies" });
    await kill("dies", "dead");
    expect(await queue.liveKeys(QUEUES.extractWiki)).toEqual(new Set(["waits"]));
    expect(await queue.failedKeys(QUEUES.extractWiki)).toEqual(new Set(["dies"]));
  });

  it("enqueues inside the caller's transaction: with it, or not at all", async () => {
    const run = database.transaction(async (tx) => {
      await queue.enqueue(QUEUES.synthesizeToolCall, {}, { key: "tx-undone", over: tx });
      throw new Error("undo");
    });
    await expect(run).rejects.toThrow("undo");
    await database.transaction((tx) => queue.enqueue(QUEUES.synthesizeToolCall, {}, { key: "tx-done", over: tx }));
    const { rows } = await database.query(
      "select singleton_key as key from pgboss.job where name = 'synthesize-tool-call'",
    );
    expect(rows).toEqual([{ key: "tx-done" }]);
  });

  it("never costs the caller's rows when it is broken", async () => {
    await database.script("create table if not exists kept (id int)");
    await database.script("alter schema pgboss rename to pgboss_away");
    try {
      await database.transaction(async (tx) => {
        await tx.query("insert into kept values (1)");
        const enqueued = tx.savepoint((nested) =>
          queue.enqueue(QUEUES.synthesizeToolCall, {}, { key: "x", over: nested }),
        );
        await expect(enqueued).rejects.toMatchObject({ code: "MEMORY_QUERY_FAILED" });
      });
    } finally {
      await database.script("alter schema pgboss_away rename to pgboss");
    }
    expect((await database.query("select id from kept")).count).toBe(1);
  });

  it("keeps completed jobs for a day, and dead ones for good", async () => {
    const insert = "insert into pgboss.job (name, policy, state, singleton_key, completed_on)";
    await database.query(
      `${insert} select 'synthesize-tool-call', 'exclusive', state::pgboss.job_state, state || hours, now() - make_interval(hours => hours)
       from unnest(array['completed', 'cancelled', 'failed']) as state cross join unnest(array[23, 25, 2000]) as hours`,
    );
    expect(await sweepCompleted(database)).toBe(4);
    const { rows } = await database.query("select singleton_key as key from pgboss.job order by key");
    expect(rows.map(({ key }) => key)).toEqual(["cancelled23", "completed23", "failed2000", "failed23", "failed25"]);
  });

  it("deletes what an earlier version queued to have work looked for, but for what a node of it runs", async () => {
    await database.query(
      `insert into pgboss.queue (name, policy, retry_limit, retry_delay, retry_backoff, expire_seconds, retention_seconds,
         deletion_seconds, partition, table_name)
       select former, q.policy, q.retry_limit, q.retry_delay, q.retry_backoff, q.expire_seconds, q.retention_seconds,
         q.deletion_seconds, q.partition, q.table_name
       from pgboss.queue q cross join unnest(array['embed', 'compact', 'enrich', 'housekeeping']) as former
       where q.name = $1`,
      [QUEUES.extractWiki],
    );
    const insert = "insert into pgboss.job (name, policy, state, singleton_key, heartbeat_on)";
    await database.query(
      `${insert} select name, 'exclusive', state::pgboss.job_state, name || state, now() - interval '2 minutes'
       from unnest(array['embed', 'compact', 'enrich', 'housekeeping', 'extract-wiki']) as name
       cross join unnest(array['created', 'retry', 'active', 'completed', 'failed']) as state`,
    );
    await database.query(`${insert} values ('embed', 'exclusive', 'active', 'living', now())`);
    await working();
    const jobs = await database.query("select name, count(*)::int as jobs from pgboss.job group by name order by name");
    expect(jobs.rows).toEqual([
      { name: "embed", jobs: 1 },
      { name: "extract-wiki", jobs: 5 },
    ]);
    // Neither the one that is left nor the queues themselves are shown.
    expect((await queue.states()).map(({ queue: name }) => name)).toEqual(Object.values(QUEUES));
    await database.query("delete from pgboss.job where singleton_key = 'living'");
    await database.query("delete from pgboss.queue where name = any($1)", [
      ["embed", "compact", "enrich", "housekeeping"],
    ]);
  });

  it("counts no more than 10,000 completed jobs of a queue", async () => {
    await database.script(
      `insert into pgboss.job (name, policy, state, singleton_key, completed_on)
         select 'synthesize-tool-call', 'exclusive', 'completed', 'k' || n, now() from generate_series(1, 10100) as n`,
      { statementTimeoutMs: 60_000 },
    );
    expect(await stateOf(QUEUES.synthesizeToolCall)).toMatchObject({
      completed: 10_000,
      waiting: 0,
      active: 0,
      failed: 0,
    });
  });

  it("refuses to enqueue before it is started, and reports states all the same", async () => {
    const idle = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    await expect(idle.enqueue(QUEUES.synthesizeToolCall, {})).rejects.toMatchObject({
      code: "MEMORY_UNAVAILABLE",
      retryable: true,
    });
    expect((await idle.states()).map((state) => state.queue)).toEqual(Object.values(QUEUES));
  });

  it("takes the next job when one has ended, and does not wait for its next look at the queue", async () => {
    await queue.enqueueAll(
      QUEUES.extractWiki,
      Array.from({ length: 6 }, (_, n) => ({ data: { n }, key: `next ${n}` })),
    );
    const seen: number[] = [];
    await (await working()).work<{ n: number }>(QUEUES.extractWiki, async ({ data }) => void seen.push(data.n), {
      pollS: 3_600,
    });
    await eventually(() => expect(seen).toHaveLength(6));
  });
});

describeEachDatabase("a job queue that stops", (open, backend) => {
  it(
    "gives running jobs until the deadline, then aborts them and lets them run again without a lost attempt",
    async () => {
      const database = await open();
      const first = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
      await first.start();
      const aborted = Promise.withResolvers<unknown>();
      const started = Promise.withResolvers<void>();
      await first.work(QUEUES.extractWiki, async ({ signal }) => {
        started.resolve();
        await new Promise<void>((_, reject) => {
          signal.addEventListener("abort", () => {
            aborted.resolve(signal.reason);
            reject(signal.reason);
          });
        });
      });
      await first.enqueue(QUEUES.extractWiki, {}, { key: "long" });
      await started.promise;
      await first.stop(200);
      await expect(aborted.promise).resolves.toMatchObject({ code: "MEMORY_UNAVAILABLE" });

      const { rows } = await database.query(
        "select state::text, retry_count from pgboss.job where singleton_key = 'long'",
      );
      expect(rows).toEqual([{ state: "created", retry_count: 0 }]);

      const second = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
      const again = Promise.withResolvers<string>();
      await second.work(QUEUES.extractWiki, async (job) => again.resolve(job.id));
      await second.start();
      await expect(again.promise).resolves.toEqual(expect.any(String));
      await second.stop(2_000);
    },
    TIMEOUT,
  );

  it.runIf(backend === "embedded")(
    "takes up at once what the last process was doing when it ended, and counts that as an attempt",
    async () => {
      const database = await open({ fresh: true });
      const first = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
      await first.start();
      for (const key of ["again", "hopeless"]) await first.enqueue(QUEUES.synthesizeToolCall, {}, { key });
      await first.stop(1);
      await database.query("update pgboss.job set state = 'active', started_on = now(), heartbeat_on = now()");
      await database.query("update pgboss.job set retry_count = retry_limit where singleton_key = 'hopeless'");

      const second = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
      const again = Promise.withResolvers<void>();
      await second.work(QUEUES.synthesizeToolCall, async () => again.resolve());
      await second.start();
      await again.promise;
      await second.stop(2_000);
      const { rows } = await database.query(
        "select singleton_key as key, state::text, retry_count < retry_limit as hope from pgboss.job order by key",
      );
      expect(rows).toEqual([
        { key: "again", state: "completed", hope: true },
        { key: "hopeless", state: "failed", hope: false },
      ]);
    },
    TIMEOUT,
  );
});
