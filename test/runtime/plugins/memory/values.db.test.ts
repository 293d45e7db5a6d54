import { beforeAll, expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../support/databases.ts";

describeEachDatabase("values", (open) => {
  let database: Database;

  beforeAll(async () => {
    database = await open();
    await database.script(
      "create table facts (id uuid primary key, data jsonb, at timestamptz, tags text[], raw bytea)",
    );
  });

  const one = async (expression: string, values?: readonly unknown[]): Promise<unknown> =>
    (await database.query<{ value: unknown }>(`select ${expression} as value`, values)).rows[0]?.value;

  it.each([
    ["42::int", 42],
    ["42::bigint", 42],
    ["9007199254740991::bigint", Number.MAX_SAFE_INTEGER],
    ["-9007199254740991::bigint", Number.MIN_SAFE_INTEGER],
    ["9007199254740993::bigint", 9007199254740993n],
    ["array[1, null, 9007199254740993]::bigint[]", [1, null, 9007199254740993n]],
    ["count(*) from generate_series(1, 3)", 3],
    ["1.50::numeric", "1.50"],
    ["0.25::float8", 0.25],
    ["true", true],
    ["null", null],
    ["'a\u00e9\u{1f600}'::text", "a\u00e9\u{1f600}"],
    [`'{"a": [1, "b", null]}'::jsonb`, { a: [1, "b", null] }],
    [`'"text"'::json`, "text"],
    ["'2026-03-01'::date", "2026-03-01"],
    ["'2026-03-01 10:00:00+02'::timestamptz", new Date("2026-03-01T08:00:00Z")],
    ["'2026-03-01 10:00:00.123'::timestamp", new Date("2026-03-01T10:00:00.123Z")],
    ["array['a', null, 'b,\"c']", ["a", null, 'b,"c']],
    ["'\\x00ff'::bytea", Buffer.from([0, 255])],
    ["'8c6f2b1e-0000-4000-8000-000000000001'::uuid", "8c6f2b1e-0000-4000-8000-000000000001"],
    ["'[1,2.5,3]'::vector(3)", "[1,2.5,3]"],
    ["current_setting('TimeZone')", "UTC"],
  ])("reads %s", async (expression, expected) => {
    // An aggregate brings its own FROM.
    const sql = expression.includes(" from ")
      ? expression.replace(" from ", " as value from ")
      : `${expression} as value`;
    const { rows } = await database.query<{ value: unknown }>(`select ${sql}`);
    expect(rows).toEqual([{ value: expected }]);
  });

  it("binds what pg binds: JSON text, dates as text or Date, arrays, bytes, null and undefined", async () => {
    const id = "8c6f2b1e-0000-4000-8000-000000000002";
    const at = new Date("2026-02-03T04:05:06.789Z");
    const insert = "insert into facts (id, data, at, tags, raw) values ($1, $2, $3, $4, $5)";
    await database.query(insert, [id, JSON.stringify({ a: "\u{1f600}" }), at, ["x", 'y"'], Buffer.from([1, 0, 2])]);
    const { rows } = await database.query("select * from facts where id = $1", [id]);
    expect(rows).toEqual([{ id, data: { a: "\u{1f600}" }, at, tags: ["x", 'y"'], raw: Buffer.from([1, 0, 2]) }]);
    expect(await one("$1::timestamptz", ["2026-02-03T04:05:06.789Z"])).toEqual(at);
    expect(await one("$1::text is null and $2::text is null", [null, undefined])).toBe(true);
    expect(await one("$1::bigint", [2n ** 60n])).toBe(2n ** 60n);
  });

  it("counts rows that were returned and rows that were changed", async () => {
    await database.script("create table counted (n int)");
    expect(await database.query("insert into counted select generate_series(1, 5)")).toEqual({ rows: [], count: 5 });
    expect((await database.query("update counted set n = n + 1 where n > 3")).count).toBe(2);
    expect((await database.query("select n from counted")).count).toBe(5);
    expect((await database.query("delete from counted where n > 100")).count).toBe(0);
  });

  it("answers the same statement again and again, whatever its values", async () => {
    for (let n = 0; n < 20; n += 1) expect(await one("$1::int * 2", [n])).toBe(n * 2);
  });

  it("goes on when the schema changes under a statement that was used before", async () => {
    await database.script("create table changing (a int); insert into changing values (1)");
    for (let n = 0; n < 6; n += 1) await database.query("select * from changing where a = $1", [1]);
    await database.script("alter table changing add column b int default 2");
    const again = () => database.query("select * from changing where a = $1", [1]);
    const { rows } = await again().catch((error) => {
      expect(error).toMatchObject({ code: "MEMORY_UNAVAILABLE", retryable: true });
      return again();
    });
    expect(rows).toEqual([{ a: 1, b: 2 }]);
  });

  it("carries a megabyte there and back", async () => {
    const text = "0123456789abcdef".repeat(65_536);
    expect(await one("$1::text", [text])).toBe(text);
  });

  it("runs a script of several statements and returns the rows of all", async () => {
    const { rows } = await database.script(
      "select 1 as n; create table scripted (n int); insert into scripted values (2) returning n",
    );
    expect(rows).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("rolls back a script's block that failed, and the next statement works", async () => {
    await expect(database.script("begin; create table half (n int); select 1/0; commit")).rejects.toMatchObject({
      code: "MEMORY_QUERY_FAILED",
    });
    await expect(database.script("begin; create table half (n int)")).resolves.toBeDefined();
    expect(await one("to_regclass('half')")).toBeNull();
  });
});
