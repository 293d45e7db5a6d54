/** How compaction stands is told from one row, which is right whatever is done to the work and by how many at once. */

import { v7 } from "uuid";
import { expect, it } from "vitest";
import { givenUpConversations, retryConversations } from "../../../../runtime/app/compaction/given-up.ts";
import { compactionStatus, recountCompaction } from "../../../../runtime/app/compaction/status.ts";
import { claim, markIdle, recordFailure } from "../../../../runtime/app/compaction/work.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { costOf, recording, type Sent } from "../../../support/plans.ts";

const LEASE_MS = 60_000;
/** A statement about all rows takes a while on a busy machine. */
const PATIENT = { statementTimeoutMs: 60_000 };

/** So many conversations without messages, each of them due. */
async function fill(database: Database, count: number): Promise<void> {
  await database.transaction(
    (tx) =>
      tx.query(
        `with made as (
           insert into conversations (id, session_key, agent, channel, user_id)
           select gen_random_uuid(), 'main:agent:' || n, 'main', 'agent', 'ada' from generate_series(1, $1::int) as n returning id
         )
         insert into compaction_work (conversation_id, due_at) select id, now() from made`,
        [count],
      ),
    PATIENT,
  );
}

async function counted(database: Database) {
  const { rows } = await database.query<{ due: number; failing: number; given_up: number }>(
    `select count(*) filter (where due_at is not null and attempts = 0) as due,
       count(*) filter (where due_at is not null and attempts > 0) as failing,
       count(*) filter (where failed_at is not null) as given_up from compaction_work`,
  );
  return rows[0];
}

/** One step of the life of a conversation that is due. */
async function step(database: Database, n: number): Promise<void> {
  const held = await claim(database, v7(), LEASE_MS);
  if (held === null) return;
  if (n % 4 === 0) await markIdle(database, held, n);
  else await recordFailure(database, held, `failure ${n}`, n % 3 === 0 ? null : 0);
}

describeDatabase("how compaction stands", (open) => {
  it("follows each conversation from due to failing, given up, due again and done", async () => {
    const database = await open({ fresh: true });
    const stands = async () => {
      const { due, failing, given_up, last_error } = await compactionStatus(database);
      expect(await counted(database)).toEqual({ due, failing, given_up });
      return [due, failing, given_up, last_error];
    };
    expect(await stands()).toEqual([0, 0, 0, null]);
    await fill(database, 3);
    expect(await stands()).toEqual([3, 0, 0, null]);
    const fail = async (error: string, againInMs: number | null) => {
      const held = await claim(database, v7(), LEASE_MS);
      if (held === null) throw new Error("nothing is due");
      await recordFailure(database, held, error, againInMs);
    };
    await fail("odd", 3_600_000);
    expect(await stands()).toEqual([2, 1, 0, "odd"]);
    await fail("too odd", null);
    expect(await stands()).toEqual([1, 1, 1, "odd"]);
    expect(await givenUpConversations(database)).toEqual({ failed: 1, last_error: "too odd" });
    await retryConversations(database, {});
    expect(await stands()).toEqual([2, 1, 0, "odd"]);
    for (let n = 0; n < 2; n += 1) await step(database, 0);
    expect(await stands()).toEqual([0, 1, 0, "odd"]);
    await database.query("delete from compaction_work");
    expect(await stands()).toEqual([0, 0, 0, null]);
  });

  it("is right after 16 at once have changed it 320 times and counted it anew meanwhile", async () => {
    const database = await open({ fresh: true });
    await fill(database, 64);
    const work = async (worker: number) => {
      for (let n = 0; n < 20; n += 1) {
        if (n % 10 === 5) await recountCompaction(database);
        await step(database, worker * 20 + n);
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)));
    const { due, failing, given_up } = await compactionStatus(database);
    expect(await counted(database)).toEqual({ due, failing, given_up });
    expect(given_up).toBeGreaterThan(0);
  });

  it("is right again once it was counted anew", async () => {
    const database = await open({ fresh: true });
    await fill(database, 2);
    await database.query("delete from compaction_counts");
    await recountCompaction(database);
    expect(await compactionStatus(database)).toMatchObject({ due: 2, failing: 0, given_up: 0 });
    await database.query("update compaction_counts set due = 7, given_up = -1");
    await recountCompaction(database);
    expect(await compactionStatus(database)).toMatchObject({ due: 2, failing: 0, given_up: 0 });
  });

  it("counts 5,000 conversations by reading 5 rows at most", async () => {
    const database = await open({ fresh: true });
    await fill(database, 5_000);
    await database.script(
      `update compaction_work set attempts = 5, error = 'odd', failed_at = now(), due_at = null
       where conversation_id < '80000000-0000-0000-0000-000000000000'`,
      PATIENT,
    );
    await database.script("vacuum analyze compaction_work", PATIENT);
    const sent: Sent[] = [];
    const { given_up, last_error } = await compactionStatus(recording(database, sent));
    expect(await givenUpConversations(recording(database, sent))).toEqual({ failed: given_up, last_error });
    expect(sent).toHaveLength(2);
    for (const one of sent) {
      const { rows, plan } = await costOf(database, one);
      expect(rows, plan).toBeLessThanOrEqual(5);
    }
  });
});
