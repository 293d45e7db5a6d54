/** Every answer counts what it has handed out, however many rows are counted at once. */

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { type Accesses, countAccess } from "../../../../runtime/app/recall/access.ts";
import { describeEachDatabase } from "../../../support/databases.ts";

const AT = new Date("2026-01-02T03:04:05.000Z");

describeEachDatabase("counts of accesses", (open) => {
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
});
