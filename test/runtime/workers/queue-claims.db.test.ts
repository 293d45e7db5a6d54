/** Whose a job is: what becomes of those of processes that are killed, stop, or are held up. */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database, Transaction } from "../../../runtime/contracts/database.ts";
import { type Job, type JobQueue, QUEUES, type QueueName } from "../../../runtime/contracts/jobs.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { noteEnds, reclaimStalled, retryFailed } from "../../../runtime/workers/queue-records.ts";
import { StalledJobs } from "../../../runtime/workers/stalled-jobs.ts";
import { describeEachDatabase, quietLogger } from "../../support/databases.ts";
import { eventually } from "../../support/eventually.ts";
import { through } from "../../support/through.ts";

const TIMEOUT = 180_000;
/** Nobody but the test takes such a job up. */
const NOT_STALLED = -3_600;

describeEachDatabase("whose a job is", (open, backend) => {
  let database: Database;
  /** Installs the queue and works on nothing. */
  let queue: JobQueue;

  beforeAll(async () => {
    database = await open({ fresh: true });
    // It looks for silent jobs, too: what it would see and take up is the tests'.
    const query: Database["query"] = (text, ...rest) =>
      text.includes("as heartbeat from pgboss.job")
        ? Promise.resolve({ rows: [], count: 0 })
        : database.query(text, ...rest);
    queue = createJobQueue({ database: through(database, { query }), logger: quietLogger, newId: randomUUID });
    await queue.start();
  }, TIMEOUT);

  beforeEach(async () => {
    await database.query("delete from pgboss.job");
  });

  afterAll(async () => {
    await queue.stop(1_000);
  }, TIMEOUT);

  /** As if another process ran it, whose last heartbeat was so long ago. */
  async function runningElsewhere(key: string, staleS: number): Promise<string> {
    const id = await queue.enqueue(QUEUES.extractWiki, {}, { key });
    if (id === null) throw new Error("There is such a job.");
    await database.query("update pgboss.job set state = 'active', started_on = now() where id = $1", [id]);
    await heartbeatOf(id, staleS);
    return id;
  }
  const heartbeatOf = (id: string, staleS: number) =>
    database.query("update pgboss.job set heartbeat_on = now() - make_interval(secs => $2) where id = $1", [
      id,
      staleS,
    ]);
  const jobOf = async (id: string) => {
    const { rows } = await database.query<{ state: string; retry_count: number; retry_limit: number; message: string }>(
      "select state::text, retry_count, retry_limit, output ->> 'message' as message from pgboss.job where id = $1",
      [id],
    );
    return rows[0];
  };

  it("claims jobs that are stalled at two checks, and none that has a heartbeat between them or is its own", async () => {
    const [dead, living, own] = [
      await runningElsewhere("dead", 60),
      await runningElsewhere("living", 60),
      await runningElsewhere("own", 60),
    ];
    let now = 0;
    const jobs = new StalledJobs({ database, running: () => [own], monotonic: () => now });
    // The store stood still, or its clock jumped: nobody could give a sign, and everybody looks dead.
    expect(await jobs.reclaim()).toBe(0);
    now += 1_000;
    // No time to give one yet.
    expect(await jobs.reclaim()).toBe(0);
    now += 4_000;
    await heartbeatOf(living, 0);
    expect(await jobs.reclaim()).toBe(1);
    expect(await jobOf(dead)).toMatchObject({ state: "retry" });
    expect(await jobOf(living)).toMatchObject({ state: "active" });
    expect(await jobOf(own)).toMatchObject({ state: "active" });
    // Another stall is another first look.
    await heartbeatOf(living, 60);
    now += 5_000;
    expect(await jobs.reclaim()).toBe(0);
    await heartbeatOf(living, 55);
    now += 5_000;
    expect(await jobs.reclaim()).toBe(0);
    now += 5_000;
    expect(await jobs.reclaim()).toBe(1);
  });

  it("ignores a late result of an interrupted worker once another one runs the job", async () => {
    const [one, other] = [1, 2].map(() => createJobQueue({ database, logger: quietLogger, newId: randomUUID }));
    if (!one || !other) throw new Error("unreachable");
    await one.start();
    await other.start();
    const began = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    // Deaf to its signal, as a library may be.
    await one.work(QUEUES.extractWiki, async () => {
      began.resolve();
      await finish.promise;
      throw new Error("of the one that was interrupted");
    });
    const id = (await one.enqueue(QUEUES.extractWiki, {}, { key: "long" })) ?? "";
    await began.promise;
    const limit = (await jobOf(id))?.retry_limit ?? 0;
    const stopping = one.stop(1);
    await eventually(async () => expect(await jobOf(id)).toMatchObject({ state: "created", retry_count: 0 }));
    const end = Promise.withResolvers<void>();
    await other.work(
      QUEUES.extractWiki,
      async () => {
        taken.resolve();
        await end.promise;
      },
      { pollS: 0.5 },
    );
    await taken.promise;
    finish.resolve();
    await stopping;
    expect(await jobOf(id)).toMatchObject({ state: "active", retry_limit: limit + 1 });
    end.resolve();
    await eventually(async () => expect(await jobOf(id)).toMatchObject({ state: "completed" }));
    await other.stop(1_000);
  });

  it.each(["done", "failed", "unavailable"] as const)(
    "notes no end (%s) of a run that was overtaken, while the next one runs and after it",
    async (outcome) => {
      const id = await runningElsewhere(`overtaken: ${outcome}`, 60);
      let now = 0;
      const jobs = new StalledJobs({ database, running: () => [], monotonic: () => now });
      await jobs.reclaim();
      now += 5_000;
      expect(await jobs.reclaim()).toBe(1);
      // As the next fetch does.
      await database.query("update pgboss.job set state = 'active', retry_count = retry_count + 1 where id = $1", [id]);
      const ended = { queue: QUEUES.extractWiki, id, attempt: 0, outcome, message: "of the one before" };
      const before = await jobOf(id);
      expect(await noteEnds(database, [ended])).toBe(0);
      expect(await jobOf(id)).toEqual(before);
      expect(await noteEnds(database, [{ ...ended, attempt: 1, outcome: "done", message: null }])).toBe(1);
      expect(await noteEnds(database, [ended])).toBe(0);
      expect(await jobOf(id)).toMatchObject({ state: "completed", retry_count: 1, message: null });
    },
  );

  /** Works on a queue and ends its jobs only when told to: deaf to signals, as a library may be. */
  async function deafWorker(name: QueueName) {
    const jobs = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    const began = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const signals: AbortSignal[] = [];
    await jobs.start();
    const work = async ({ signal }: Job<object>) => {
      signals.push(signal);
      began.resolve();
      await end.promise;
    };
    await jobs.work(name, work, { pollS: 0.5 });
    return { jobs, began: began.promise, end, signals };
  }
  const ofKey = async (key: string) => {
    const { rows } = await database.query<{ id: string; state: string; retry_count: number }>(
      "select id, state::text, retry_count from pgboss.job where singleton_key = $1",
      [key],
    );
    return rows[0];
  };

  it("ignores a late result of an earlier attempt once a dead job was retried", async () => {
    const one = await deafWorker(QUEUES.extractWiki);
    const id = (await one.jobs.enqueue(QUEUES.extractWiki, {}, { key: "dead once" })) ?? "";
    await one.began;
    // Its process was silent for so long that others tried it until it was dead.
    await database.query(
      `update pgboss.job set state = 'failed', retry_count = retry_limit, completed_on = now() where id = $1`,
      [id],
    );
    expect(await retryFailed(database, QUEUES.extractWiki, {})).toEqual({ matched: 1, retried: 1, skipped: 0 });
    const other = await deafWorker(QUEUES.extractWiki);
    await other.began;
    const run = { state: "active", retry_count: 0 };
    expect(await ofKey("dead once")).toMatchObject(run);

    for (const outcome of ["done", "failed", "unavailable"] as const)
      expect(await noteEnds(database, [{ queue: QUEUES.extractWiki, id, attempt: 0, outcome, message: "late" }])).toBe(
        0,
      );
    one.end.reject(new Error("late"));
    await one.jobs.stop(5_000);
    expect(await ofKey("dead once")).toMatchObject(run);
    other.end.resolve();
    await eventually(async () => expect(await ofKey("dead once")).toMatchObject({ state: "completed" }));
    await other.jobs.stop(5_000);
    expect([one.signals.length, other.signals.length]).toEqual([1, 1]);
  });

  it("gives a job that another worker runs by now not back when it stops", async () => {
    const one = await deafWorker(QUEUES.extractWiki);
    const id = (await one.jobs.enqueue(QUEUES.extractWiki, {}, { key: "taken up" })) ?? "";
    await one.began;
    // Taken up from a process that seemed to be dead.
    await database.query("update pgboss.job set state = 'retry', start_after = now() where id = $1", [id]);
    const other = await deafWorker(QUEUES.extractWiki);
    await other.began;
    // Its worker is still at it, and its process cannot wait.
    await one.jobs.stop(1);
    expect(await ofKey("taken up")).toMatchObject({ state: "active", retry_count: 1 });
    one.end.resolve();
    other.end.resolve();
    await eventually(async () => expect(await ofKey("taken up")).toMatchObject({ state: "completed" }));
    await other.jobs.stop(5_000);
  });

  /** What may happen to a job of which both were told before either could change it. */
  const changes = {
    "an operator's retry": (over: Database) => retryFailed(over, QUEUES.extractWiki, {}).then(({ retried }) => retried),
    "the note of its end": (over: Database, id: string) =>
      noteEnds(over, [
        { queue: QUEUES.extractWiki, id, attempt: 4, outcome: "unavailable", message: "it was unavailable" },
      ]),
    "the end of a silent run": async (over: Database, id: string) => {
      const { rows } = await over.query<{ heartbeat: string }>(
        "select extract(epoch from heartbeat_on)::text as heartbeat from pgboss.job where id = $1",
        [id],
      );
      return reclaimStalled(
        over,
        rows.map(({ heartbeat }) => ({ id, heartbeat })),
      );
    },
  };
  type Change = keyof typeof changes;

  /** Commits the first only when the second waits for it: what that one knows is of before. */
  async function overtaken<First, Second>(
    first: (tx: Transaction) => Promise<First>,
    second: (over: Database) => Promise<Second>,
  ): Promise<[First, Second]> {
    const [made, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const one = database.transaction(async (tx) => {
      const result = await first(tx);
      made.resolve();
      await commit.promise;
      return result;
    });
    await Promise.race([made.promise, one]);
    // A transaction of these tests waits for a lock for longer than a statement does.
    const query = ((text, values) => database.transaction((tx) => tx.query(text, values))) as Database["query"];
    const other = second({ ...database, query });
    const waits = eventually(async () => {
      const { count } = await database.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      expect(count).toBe(1);
    }).finally(commit.resolve);
    const [, ...results] = await Promise.all([waits, one, other]);
    return results;
  }

  // One statement at a time runs in the embedded store.
  describe.runIf(backend === "postgres")("two at the same job", () => {
    it.each<readonly [Change, Change, "failed" | "active"]>([
      ["an operator's retry", "an operator's retry", "failed"],
      ["an operator's retry", "the note of its end", "failed"],
      ["the note of its end", "an operator's retry", "failed"],
      ["the note of its end", "the note of its end", "active"],
      ["the end of a silent run", "the note of its end", "active"],
      ["the note of its end", "the end of a silent run", "active"],
    ])("%s, a new run, and only then %s: the run goes on alone", async (first, second, state) => {
      const id = await runningElsewhere("contended", NOT_STALLED);
      await database.query(
        `update pgboss.job set state = $2::text::pgboss.job_state, retry_count = 4, retry_limit = 5,
           completed_on = case when $2 = 'failed' then now() end where id = $1`,
        [id, state],
      );
      const [made, late] = await overtaken(
        async (tx) => {
          const changed = await changes[first]({ ...database, query: tx.query.bind(tx) }, id);
          // As a fetch does.
          const { count } = await tx.query(
            `update pgboss.job set state = 'active', heartbeat_on = now(), started_on = now(),
               retry_count = retry_count + (started_on is not null)::int
              where singleton_key = 'contended' and state < 'active'`,
          );
          return { changed, count };
        },
        (over) => changes[second](over, id),
      );
      expect(made).toEqual({ changed: 1, count: 1 });
      expect(late).toBe(0);
      expect(await ofKey("contended")).toMatchObject({ state: "active", retry_count: first.includes("retry") ? 0 : 5 });
    });

    it.each(["an operator's retry", "the note of its end"] as const)(
      "%s leaves a dead job alone whose key is given to another one meanwhile",
      async (change) => {
        const dead = await runningElsewhere("given away", NOT_STALLED);
        const open = await runningElsewhere("open", NOT_STALLED);
        await database.query(
          "update pgboss.job set state = 'failed', retry_count = 4, completed_on = now() where id = $1",
          [dead],
        );
        const [, late] = await overtaken(
          (tx) => queue.enqueue(QUEUES.extractWiki, {}, { key: "given away", over: tx }),
          (over) => changes[change](over, dead),
        );
        expect(late).toBe(0);
        expect(await jobOf(dead)).toMatchObject({ state: "failed" });
        expect(await jobOf(open)).toMatchObject({ state: "active" });
      },
    );
  });

  it("fails a job under which the store becomes unreachable time and again", async () => {
    const id = await runningElsewhere("crashes", 0);
    let tries = 0;
    for (; tries < 100; tries += 1) {
      const job = await jobOf(id);
      if (job?.state === "failed") break;
      await noteEnds(database, [
        {
          queue: QUEUES.extractWiki,
          id,
          attempt: job?.retry_count ?? 0,
          outcome: "unavailable",
          message: "it crashed",
        },
      ]);
      // As the next fetch does.
      await database.query(
        "update pgboss.job set state = 'active', retry_count = retry_count + 1 where id = $1 and state = 'retry'",
        [id],
      );
    }
    expect(tries).toBe(31);
    expect(await jobOf(id)).toMatchObject({ state: "failed", message: "it crashed" });
  });

  it("keeps why a job failed also where its words hold what the store cannot", async () => {
    await queue.work(
      QUEUES.extractWiki,
      async () => {
        throw new Error("odd: \0 and \ud800");
      },
      { pollS: 0.5 },
    );
    const id = (await queue.enqueue(QUEUES.extractWiki, {}, { key: "odd" })) ?? "";
    await eventually(async () =>
      expect(await jobOf(id)).toMatchObject({ state: "retry", message: "odd: \ufffd and \ufffd" }),
    );
  });
});
