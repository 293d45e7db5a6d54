import { AsyncLocalStorage } from "node:async_hooks";
import { beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../../runtime/contracts/errors.ts";
import { EVENTUALLY_MS } from "../../../lanes/patience.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { eventually } from "../../../support/eventually.ts";

/** Would run for hours. */
const ENDLESS = "select count(*) from generate_series(1, 100000000000)";

describeEachDatabase("failures", (open, backend) => {
  let database: Database;

  beforeAll(async () => {
    database = await open();
    await database.script("create table rows_of_failures (id int primary key, text text not null)");
  });

  /** A store whose statement was ended may still be opening again, and lets nobody wait for ever. */
  const again = (sql: string) => eventually(() => database.query(sql));

  it("keeps the driver's error and its SQLSTATE as the cause", async () => {
    await database.query("insert into rows_of_failures values (1, 'a')");
    const error = await database
      .query("insert into rows_of_failures values (1, 'b')")
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(MemoryError);
    expect(error).toMatchObject({
      code: "MEMORY_QUERY_FAILED",
      retryable: false,
      cause: { code: "23505", constraint: "rows_of_failures_pkey" },
    });
  });

  it.each([
    ["select from where", "42601"],
    ["select * from no_such_table", "42P01"],
    ["select 1/0", "22012"],
  ])("refuses %s with SQLSTATE %s, and goes on", async (sql, code) => {
    await expect(database.query(sql)).rejects.toMatchObject({ code: "MEMORY_QUERY_FAILED", cause: { code } });
    await expect(database.query("select 1 as n")).resolves.toMatchObject({ rows: [{ n: 1 }] });
  });

  it("ends a statement at its deadline, while the process goes on, and serves the next", async () => {
    const order: string[] = [];
    const slow = database
      .transaction((tx) => tx.query(ENDLESS), { statementTimeoutMs: 300 })
      .catch((error: unknown) => {
        order.push("ended");
        throw error;
      });
    setImmediate(() => order.push("went on"));
    await expect(slow).rejects.toMatchObject({ code: "MEMORY_TIMEOUT", retryable: true });
    expect(order).toEqual(["went on", "ended"]);
    expect(await again("select 1 as n")).toMatchObject({ rows: [{ n: 1 }] });
  });

  it("gives the statements of a transaction that follow another deadline", async () => {
    await database
      .transaction(
        async (tx) => {
          await tx.limit(EVENTUALLY_MS);
          await tx.query("select pg_sleep(1)");
          await tx.limit(300);
          await expect(tx.savepoint((inner) => inner.query(ENDLESS))).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
        },
        { statementTimeoutMs: 300 },
      )
      .catch((error: unknown) => {
        // The embedded store's connection ends with its statement.
        if (database.backend === "postgres") throw error;
      });
    expect(await again("select 1 as n")).toMatchObject({ rows: [{ n: 1 }] });
  });

  it("ends a statement without a transaction at the default deadline", async () => {
    await expect(database.query(ENDLESS)).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
  });

  it("gives a script the deadline that it asks for, and the one after it the default again", async () => {
    await expect(database.script(ENDLESS, { statementTimeoutMs: 300 })).rejects.toMatchObject({
      code: "MEMORY_TIMEOUT",
    });
    const { rows } = await again("select current_setting('statement_timeout') as limit");
    expect(rows).toEqual([{ limit: "5s" }]);
  });

  it("undoes the transaction of a statement that was ended, and keeps what was committed before", async () => {
    await again("insert into rows_of_failures values (10, 'kept')");
    const run = database.transaction(
      async (tx) => {
        await tx.query("insert into rows_of_failures values (11, 'undone')");
        await tx.query(ENDLESS);
      },
      { statementTimeoutMs: 300 },
    );
    await expect(run).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
    const { rows } = await again("select id from rows_of_failures where id in (10, 11)");
    expect(rows).toEqual([{ id: 10 }]);
  });

  it("keeps commits that were not durable when a statement is ended right after them", async () => {
    await database.transaction((tx) => tx.query("insert into rows_of_failures values (20, 'relaxed')"), {
      durable: false,
    });
    await expect(database.transaction((tx) => tx.query(ENDLESS), { statementTimeoutMs: 300 })).rejects.toMatchObject({
      code: "MEMORY_TIMEOUT",
    });
    expect((await again("select 1 from rows_of_failures where id = 20")).count).toBe(1);
  });

  it("lets statements that wait behind a long one have their turn", async () => {
    const slow = database.transaction((tx) => tx.query(ENDLESS), { statementTimeoutMs: 500 });
    const waiting = Promise.all([1, 2, 3].map((n) => database.query<{ n: number }>("select $1::int as n", [n])));
    await expect(slow).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
    expect((await waiting).map(({ rows }) => rows[0]?.n)).toEqual([1, 2, 3]);
  });

  it("gives each of the statements that are sent together a deadline of its own", async () => {
    const together = database.transaction(
      (tx) => Promise.all([1, 2, 3, 4, 5, 6].map(() => tx.query("select pg_sleep(1)"))),
      { statementTimeoutMs: 5_000 },
    );
    await expect(together).resolves.toHaveLength(6);
  });

  it("reports itself", async () => {
    await again("select 1");
    await expect(database.status()).resolves.toEqual({
      backend,
      reachable: true,
      version: expect.stringMatching(/^\d+\.\d+$/),
    });
  });

  it("reports itself as reachable while it is only busy", async () => {
    const other = await open({ fresh: true });
    await other.status();
    const statements = Array.from({ length: 12 }, () =>
      other.transaction((tx) => tx.query(ENDLESS), { statementTimeoutMs: 3_500 }).catch((error: unknown) => error),
    );
    await expect(other.status()).resolves.toMatchObject({ backend, reachable: true, version: expect.any(String) });
    await Promise.race(statements);
    await other.close();
    await Promise.all(statements);
  });

  it("closes only after the transaction that is under way", async () => {
    const other = await open({ fresh: true });
    const entered = Promise.withResolvers<void>();
    const order: string[] = [];
    const run = other.transaction(async (tx) => {
      await tx.query("create table under_way (n int)");
      entered.resolve();
      await new Promise((resolve) => setTimeout(resolve, 300));
      await tx.query("insert into under_way values (1)");
    });
    await entered.promise;
    await Promise.all([run.then(() => order.push("committed")), other.close().then(() => order.push("closed"))]);
    expect(order).toEqual(["committed", "closed"]);
  });

  it("refuses everything after close, which may be called twice", async () => {
    const other = await open({ fresh: true });
    await Promise.all([other.close(), other.close()]);
    await expect(other.query("select 1")).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    await expect(other.transaction(async () => {})).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    await expect(other.status()).resolves.toMatchObject({ reachable: false });
  });

  describe.runIf(backend === "postgres")("between sessions", () => {
    it("waits for a lock until the lock's deadline", async () => {
      await database.query("insert into rows_of_failures values (30, 'locked')");
      await database.transaction(async (tx) => {
        await tx.query("update rows_of_failures set text = 'mine' where id = 30");
        const other = new Promise((resolve) => {
          outside(() =>
            resolve(
              database
                .transaction((rival) => rival.query("update rows_of_failures set text = 'yours' where id = 30"), {
                  lockTimeoutMs: 200,
                })
                .catch((error: unknown) => error),
            ),
          );
        });
        await expect(other).resolves.toMatchObject({ code: "MEMORY_LOCK_TIMEOUT", retryable: true });
      });
    });

    it("ends one of two transactions that wait for each other", async () => {
      await database.query("insert into rows_of_failures values (41, ''), (42, '')");
      const met = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
      const run = (first: number, second: number, mine: 0 | 1): Promise<void> =>
        database.transaction(
          async (tx) => {
            await tx.query("update rows_of_failures set text = 'x' where id = $1", [first]);
            met[mine].resolve();
            await Promise.all(met.map(({ promise }) => promise));
            await tx.query("update rows_of_failures set text = 'x' where id = $1", [second]);
          },
          { lockTimeoutMs: 10_000, statementTimeoutMs: 10_000 },
        );
      const results = await Promise.allSettled([run(41, 42, 0), run(42, 41, 1)]);
      const failed = results.filter((result) => result.status === "rejected");
      expect(failed).toEqual([
        { status: "rejected", reason: expect.objectContaining({ code: "MEMORY_LOCK_TIMEOUT" }) },
      ]);
    });
  });
});

/** Calls from a place that was there before the transaction: its work's own calls belong to it. */
const outside = AsyncLocalStorage.snapshot();
