import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Context, SharedPostgres } from "../../bench/support/context.ts";
import { Report } from "../../bench/support/report.ts";
import { stats } from "../../bench/support/stats.ts";

describe("statistics", () => {
  it("take every percentile from the samples, in order", () => {
    const samples = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 });
    fc.assert(
      fc.property(samples, (values) => {
        const { n, min, p50, p95, p99, max } = stats(values);
        expect(n).toBe(values.length);
        for (const value of [min, p50, p95, p99, max]) expect(values).toContain(value);
        expect([min, p50, p95, p99, max]).toEqual([min, p50, p95, p99, max].sort((a, b) => a - b));
      }),
    );
  });

  it("know the nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
    expect(stats(hundred)).toEqual({ n: 100, min: 1, p50: 50, p95: 95, p99: 99, max: 100 });
    expect(() => stats([])).toThrow();
  });
});

describe("a bench", () => {
  const context = (report: Report) => new Context(report, new SharedPostgres(), new AbortController().signal);

  it("reports whether a goal was met, and the load", () => {
    const report = new Report("b");
    report.samples({ name: "slow", unit: "ms", goal: { of: "p95", atMost: 5 } }, [1, 2, 9]);
    report.samples({ name: "fast", unit: "ms", goal: { of: "p50", atMost: 5 } }, [1, 2, 9]);
    report.value({ name: "rate", unit: "1/s", goal: { of: "value", atLeast: 100 } }, 99);
    expect(report.figures.map((figure) => figure.met)).toEqual([false, true, false]);
    for (const figure of report.figures) expect(figure.load.busy).toBeGreaterThanOrEqual(0);
  });

  it("interleaves two variants and leaves the warm-up out", async () => {
    const report = new Report("b");
    const order: string[] = [];
    const variant = (name: string) => ({ name, once: async (n: number) => void order.push(`${name}${n}`) });
    await context(report).compare({ name: "x", times: 2, warmUp: 1 }, { a: variant("a"), b: variant("b") });
    expect(order).toEqual(["a0", "b0", "a1", "b1", "a2", "b2"]);
    expect(report.figures.map(({ figure, unit, stats: s }) => [figure, unit, s?.n])).toEqual([
      ["x: a", "ms", 2],
      ["x: b", "ms", 2],
      ["x: b / a, medians", "x", undefined],
    ]);
  });

  it("ends what it started, last first, even if one end fails", async () => {
    const ended: number[] = [];
    const bench = context(new Report("b"));
    bench.defer(() => void ended.push(1));
    bench.defer(() => Promise.reject(new Error("no")));
    bench.defer(() => void ended.push(3));
    await bench.end();
    expect(ended).toEqual([3, 1]);
  });
});
