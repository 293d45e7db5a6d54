/** Claims on rows: kept while their work lasts, lost to another owner, released later where the database was unreachable. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { ClaimLostError, Claims } from "../../../runtime/app/claims.ts";
import { claim, markDue } from "../../../runtime/app/compaction/work.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../support/databases.ts";
import { absent } from "../../support/faults/absent-database.ts";
import { notEmbedded } from "../../support/through.ts";
import { never, talk } from "./compaction/support.ts";

const TIMES = { leaseMs: 60_000, renewMs: 20 };

function claimsOf(database: Database, warn = vi.fn()): Claims {
  return new Claims({ database, table: "compaction_work", times: TIMES, logger: { warn } });
}

/** A store with one conversation that is due, claimed by the owner that this resolves to. */
async function claimed(database: Database): Promise<string> {
  await talk(database, "s", 12);
  await markDue(database, never);
  const owner = randomUUID();
  expect(await claim(database, owner, TIMES.leaseMs)).toMatchObject({ owner });
  return owner;
}

async function rowOf(database: Database) {
  const { rows } = await database.query<{ owner: string | null; kept: boolean | null }>(
    "select claimed_by as owner, claimed_until > now() + interval '30 s' as kept from compaction_work",
  );
  return rows[0];
}

describeEachDatabase("a claim", (open, backend) => {
  it("is renewed while its work lasts, and nobody else takes the row", async () => {
    const database = await open({ fresh: true });
    const owner = await claimed(database);
    await claimsOf(notEmbedded(database)).keep(owner, async () => {
      await database.query("update compaction_work set claimed_until = now() + interval '1 s'");
      await expect.poll(() => rowOf(database)).toEqual({ owner, kept: true });
    });
    expect(await claim(database, randomUUID(), 1_000)).toBeNull();
    await database.query("update compaction_work set claimed_until = now() - interval '1 s'");
    expect(await claim(database, randomUUID(), 1_000)).not.toBeNull();
  });

  it("that ends an hour from now is from before the clock was set back, and holds nobody up", async () => {
    const database = await open({ fresh: true });
    await claimed(database);
    await database.query("update compaction_work set claimed_until = claimed_until + interval '1 hour'");
    expect(await claim(database, randomUUID(), 1_000)).not.toBeNull();
  });

  it("that another owner has by now ends the work on its row, and stays that one's", async () => {
    const database = await open({ fresh: true });
    const owner = await claimed(database);
    const claims = claimsOf(notEmbedded(database));
    const other = randomUUID();
    const work = claims.keepOne(owner, never, async (signal) => {
      await database.query("update compaction_work set claimed_by = $1", [other]);
      await sleep(300_000, undefined, { signal }).catch(() => undefined);
      throw signal.reason;
    });
    await expect(work).rejects.toBeInstanceOf(ClaimLostError);
    await claims.release(owner);
    expect(await rowOf(database)).toMatchObject({ owner: other });
  });

  it("that could not be released while the database was unreachable is released before the next run", async () => {
    const database = await open({ fresh: true });
    const owner = await claimed(database);
    const store = absent(database);
    const warn = vi.fn();
    const claims = claimsOf(notEmbedded(store.database), warn);
    store.disconnect();
    await claims.release(owner);
    expect(warn).toHaveBeenCalledOnce();
    await expect(claims.catchUp()).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    store.come();
    expect(await rowOf(database)).toMatchObject({ owner });
    await claims.catchUp();
    expect(await rowOf(database)).toMatchObject({ owner: null });
    // Released once: what the owner has afterwards is not taken from it.
    await database.query("update compaction_work set claimed_by = $1", [owner]);
    await claims.catchUp();
    expect(await rowOf(database)).toMatchObject({ owner });
  });

  it("is renewed again after a renewal that failed, which ends neither the work nor the process", async () => {
    const database = await open({ fresh: true });
    const owner = await claimed(database);
    const store = absent(database);
    const warn = vi.fn();
    const work = claimsOf(notEmbedded(store.database), warn).keepOne(owner, never, async (signal) => {
      store.disconnect();
      await expect.poll(() => warn.mock.calls.length).toBeGreaterThan(1);
      store.come();
      await database.query("update compaction_work set claimed_until = now() + interval '1 s'");
      await expect.poll(() => rowOf(database)).toEqual({ owner, kept: true });
      return signal.aborted;
    });
    expect(await work).toBe(false);
  });

  it.runIf(backend === "embedded")("of a killed process is freed once the store can be asked", async () => {
    const database = await open({ fresh: true });
    await claimed(database);
    const store = absent(database);
    const claims = claimsOf(store.database);
    store.disconnect();
    await expect(claims.catchUp()).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    store.come();
    await claims.catchUp();
    expect(await rowOf(database)).toMatchObject({ owner: null });
  });

  it(`of a process that was killed is ${backend === "embedded" ? "freed by the first run of the next one, once" : "left to expire"}`, async () => {
    const database = await open({ fresh: true });
    const dead = await claimed(database);
    const claims = claimsOf(database);
    await claims.catchUp();
    expect(await rowOf(database)).toMatchObject({ owner: backend === "embedded" ? null : dead });
    const living = randomUUID();
    await database.query("update compaction_work set claimed_by = $1, claimed_until = now() + interval '4 minutes'", [
      living,
    ]);
    await claims.catchUp();
    expect(await rowOf(database)).toMatchObject({ owner: living });
  });
});
