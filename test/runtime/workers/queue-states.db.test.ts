/** What it costs to tell how the queues are: /health does, every few seconds, also while they are long. */

import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import type { Database } from "../../../runtime/contracts/database.ts";
import { QUEUES, type QueueName } from "../../../runtime/contracts/jobs.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { queueStates } from "../../../runtime/workers/queue-records.ts";
import { describeEachDatabase, quietLogger } from "../../support/databases.ts";
import { costOf, recording, type Sent } from "../../support/plans.ts";

const TIMEOUT = 180_000;
/** 10,000 of each of three states, a page a row where they were not vacuumed yet, and a few. */
const MOST_ROWS = 31_000;
const MOST_PAGES = 32_000;

describeEachDatabase("the state of long queues", (open) => {
  let database: Database;

  beforeAll(async () => {
    database = await open({ fresh: true });
    const queue = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    await queue.start();
    await queue.stop(1);
  }, TIMEOUT);

  /** One job a second, the oldest first, the newest a minute ago. */
  const add = (queue: QueueName, state: string, jobs: number) =>
    // A transaction of these tests has more time than a statement.
    database.transaction((tx) =>
      tx.query(
        `insert into pgboss.job (name, policy, state, singleton_key, created_on, start_after, completed_on, output)
         select $1, 'exclusive', $2::text::pgboss.job_state, gen_random_uuid()::text, at, at,
           case when $2 in ('completed', 'failed') then at end, jsonb_build_object('message', 'error ' || n)
         from generate_series(1, $3::int) as n, lateral (select now() - make_interval(secs => $3 + 60 - n) as at) as times`,
        [queue, state, jobs],
      ),
    );
  /** What the slowest of its statements reads. */
  const costOfStates = async () => {
    await database.script("analyze pgboss.job");
    const sent: Sent[] = [];
    await queueStates(recording(database, sent));
    const costs = await Promise.all(sent.map((one) => costOf(database, one)));
    return costs.reduce((most, cost) => (cost.rows > most.rows ? cost : most));
  };
  const stateOf = async (name: QueueName) => (await queueStates(database)).find(({ queue }) => queue === name);

  it(
    `reads at most ${MOST_ROWS} rows and ${MOST_PAGES} pages of 60,000 jobs, 20,000 of them waiting, and of 120,000`,
    async () => {
      for (const jobs of [20_000, 20_000]) {
        await add(QUEUES.synthesizeToolCall, "created", jobs);
        await add(QUEUES.synthesizeToolCall, "completed", jobs);
        await add(QUEUES.extractWiki, "failed", jobs);
        const { rows, buffers, sequential, plan } = await costOfStates();
        expect(rows, plan).toBeLessThanOrEqual(MOST_ROWS);
        expect(buffers, plan).toBeLessThanOrEqual(MOST_PAGES);
        expect(Object.keys(sequential), plan).not.toContain("job_common");
      }
    },
    TIMEOUT,
  );

  it("tells no less than 10,000 of what is beyond, and as many as pg-boss has counted", async () => {
    expect(await stateOf(QUEUES.extractWiki)).toMatchObject({ waiting: 0, failed: 10_000, last_error: "error 20000" });
    const waiting = await stateOf(QUEUES.synthesizeToolCall);
    expect(waiting).toMatchObject({ waiting: 10_000, active: 0, failed: 0, completed: 10_000, last_error: null });
    expect(Math.floor((waiting?.oldest_waiting_ms ?? 0) / 1_000)).toBeGreaterThanOrEqual(20_059);
    await database.query("update pgboss.queue set queued_count = 39000, failed_count = 38000");
    expect(await stateOf(QUEUES.synthesizeToolCall)).toMatchObject({ waiting: 39_000, failed: 0 });
    expect(await stateOf(QUEUES.extractWiki)).toMatchObject({ waiting: 0, failed: 38_000 });
    await database.script("delete from pgboss.job where state <> 'created' or created_on < now() - interval '90 s'");
    expect((await stateOf(QUEUES.synthesizeToolCall))?.waiting).toBeLessThan(100);
  });
});
