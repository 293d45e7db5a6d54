import { describe, expect, it } from "vitest";
import { countBatch } from "../../../../runtime/app/terms/count.ts";
import { createTermCounter } from "../../../../runtime/app/terms/terms.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";

/** Counted in the background, and counted anew from the rows. */
interface Counts {
  readonly terms: Readonly<Record<string, number>>;
  readonly agents: Readonly<Record<string, number>>;
  readonly documents: number;
  readonly lexemes: number;
}

async function counted(database: Database): Promise<Counts> {
  const { rows } = await database.query<Counts>(
    `select (select jsonb_object_agg(lexeme, documents) from search_terms) as terms,
       (select jsonb_object_agg(agent, documents) from search_agents) as agents, documents, lexemes
     from search_totals where kind = 'message'`,
  );
  return rows[0] ?? { terms: {}, agents: {}, documents: 0, lexemes: 0 };
}

async function recounted(database: Database): Promise<Counts> {
  const { rows } = await database.query<Counts>(
    `select (select jsonb_object_agg(lexeme, n) from (
         select lexeme, count(*) as n from messages m, unnest(tsvector_to_array(m.content_tsv)) as lexeme group by lexeme) as t) as terms,
       (select jsonb_object_agg(agent, n) from (
         select agent, count(*) as n from messages where content <> '' group by agent) as a) as agents,
       count(*) as documents, sum(length(content_tsv)) as lexemes
     from messages where content <> ''`,
  );
  return rows[0] ?? { terms: {}, agents: {}, documents: 0, lexemes: 0 };
}

const gapsOf = async (database: Database) =>
  (await database.query("select kind, first, last from search_gaps order by first")).rows;

const INSERT = `insert into messages (id, conversation_id, agent, channel, role, content)
  values (gen_random_uuid(), $1, 'main', 'agent', 'user', $2) returning seq`;

describeEachDatabase("the counts of words", (open, backend) => {
  it("are those of the rows, however often and by whomever they are counted", async () => {
    const database = await open({ fresh: true });
    const writer = writerOf(database);
    const counter = createTermCounter(database);
    expect(await counter.run()).toBe(0);
    await write(writer, "one", [said("the ships in the harbour"), said("a ship, a ship"), said("harbours")]);
    expect(await counter.run()).toBe(3);
    await write(writer, "two", [said("ships of the desert")], { agent: "rare" });
    await Promise.all([counter.run(), counter.run(), createTermCounter(database).run()]);
    expect(await counter.run()).toBe(0);
    const counts = await counted(database);
    expect(counts).toMatchObject({ terms: { ship: 3, harbour: 2, desert: 1 }, agents: { main: 3, rare: 1 } });
    expect(counts).toEqual(await recounted(database));
    expect(await gapsOf(database)).toEqual([]);
  });

  it("come batch by batch, and a batch that fails counts nothing", async () => {
    const database = await open({ fresh: true });
    await write(
      writerOf(database),
      "batches",
      Array.from({ length: 23 }, (_, n) => said(`word${n} of all`)),
    );
    expect(await countBatch(database, "message", 10)).toEqual({ rows: 10, more: true });
    const before = await counted(database);
    // Fails at the last statement of the batch.
    await database.script("alter table search_totals add constraint broken check (counted_to < 15)");
    await expect(countBatch(database, "message", 10)).rejects.toMatchObject({ code: "MEMORY_QUERY_FAILED" });
    expect(await counted(database)).toEqual(before);
    await database.script("alter table search_totals drop constraint broken");
    expect(await countBatch(database, "message", 10)).toEqual({ rows: 10, more: true });
    expect(await countBatch(database, "message", 10)).toEqual({ rows: 3, more: false });
    expect(await counted(database)).toEqual(await recounted(database));
  });

  it("take a tool call's sentence when it comes, before its row is passed or after", async () => {
    const database = await open({ fresh: true });
    const writer = writerOf(database);
    const call = (n: number) => ({
      role: "assistant" as const,
      content: "",
      toolName: "shell",
      toolArgs: { n },
      key: `call ${n}`,
      cap: false,
    });
    const { rows } = await write(writer, "calls", [call(1), said("after the first"), call(2)]);
    const synthesize = (n: number, text: string) =>
      database.query("update messages set content = $2 where id = $1", [rows[n]?.id, text]);
    await synthesize(0, "Listed the ships.");
    await createTermCounter(database).run();
    expect((await counted(database)).documents).toBe(2);
    await synthesize(2, "Counted the ships.");
    await createTermCounter(database).run();
    expect(await counted(database)).toMatchObject({ documents: 3, terms: { ship: 2 } });
    expect(await counted(database)).toEqual(await recounted(database));
    expect(await gapsOf(database)).toEqual([]);
  });

  describe.skipIf(backend === "embedded")("with several writers", () => {
    it("take a row whose transaction commits after that of a younger row", async () => {
      const database = await open({ fresh: true });
      const { conversationId } = await write(writerOf(database), "late", [said("the first")]);
      const inserted = Promise.withResolvers<void>();
      const finish = Promise.withResolvers<void>();
      const slow = database.transaction(async (tx) => {
        for (const text of ["an early albatross", "a second albatross"]) await tx.query(INSERT, [conversationId, text]);
        inserted.resolve();
        await finish.promise;
      });
      await inserted.promise;
      await database.query(INSERT, [conversationId, "a quick one"]);
      await createTermCounter(database).run();
      expect(await counted(database)).toMatchObject({ documents: 2, terms: { quick: 1 } });
      expect(await gapsOf(database)).toEqual([{ kind: "message", first: 2, last: 3 }]);
      finish.resolve();
      await slow;
      expect(await createTermCounter(database).run()).toBe(2);
      expect(await counted(database)).toEqual(await recounted(database));
      expect(await gapsOf(database)).toEqual([]);
      expect(await createTermCounter(database).run()).toBe(0);
    });

    it("look at a number that never gets its row until no transaction can bring it any more", async () => {
      const database = await open({ fresh: true });
      const { conversationId } = await write(writerOf(database), "undone", [said("the first")]);
      await database
        .transaction(async (tx) => {
          await tx.query(INSERT, [conversationId, "never said"]);
          throw new Error("undone");
        })
        .catch(() => undefined);
      await database.query(INSERT, [conversationId, "the last"]);
      const counter = createTermCounter(database);
      await counter.run();
      expect(await gapsOf(database)).toHaveLength(1);
      // Old, but a transaction from before is still running.
      const started = Promise.withResolvers<void>();
      const finish = Promise.withResolvers<void>();
      const open_ = database.transaction(async (tx) => {
        await tx.query("select pg_current_xact_id()");
        started.resolve();
        await finish.promise;
      });
      await started.promise;
      await database.query(
        "update search_gaps set noted_at = now() - interval '1 hour', noted_xid = pg_current_xact_id()",
      );
      await counter.run();
      expect(await gapsOf(database)).toHaveLength(1);
      finish.resolve();
      await open_;
      // The numbers of transactions are the cluster's: those of other tests count, too.
      await expect
        .poll(async () => {
          await counter.run();
          return gapsOf(database);
        })
        .toEqual([]);
      expect(await counted(database)).toEqual(await recounted(database));
    });

    it("are exact after 8 writers and 3 counters at once", async () => {
      const database = await open({ fresh: true });
      const writer = writerOf(database);
      let writing = true;
      const counters = Array.from({ length: 3 }, async () => {
        while (writing) await createTermCounter(database).run();
      });
      await Promise.all(
        Array.from({ length: 8 }, async (_, w) => {
          for (let n = 0; n < 12; n += 1) {
            const batch = write(writer, `writer ${w}`, [said(`ship ${w} ${n}`), said(`harbour ${n} of writer ${w}`)]);
            await batch;
            if (n % 4 === 0) {
              await database
                .transaction(async (tx) => {
                  await writer.writeIn(tx, {
                    sessionKey: `writer ${w}`,
                    agent: "main",
                    channel: "agent",
                    openedBy: "turn",
                    entries: [said(`undone ${n}`)],
                  });
                  throw new Error("undone");
                })
                .catch(() => undefined);
            }
          }
        }),
      );
      writing = false;
      await Promise.all(counters);
      await createTermCounter(database).run();
      const counts = await counted(database);
      expect(counts.documents).toBe(192);
      expect(counts).toEqual(await recounted(database));
    });
  });
});
