/** Every answer counts what it has handed out, however many rows are counted at once. */

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { type Accesses, countAccess } from "../../../../runtime/app/recall/access.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { until } from "../../../support/eventually.ts";

const AT = new Date("2026-01-02T03:04:05.000Z");

const ROW = "11111111-1111-4111-8111-111111111111";
const UPSERT = `insert into access values ('message', $1, 1, now())
  on conflict (kind, id) do update set access_count = access.access_count + 1`;

describeEachDatabase("counts of accesses", (open, backend) => {
  it("are exact when four answers count the same 5,000 rows at once, each in another order", async () => {
    const database = await open({ fresh: true });
    const rows = Array.from(
      { length: 5_000 },
      (): Accesses => ({ kind: "message", id: randomUUID(), count: 1, lastMs: AT.getTime() }),
    );
    const orders = [
      rows,
      rows.toReversed(),
      rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      rows.map((row) => ({ ...row, count: 2 })),
    ];
    await Promise.all(
      orders.map((order, n) => {
        const accesses = order.map((row) => ({ ...row, lastMs: AT.getTime() + n * 1_000 }));
        return countAccess(database, accesses);
      }),
    );
    const { rows: found } = await database.query(
      `select count(*) as rows, min(access_count) as least, max(access_count) as most,
         min(last_accessed_at) as earliest, max(last_accessed_at) as latest from access`,
    );
    const latest = new Date(AT.getTime() + 3_000);
    expect(found).toEqual([{ rows: 5_000, least: 5, most: 5, earliest: latest, latest }]);
  });

  // Nodes of an earlier version lock the number of migration 012 first. The embedded store has one connection.
  it.runIf(backend === "postgres")(
    "end in no deadlock with a write that does not ask for the number first",
    async () => {
      const database = await open({ fresh: true });
      const numbered = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      const own = database.transaction(async (tx) => {
        await tx.query("select version from access_version for update");
        numbered.resolve();
        await goOn.promise;
        await tx.query(UPSERT, [ROW]);
      });
      await numbered.promise;
      const other = countAccess(database, [{ kind: "message", id: ROW, count: 1, lastMs: AT.getTime() }]);
      const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await until(async () => (await database.query(waiting)).rows.length > 0);
      goOn.resolve();
      await Promise.all([own, other]);
      expect((await database.query("select access_count from access")).rows).toEqual([{ access_count: 2 }]);
    },
  );
});
