import { beforeAll, expect, it, vi } from "vitest";
import type { Database, Transaction } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../support/databases.ts";

describeEachDatabase("transactions", (open, backend) => {
  let database: Database;

  beforeAll(async () => {
    database = await open();
    await database.script("create table notes (id bigint generated always as identity, text text unique not null)");
  });

  const texts = async (prefix: string): Promise<string[]> =>
    (
      await database.query<{ text: string }>("select text from notes where text like $1 || '%' order by id", [prefix])
    ).rows.map(({ text }) => text);

  it("commits what resolves", async () => {
    const value = await database.transaction(async (tx) => {
      await tx.query("insert into notes (text) values ($1)", ["commit"]);
      return 7;
    });
    expect(value).toBe(7);
    expect(await texts("commit")).toEqual(["commit"]);
  });

  it("rolls back what rejects, and rejects with the same error", async () => {
    const failure = new Error("mine");
    const run = database.transaction(async (tx) => {
      await tx.query("insert into notes (text) values ($1)", ["rollback"]);
      throw failure;
    });
    await expect(run).rejects.toBe(failure);
    expect(await texts("rollback")).toEqual([]);
  });

  it("undoes a failed savepoint alone", async () => {
    await database.transaction(async (tx) => {
      await tx.query("insert into notes (text) values ('sp-outer')");
      const inner = tx.savepoint(async (nested) => {
        await nested.query("insert into notes (text) values ('sp-inner')");
        await nested.query("insert into notes (text) values ('sp-inner')");
      });
      await expect(inner).rejects.toMatchObject({ code: "MEMORY_QUERY_FAILED" });
      await tx.query("insert into notes (text) values ('sp-after')");
    });
    expect(await texts("sp-")).toEqual(["sp-outer", "sp-after"]);
  });

  it("keeps savepoints started side by side apart", async () => {
    await database.transaction(async (tx) => {
      const run = (text: string, fail: boolean): Promise<void> =>
        tx.savepoint(async (nested) => {
          await nested.query("insert into notes (text) values ($1)", [text]);
          if (fail) throw new Error("undo");
        });
      await Promise.allSettled([run("side-1", true), run("side-2", false), run("side-3", true), run("side-4", false)]);
    });
    expect(await texts("side-")).toEqual(["side-2", "side-4"]);
  });

  it("refuses to pretend that it committed when a failed statement was swallowed", async () => {
    const run = database.transaction(async (tx) => {
      await tx.query("insert into notes (text) values ('swallowed')");
      await tx.query("select 1/0").catch(() => {});
    });
    await expect(run).rejects.toMatchObject({ code: "MEMORY_QUERY_FAILED" });
    expect(await texts("swallowed")).toEqual([]);
  });

  it("refuses the database itself inside a transaction, and the handle after it", async () => {
    const kept = await database.transaction(async (tx) => {
      for (const misuse of [
        () => database.query("select 1"),
        () => database.transaction(async () => {}),
        () => database.script("select 1"),
      ]) {
        await expect(misuse()).rejects.toMatchObject({ message: expect.stringContaining("inside a transaction") });
      }
      return tx;
    });
    await expect(kept.query("select 1")).rejects.toMatchObject({ message: expect.stringContaining("has ended") });
    await expect(database.query("select 1 as one")).resolves.toMatchObject({ rows: [{ one: 1 }] });
  });

  it("lets work that was started inside a transaction use the database after it", async () => {
    const later = Promise.withResolvers<unknown>();
    const ended = Promise.withResolvers<void>();
    await database.transaction(async () => {
      void ended.promise.then(() => later.resolve(database.query("select 1 as one")));
    });
    ended.resolve();
    await expect(later.promise).resolves.toMatchObject({ rows: [{ one: 1 }] });
  });

  it("ends a transaction whose work does nothing, and refuses the work's late statements", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const handle = Promise.withResolvers<Transaction>();
      const forever = database.transaction(async (tx) => {
        await tx.query("insert into notes (text) values ('idle')");
        handle.resolve(tx);
        return new Promise(() => {});
      });
      const outcome = expect(forever).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
      const tx = await handle.promise;
      await vi.advanceTimersByTimeAsync(30_000);
      await outcome;
      await expect(tx.query("select 1")).rejects.toMatchObject({ message: expect.stringContaining("has ended") });
      expect(await texts("idle")).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  it.runIf(backend === "embedded")(
    "serves callers in the order in which they came, each until its deadline",
    async () => {
      const order: number[] = [];
      await Promise.all(
        Array.from({ length: 10 }, async (_, n) => {
          await (n % 2 === 0 ? database.query("select 1") : database.transaction((tx) => tx.query("select 1")));
          order.push(n);
        }),
      );
      expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);

      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      try {
        const release = Promise.withResolvers<void>();
        const entered = Promise.withResolvers<Transaction>();
        const holder = database.transaction(async (tx) => {
          await tx.query("select 1");
          entered.resolve(tx);
          await release.promise;
        });
        const tx = await entered.promise;
        const waiter = expect(database.query("select 1")).rejects.toMatchObject({
          code: "MEMORY_UNAVAILABLE",
          retryable: true,
        });
        await vi.advanceTimersByTimeAsync(20_000);
        await tx.query("select 1");
        await vi.advanceTimersByTimeAsync(10_000);
        await waiter;
        release.resolve();
        await holder;
      } finally {
        vi.useRealTimers();
      }
    },
  );

  it("shows nothing of an open transaction outside of it, and serves callers in turn", async () => {
    await Promise.all(
      Array.from({ length: 25 }, (_, index) =>
        database.transaction(async (tx) => {
          const { rows } = await tx.query<{ n: number }>("select count(*) as n from notes where text like 'turn-%'");
          await tx.query("insert into notes (text) values ($1)", [`turn-${index}`]);
          return rows;
        }),
      ),
    );
    expect((await texts("turn-")).length).toBe(25);
  });
});
