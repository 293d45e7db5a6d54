import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearness, timesIn } from "../../../../runtime/domain/ranking/dates.ts";

const NOW = new Date("2024-02-10T15:00:00Z");
const spans = (query: string) =>
  timesIn(query, NOW).map(({ from, until }) =>
    [from, until].map((time) => new Date(time).toISOString().slice(0, 10)).join(" "),
  );

describe("the time that a query asks about", () => {
  it.each([
    ["Who came on 7 May 2023?", ["2023-05-07 2023-05-08"]],
    ["Who came on the 7th of May, 2023?", ["2023-05-07 2023-05-08"]],
    ["Who came on May 7th, 2023?", ["2023-05-07 2023-05-08"]],
    ["What broke in May 2023?", ["2023-05-01 2023-06-01"]],
    ["what broke on 2023-05-07", ["2023-05-07 2023-05-08"]],
    ["what broke in 2023-05", ["2023-05-01 2023-06-01"]],
    ["What did we build in 2022?", ["2022-01-01 2023-01-01"]],
    ["What did I say yesterday?", ["2024-02-09 2024-02-10"]],
    ["What did I say last week?", ["2024-02-03 2024-02-10"]],
  ])("reads %s", (query, expected) => {
    expect(spans(query)).toEqual(expected);
  });

  it("means any year where none is named", () => {
    expect(spans("Who came on 7 May?")).toContain("2022-05-07 2022-05-08");
    expect(spans("Who came in June?")).toContain("2023-06-01 2023-07-01");
  });

  it.each(["May I ask who came?", "who may march on?", "What is 2023?", "on 99 May 2023", "sept 12 rows", ""])(
    "finds none in %j",
    (query) => {
      expect(timesIn(query, NOW)).toEqual([]);
    },
  );

  it("fades with the days between, and is never above 1, below 0 or NaN", () => {
    const times = timesIn("on 7 May 2023", NOW);
    const at = (date: string) => nearness(new Date(date), times);
    expect(at("2023-05-07")).toBe(1);
    expect(at("2023-05-12")).toBe(1);
    expect(at("2023-06-01")).toBeLessThan(0.2);
    expect(at("2023-05-01")).toBeGreaterThan(at("2023-04-01"));
    fc.assert(
      fc.property(fc.date(), fc.string(), (date, query) => {
        const value = nearness(date, [...times, ...timesIn(query, NOW)]);
        expect(value >= 0 && value <= 1).toBe(true);
      }),
    );
  });
});
