/** The right to roll out a fleet, and its journals: one holder at a time, and only the newest one writes. */

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createLeaseTable } from "../../../runtime/app/leases.ts";
import { createRollouts } from "../../../runtime/app/rollouts.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import type { RolloutRecord } from "../../../runtime/contracts/rollout.ts";
import { describeEachDatabase } from "../../support/databases.ts";

const rolloutsOf = (database: Database) =>
  createRollouts({ database, leases: createLeaseTable(database), newId: randomUUID });

/** As a holder's silence does. */
const expire = (database: Database) =>
  database.query("update leases set expires_at = now() - interval '1 s' where name = 'rollout'");

function record(id: string, more: Partial<RolloutRecord> = {}): RolloutRecord {
  return {
    id,
    holder: "ada@desk",
    to: "image@sha256:2",
    from: [{ node: "one", image: "image@sha256:1" }],
    on_failure: "rollback",
    max_unavailable: 1,
    started_at: "2026-11-26T12:00:00.000Z",
    steps: [],
    end: null,
    ...more,
  };
}

describeEachDatabase("rollouts", (open) => {
  it("give the right to one holder, who may ask again, and name that one to the others", async () => {
    const rollouts = rolloutsOf(await open({ fresh: true }));
    const id = randomUUID();
    const first = await rollouts.acquire(id, "ada@desk");
    expect(await rollouts.acquire(id, "ada@desk")).toEqual(first);
    await expect(rollouts.acquire(randomUUID(), "bob@den")).rejects.toMatchObject({
      code: "INFRA_LOCKED",
      message: "The fleet is being changed by ada@desk.",
    });
    await rollouts.release(first.number);
    const second = await rollouts.acquire(randomUUID(), "bob@den");
    expect(second.number).toBeGreaterThan(first.number);
    expect(second.fleet).toBe(first.fleet);
    // It gives back what is no longer its own.
    await rollouts.release(first.number);
    await rollouts.renew(second.number);
  });

  it("do not renew a right that has run out, or is another's", async () => {
    const database = await open({ fresh: true });
    const rollouts = rolloutsOf(database);
    const { number } = await rollouts.acquire(randomUUID(), "ada@desk");
    await rollouts.renew(number);
    await expire(database);
    await expect(rollouts.renew(number)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    // Nobody came meanwhile: what it had begun may still be written down.
    await rollouts.requireNewest(number);
    const { number: later } = await rollouts.acquire(randomUUID(), "bob@den");
    await expect(rollouts.renew(number)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    await expect(rollouts.requireNewest(number)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    await rollouts.requireNewest(later);
  });

  it("renewed before the clock was set back run out thirty seconds after that", async () => {
    const database = await open({ fresh: true });
    const rollouts = rolloutsOf(database);
    const { number } = await rollouts.acquire(randomUUID(), "ada@desk");
    await database.query(
      `update leases set data = data || jsonb_build_object('granted_at', now() - interval '1 hour')`,
    );
    await rollouts.renew(number);
    await database.query(
      `update leases set expires_at = expires_at + interval '1 hour',
         data = data || jsonb_build_object('granted_at', (data->>'granted_at')::timestamptz + interval '1 hour')`,
    );
    await expect(rollouts.acquire(randomUUID(), "bob@den")).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    const { count } = await database.query("select 1 from leases where expires_at <= now() + interval '30 s'");
    expect(count).toBe(1);
    await rollouts.renew(number);
  });

  it("take a journal of the newest holder alone", async () => {
    const database = await open({ fresh: true });
    const rollouts = rolloutsOf(database);
    const { number } = await rollouts.acquire(randomUUID(), "ada@desk");
    const id = randomUUID();
    await rollouts.write(record(id), number);
    const begun = record(id, { steps: [{ name: "apply one", state: "begun", at: "2026-11-26T12:00:01.000Z" }] });
    await rollouts.write(begun, number);
    expect(await rollouts.list(10)).toEqual([begun]);
    await expire(database);
    const { number: later } = await rollouts.acquire(randomUUID(), "bob@den");
    await expect(rollouts.write(record(id), number)).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    expect(await rollouts.list(10)).toEqual([begun]);
    const next = randomUUID();
    await rollouts.write(record(next), later);
    expect((await rollouts.list(10)).map((one) => one.id)).toEqual([next, id]);
  });

  it("end with what a program has said last, whatever that is", async () => {
    const rollouts = rolloutsOf(await open({ fresh: true }));
    const { number } = await rollouts.acquire(randomUUID(), "ada@desk");
    const end = { outcome: "rolled_back", done: [], failed: "one", stuck: [], unknown: [] } as const;
    await rollouts.write(record("a", { end: { ...end, reason: "one ends: \0 and half a sign \ud83d" } }), number);
    const [written] = await rollouts.list(1);
    expect(written?.end?.reason).toBe("one ends: \ufffd and half a sign \ufffd");
  });

  it("keep the newest hundred journals", async () => {
    const rollouts = rolloutsOf(await open({ fresh: true }));
    const { number } = await rollouts.acquire(randomUUID(), "ada@desk");
    const ids = Array.from({ length: 103 }, () => randomUUID());
    for (const id of ids) await rollouts.write(record(id), number);
    expect((await rollouts.list(200)).map(({ id }) => id)).toEqual(ids.slice(3).reverse());
  });
});
