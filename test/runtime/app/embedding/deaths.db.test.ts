/** Embedders that die at each step: what they had in hand gets its vectors from the next one, once. */

import { expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { type DeathPoint, mortal } from "../../../support/faults/mortal-database.ts";
import { embedderOf, fakeEncoder, fill, models, never, work } from "./support.ts";

const CLAIM = "insert into embedding_work";
const STORE = "insert into embeddings_";

/** As if the claims of the dead had run out. */
async function expireClaims(database: Database): Promise<void> {
  await database.query("update embedding_work set claimed_until = now() - interval '1 s' where claimed_by is not null");
}

async function expectAllOnce(database: Database, rows: number): Promise<void> {
  const fake = await fakeEncoder();
  await expireClaims(database);
  expect(await embedderOf(database, fake).run(never)).toMatchObject({ failed: 0, unavailable: null });
  expect(await work(database)).toEqual([]);
  expect(await models(database)).toMatchObject([{ vectors: rows }]);
  const { rows: without } = await database.query(
    "select id from messages m where not exists (select 1 from embeddings_1 e where e.kind = 'message' and e.id = m.id)",
  );
  expect(without).toEqual([]);
}

describeDatabase("an embedder", (open) => {
  it.each<DeathPoint>([
    { mark: CLAIM, when: "before" },
    { mark: CLAIM, when: "after" },
    { mark: CLAIM, when: "committed" },
    { mark: STORE, when: "before" },
    { mark: STORE, when: "committed" },
  ])("that dies $when `$mark` leaves 20 rows to the next one, each embedded once", async (point) => {
    const database = await open({ fresh: true });
    await embedderOf(database, await fakeEncoder()).run(never);
    await fill(database, 20);
    const dying = mortal(database, point);
    const run = embedderOf(dying.database, await fakeEncoder()).run(never);
    await expect(run).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    expect(dying.dead()).toBe(true);
    await expectAllOnce(database, 20);
  });

  it.each(["before", "after"])("that dies %s the answer of its model leaves 20 rows to the next one", async (when) => {
    const database = await open({ fresh: true });
    await fill(database, 20);
    const dying = mortal(database);
    const fake = await fakeEncoder({
      fault({ texts }) {
        if (texts.length === 1) return undefined;
        dying.die();
        return when === "before" ? { kind: "status", status: 503 } : undefined;
      },
    });
    await expect(embedderOf(dying.database, fake).run(never)).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    await expectAllOnce(database, 20);
  });
});
