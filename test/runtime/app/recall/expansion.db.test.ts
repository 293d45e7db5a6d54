/** What an answer shows under a summary. */

import { v7 } from "uuid";
import { expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { memoryOf, said, write, writerOf } from "../../../support/memory.ts";

const ada = { visibility: { channel: "agent", user: "ada" } };

/** As no compactor would write it: what is linked stands in conversations of several people. */
async function summary(
  database: Database,
  { conversationId, content, parent = null }: { conversationId: string; content: string; parent?: string | null },
): Promise<string> {
  const id = v7();
  await database.query(
    `insert into summaries (id, conversation_id, parent_id, depth, kind, content, earliest_at, latest_at)
     values ($1, $2, $3, case when $3::uuid is null then 1 else 0 end, 'leaf', $4, now(), now())`,
    [id, conversationId, parent, content],
  );
  return id;
}

async function found(database: Database, query: string, options: object = {}) {
  const memory = memoryOf(database);
  const hits = await memory.search(query, { scope: "summaries", ...options });
  await memory.idle();
  return hits;
}

describeDatabase("under a summary", (open) => {
  it("stand no rows that the caller may not see, though they are linked", async () => {
    const database = await open({ fresh: true });
    const adas = await write(writerOf(database), "ada", [said("Ada's row.")], { user: "ada" });
    const bobs = await write(writerOf(database), "bob", [said("Bob's row.")], { user: "bob" });
    const of = (conversationId: string) => ({ conversationId });
    const top = await summary(database, { ...of(adas.conversationId), content: "the overview of the lighthouse" });
    const own = await summary(database, { ...of(adas.conversationId), content: "hers", parent: top });
    const others = await summary(database, { ...of(bobs.conversationId), content: "his", parent: top });
    for (const [n, { rows }] of [adas, bobs].entries())
      await database.query("insert into summary_sources values ($1, $2, $3)", [top, rows[0]?.id, n]);

    const [hers] = await found(database, "lighthouse overview", ada);
    expect(hers?.sources?.map(({ content }) => content)).toEqual(["Ada's row."]);
    expect(hers?.children?.map(({ id }) => id)).toEqual([own]);
    const [all] = await found(database, "lighthouse overview");
    expect(all?.sources).toHaveLength(2);
    expect(all?.children?.map(({ id }) => id)).toEqual([own, others]);
  });

  it("is nothing, not even an empty list, when all that is linked belongs to others", async () => {
    const database = await open({ fresh: true });
    const adas = await write(writerOf(database), "ada", [said("Ada's row.")], { user: "ada" });
    const bobs = await write(writerOf(database), "bob", [said("Bob's row.")], { user: "bob" });
    const top = await summary(database, {
      conversationId: adas.conversationId,
      content: "the overview of the lighthouse",
    });
    await summary(database, { conversationId: bobs.conversationId, content: "his", parent: top });
    await database.query("insert into summary_sources values ($1, $2, 1)", [top, bobs.rows[0]?.id]);
    const [hers] = await found(database, "lighthouse overview", ada);
    expect(hers).toBeDefined();
    expect(hers).not.toHaveProperty("children");
    expect(hers).not.toHaveProperty("sources");
  });

  it("stand 20 of 30 rows, the first ones", async () => {
    const database = await open({ fresh: true });
    const texts = Array.from({ length: 30 }, (_, n) => `row ${n}`);
    const { conversationId, rows } = await write(
      writerOf(database),
      "long",
      texts.map((text) => said(text)),
    );
    const top = await summary(database, { conversationId, content: "the overview of the lighthouse" });
    for (const [n, { id }] of rows.entries())
      await database.query("insert into summary_sources values ($1, $2, $3)", [top, id, n]);
    const [hit] = await found(database, "lighthouse overview");
    expect(hit?.sources?.map(({ content }) => content)).toEqual(texts.slice(0, 20));
  });
});
