/** Whose a job is: what becomes of those of processes that are killed, stop, or are held up. */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { Database } from "../../../runtime/contracts/database.ts";
import { type JobQueue, QUEUES } from "../../../runtime/contracts/jobs.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { noteEnds } from "../../../runtime/workers/queue-records.ts";
import { SilentJobs } from "../../../runtime/workers/silent-jobs.ts";
import { describeEachDatabase, silent } from "../../support/databases.ts";
import { eventually } from "../../support/eventually.ts";

const TIMEOUT = 180_000;

describeEachDatabase("whose a job is", (open) => {
  let database: Database;
  /** Installs the queue and works on nothing. */
  let queue: JobQueue;

  beforeAll(async () => {
    database = await open({ fresh: true });
    queue = createJobQueue({ database, logger: silent, newId: randomUUID });
    await queue.start();
  }, TIMEOUT);

  beforeEach(async () => {
    await database.query("delete from pgboss.job");
  });

  afterAll(async () => {
    await queue.stop(1_000);
  }, TIMEOUT);

  /** As if another process ran it, whose last sign of life was so long ago. */
  async function runningElsewhere(key: string, silentS: number): Promise<string> {
    const id = await queue.enqueue(QUEUES.extractWiki, {}, { key });
    if (id === null) throw new Error("There is such a job.");
    await database.query("update pgboss.job set state = 'active', started_on = now() where id = $1", [id]);
    await sign(id, silentS);
    return id;
  }
  const sign = (id: string, silentS: number) =>
    database.query("update pgboss.job set heartbeat_on = now() - make_interval(secs => $2) where id = $1", [
      id,
      silentS,
    ]);
  const jobOf = async (id: string) => {
    const { rows } = await database.query<{ state: string; retry_count: number; retry_limit: number; message: string }>(
      "select state::text, retry_count, retry_limit, output ->> 'message' as message from pgboss.job where id = $1",
      [id],
    );
    return rows[0];
  };

  it("takes up what is silent at two looks, and nothing that gives a sign between them or is its own", async () => {
    const [dead, living, own] = [
      await runningElsewhere("dead", 60),
      await runningElsewhere("living", 60),
      await runningElsewhere("own", 60),
    ];
    let now = 0;
    const jobs = new SilentJobs({ database, running: () => [own], monotonic: () => now });
    // The store stood still, or its clock jumped: nobody could give a sign, and everybody looks dead.
    expect(await jobs.look()).toBe(0);
    now += 1_000;
    // No time to give one yet.
    expect(await jobs.look()).toBe(0);
    now += 4_000;
    await sign(living, 0);
    expect(await jobs.look()).toBe(1);
    expect(await jobOf(dead)).toMatchObject({ state: "retry" });
    expect(await jobOf(living)).toMatchObject({ state: "active" });
    expect(await jobOf(own)).toMatchObject({ state: "active" });
    // Another stall is another first look.
    await sign(living, 60);
    now += 5_000;
    expect(await jobs.look()).toBe(0);
    await sign(living, 55);
    now += 5_000;
    expect(await jobs.look()).toBe(0);
    now += 5_000;
    expect(await jobs.look()).toBe(1);
  });

  it("lets a worker that was interrupted say nothing about the job of whoever runs it by then", async () => {
    const [one, other] = [1, 2].map(() => createJobQueue({ database, logger: silent, newId: randomUUID }));
    if (!one || !other) throw new Error("unreachable");
    await one.start();
    await other.start();
    const began = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    // Deaf to its signal, as a library may be.
    await one.work(QUEUES.compact, async () => {
      began.resolve();
      await finish.promise;
      throw new Error("of the one that was interrupted");
    });
    const id = (await one.enqueue(QUEUES.compact, {}, { key: "long" })) ?? "";
    await began.promise;
    const limit = (await jobOf(id))?.retry_limit ?? 0;
    const stopping = one.stop(1);
    await eventually(async () => expect(await jobOf(id)).toMatchObject({ state: "created", retry_count: 0 }));
    const end = Promise.withResolvers<void>();
    await other.work(
      QUEUES.compact,
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

  it.each(["done", "failed", "away"] as const)(
    "notes no end (%s) of a run that was overtaken, while the next one runs and after it",
    async (outcome) => {
      const id = await runningElsewhere(`overtaken: ${outcome}`, 60);
      let now = 0;
      const jobs = new SilentJobs({ database, running: () => [], monotonic: () => now });
      await jobs.look();
      now += 5_000;
      expect(await jobs.look()).toBe(1);
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

  it("gives a job up under which the store goes away time and again", async () => {
    const id = await runningElsewhere("crashes", 0);
    let tries = 0;
    for (; tries < 100; tries += 1) {
      const job = await jobOf(id);
      if (job?.state === "failed") break;
      await noteEnds(database, [
        { queue: QUEUES.extractWiki, id, attempt: job?.retry_count ?? 0, outcome: "away", message: "it crashed" },
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
