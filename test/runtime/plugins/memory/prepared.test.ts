import { describe, expect, it } from "vitest";
import { PreparedStatements } from "../../../../runtime/plugins/memory/wire/prepared.ts";

describe("prepared statements", () => {
  const namesOf = (prepared: PreparedStatements, text: string, times: number): (string | undefined)[] =>
    Array.from({ length: times }, () => prepared.nameOf(text));

  it("get a name from the third use on, always the same", () => {
    const [first, second, third, fourth] = namesOf(new PreparedStatements(), "select 1", 4);
    expect([first, second]).toEqual([undefined, undefined]);
    expect(third).toMatch(/^[\w-]{1,63}$/);
    expect(fourth).toBe(third);
  });

  it("never share a name", () => {
    const prepared = new PreparedStatements();
    expect(namesOf(prepared, "select 1", 3).at(-1)).not.toBe(namesOf(prepared, "select 2", 3).at(-1));
  });

  it("are bounded in number and length, whatever SQL is built at run time", () => {
    const prepared = new PreparedStatements();
    const names = new Set<string>();
    for (let n = 0; n < 5_000; n += 1) {
      for (const name of namesOf(prepared, `select ${n}`, 4)) if (name !== undefined) names.add(name);
    }
    expect(names.size).toBe(200);
    expect(namesOf(new PreparedStatements(), `select '${"x".repeat(5_000)}'`, 10)).toEqual(Array(10).fill(undefined));
  });

  it("get another name after the schema has changed", () => {
    const prepared = new PreparedStatements();
    const before = namesOf(prepared, "select 1", 3).at(-1);
    prepared.forget();
    const after = namesOf(prepared, "select 1", 3).at(-1);
    expect(after).toBeDefined();
    expect(after).not.toBe(before);
  });
});
