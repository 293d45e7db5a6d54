/** Leases under a database's clock that is set back or forward: stored times lie an hour ahead, or behind, as they do after that. */

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createLeaseTable } from "../../../runtime/app/leases.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../support/databases.ts";

describeEachDatabase("a lease", (open) => {
  async function table() {
    const database = await open();
    return { database, leases: createLeaseTable(database), name: `test:${randomUUID()}` };
  }

  const setBack = (database: Database, name: string) =>
    database.query(
      `update leases set expires_at = expires_at + interval '1 hour',
         data = data || jsonb_build_object('granted_at', (data->>'granted_at')::timestamptz + interval '1 hour') where name = $1`,
      [name],
    );

  /** Seconds that it lasts still. */
  async function lasts(database: Database, name: string): Promise<number> {
    const { rows } = await database.query<{ remaining: number }>(
      "select extract(epoch from expires_at - now())::float8 as remaining from leases where name = $1",
      [name],
    );
    return rows[0]?.remaining ?? Number.NaN;
  }

  it("of a holder that died before the clock was set back runs out after its own time", async () => {
    const { database, leases, name } = await table();
    await leases.acquire(name, "dead", 500);
    await setBack(database, name);
    await expect.poll(() => leases.acquire(name, "next", 500)).toBe(2);
  });

  it("of a holder that lives is kept when the clock is set back, however others ask", async () => {
    const { database, leases, name } = await table();
    await leases.acquire(name, "alive", 60_000);
    await setBack(database, name);
    expect(await leases.acquire(name, "other", 1_000)).toBeNull();
    expect(await lasts(database, name)).toBeLessThanOrEqual(60);
    expect(await leases.acquire(name, "other", 1_000)).toBeNull();
    expect(await leases.acquire(name, "alive", 60_000)).toBe(1);
  });

  it("that is longer than that of who asks is not shortened", async () => {
    const { database, leases, name } = await table();
    await leases.acquire(name, "alive", 7_200_000);
    expect(await leases.acquire(name, "other", 1_000)).toBeNull();
    expect(await lasts(database, name)).toBeGreaterThan(7_000);
  });

  it("that a node of an earlier version has renewed since the clock was set back is not shortened", async () => {
    const { database, leases, name } = await table();
    await leases.acquire(name, "alive", 60_000);
    await setBack(database, name);
    await database.query("update leases set expires_at = now() + interval '1 minute' where name = $1", [name]);
    expect(await leases.acquire(name, "other", 1_000)).toBeNull();
    expect(await lasts(database, name)).toBeGreaterThan(30);
  });

  it("ends for others at once when the clock is set forward, and who comes first has it", async () => {
    const { database, leases, name } = await table();
    await leases.acquire(name, "alive", 60_000);
    await database.query("update leases set expires_at = expires_at - interval '1 hour' where name = $1", [name]);
    expect(await leases.acquire(name, "other", 60_000)).toBe(2);
    expect(await leases.acquire(name, "alive", 60_000)).toBeNull();
  });
});
