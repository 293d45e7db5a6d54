/**
 * Two versions of the job queue on one database, as in a rolling upgrade: the newer one brings pg-boss's schema up to date while the
 * older one works, which goes on, and starts again on it. `pg-boss-before` is the last version with another schema.
 */

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { PgBoss as BossBefore } from "pg-boss-before";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Database } from "../../../runtime/contracts/database.ts";
import { type JobQueue, QUEUES } from "../../../runtime/contracts/jobs.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { bossDatabase } from "../../../runtime/workers/queue-adapter.ts";
import { HEARTBEAT_S, settingsOf } from "../../../runtime/workers/queue-policy.ts";
import { lacks } from "../../lanes/tools.ts";
import { describeDatabase, quietLogger } from "../../support/databases.ts";
import { eventually } from "../../support/eventually.ts";

const QUEUE = QUEUES.extractWiki;
const TIMEOUT = 180_000;

interface Numbered {
  readonly n: number;
}

describe.skipIf(lacks("postgresql"))("a fleet with two versions of pg-boss", { timeout: TIMEOUT }, () => {
  describeDatabase("on one database", (open) => {
    /** A node of the release before, as far as its queue goes. */
    async function older(database: Database, run: (job: Numbered) => void): Promise<BossBefore> {
      const boss = new BossBefore({
        db: bossDatabase(database),
        schedule: false,
        useListenNotify: true,
        superviseIntervalSeconds: 1,
      });
      const problems: unknown[] = [];
      boss.on("error", (error) => problems.push(error));
      await boss.start();
      onTestFinished(async () => {
        await boss.stop({ graceful: false });
        expect(problems).toEqual([]);
      });
      const { policy, ...settings } = settingsOf(QUEUE);
      if ((await boss.getQueue(QUEUE)) === null) await boss.createQueue(QUEUE, { policy, ...settings, retryDelay: 1 });
      await boss.work<Numbered>(
        QUEUE,
        { pollingIntervalSeconds: 0.5, heartbeatRefreshSeconds: HEARTBEAT_S },
        async ([job]) => {
          if (job) run(job.data);
        },
      );
      return boss;
    }

    function newer(database: Database): JobQueue {
      const queue = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
      onTestFinished(() => queue.stop(1_000));
      return queue;
    }

    it("goes on with the older one while the newer one upgrades its schema: each job runs once, on either", async () => {
      const database = await open({ fresh: true });
      const ran: [string, number][] = [];
      const failedOnce = new Set<number>();
      const before = await older(database, ({ n }) => {
        if (n % 10 === 3 && !failedOnce.has(n)) {
          failedOnce.add(n);
          throw new Error("it fails once");
        }
        ran.push(["older", n]);
      });
      expect(await before.schemaVersion()).toBe(await schemaOf("pg-boss-before"));
      const sendOlder = (n: number) => before.send(QUEUE, { n }, { singletonKey: `job-${n}` });
      for (let n = 0; n < 40; n += 1) await sendOlder(n);
      const after = newer(database);
      const starting = after.start();
      for (let n = 40; n < 80; n += 1) await sendOlder(n);
      await starting;
      expect(await before.schemaVersion()).toBe(await schemaOf("pg-boss"));
      await after.work<Numbered>(QUEUE, async ({ data }) => void ran.push(["newer", data.n]), { pollS: 0.5 });
      for (let n = 80; n < 160; n += 1) {
        await (n % 2 === 0 ? sendOlder(n) : after.enqueue(QUEUE, { n }, { key: `job-${n}` }));
      }
      // Of one key there is one job, whoever asks.
      await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(160));
      expect(ran.map(([, n]) => n).sort((a, b) => a - b)).toEqual(Array.from({ length: 160 }, (_, n) => n));
      expect(new Set(ran.map(([who]) => who))).toEqual(new Set(["older", "newer"]));
      expect(failedOnce.size).toBeGreaterThan(0);
    });

    it("does not take the half of an index, which a lock has stopped, for the whole", async () => {
      const database = await open({ fresh: true });
      await database.query("create table built (n int)");
      const { promise: locked, resolve } = Promise.withResolvers<void>();
      const kept = database.transaction(async (tx) => {
        await tx.query("insert into built values (1)");
        resolve();
        await tx.query("select pg_sleep(3)");
      });
      await locked;
      const build = "create index concurrently if not exists built_n on built (n)";
      const impatient: Database = Object.assign(Object.create(database), {
        script: (sql: string) => database.script(sql, { lockTimeoutMs: 1_000 }),
      });
      const isBuilt = await bossDatabase(impatient)
        .executeSql(build)
        .then(
          () => true,
          () => false,
        );
      await kept;
      const { rows } = await database.query("select indisvalid from pg_index where indexrelid = 'built_n'::regclass");
      expect(rows).toEqual([{ indisvalid: isBuilt }]);
    });

    it("starts the older one on the newer schema, and what the newer one has left is done", async () => {
      const database = await open({ fresh: true });
      const after = newer(database);
      await after.start();
      await after.enqueue(QUEUE, { n: 1 }, { key: "left" });
      await after.stop(1_000);
      const ran: number[] = [];
      const before = await older(database, ({ n }) => void ran.push(n));
      expect(await before.schemaVersion()).toBe(await schemaOf("pg-boss"));
      await eventually(() => expect(ran).toEqual([1]));
      expect(await before.send(QUEUE, { n: 2 }, { singletonKey: "again" })).toEqual(expect.any(String));
      await eventually(() => expect(ran).toEqual([1, 2]));
    });
  });
});

async function schemaOf(name: string): Promise<unknown> {
  const file = new URL(`../../../node_modules/${name}/package.json`, import.meta.url);
  const manifest: unknown = JSON.parse(await readFile(file, "utf8"));
  return Reflect.get(Object(Reflect.get(Object(manifest), "pgboss")), "schema");
}
