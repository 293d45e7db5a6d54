import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countCall, type Prices } from "../../../runtime/domain/usage.ts";

const tokens = fc.integer({ min: 0, max: 10_000_000 });
const usage = fc
  .record({ plain: tokens, cached: tokens, written: tokens, output: tokens })
  .map(({ plain, cached, written, output }) => ({
    inputTokens: plain + cached + written,
    cachedInputTokens: cached,
    cacheWriteInputTokens: written,
    outputTokens: output,
  }));
const price = fc.double({ min: 0, max: 1_000, noNaN: true });
const prices = fc.record({ input: price, output: price, cacheRead: price, cacheWrite: price });
const DAY = "2030-01-31";
const cost = (given: Parameters<typeof countCall>[2], at: Prices | undefined) =>
  countCall("p", "m", given, DAY, at).costUsd;

describe("the cost of a call", () => {
  it("is that of a million tokens of each kind", () => {
    const million = { inputTokens: 3e6, cachedInputTokens: 1e6, cacheWriteInputTokens: 1e6, outputTokens: 1e6 };
    expect(cost(million, { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 })).toBeCloseTo(22.05, 9);
  });

  it("adds up: two calls cost what one of all their tokens does", () => {
    fc.assert(
      fc.property(usage, usage, prices, (one, other, at) => {
        const both = {
          inputTokens: one.inputTokens + other.inputTokens,
          cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
          cacheWriteInputTokens: one.cacheWriteInputTokens + other.cacheWriteInputTokens,
          outputTokens: one.outputTokens + other.outputTokens,
        };
        expect((cost(one, at) ?? -1) + (cost(other, at) ?? -1)).toBeCloseTo(cost(both, at) ?? -1, 6);
      }),
    );
  });

  it("is at most that of the dearest token for all of them, and never negative", () => {
    fc.assert(
      fc.property(usage, prices, (given, at) => {
        const dearest = Math.max(...Object.values(at));
        const most = ((given.inputTokens + given.outputTokens) * dearest) / 1e6;
        const found = cost(given, at) ?? -1;
        expect(found).toBeGreaterThanOrEqual(0);
        expect(found).toBeLessThanOrEqual(most * 1.000_001);
      }),
    );
  });

  it("counts a cache's tokens as input where the cache has no price", () => {
    fc.assert(
      fc.property(usage, price, price, (given, input, output) => {
        const plain = { inputTokens: given.inputTokens, outputTokens: given.outputTokens };
        expect(cost(given, { input, output })).toBeCloseTo(cost(plain, { input, output }) ?? -1, 6);
      }),
    );
  });

  it("is unknown without prices, and where tokens that were used have none", () => {
    expect(cost({ inputTokens: 1, outputTokens: 1 }, undefined)).toBeNull();
    expect(cost({ inputTokens: 0, outputTokens: 0 }, undefined)).toBe(0);
    expect(cost({ inputTokens: 1, outputTokens: 1 }, { input: 1 })).toBeNull();
    expect(cost({ inputTokens: 1, outputTokens: 0 }, { input: 1 })).toBe(1e-6);
  });
});

it("makes counts that can be stored of whatever a server has said", () => {
  const anything = fc.oneof(fc.double(), fc.string(), fc.constant(null), fc.constant(undefined));
  fc.assert(
    fc.property(anything, anything, anything, anything, fc.string(), (input, cached, written, output, model) => {
      const wrong = {
        inputTokens: input,
        outputTokens: output,
        cachedInputTokens: cached,
        cacheWriteInputTokens: written,
      };
      // What the type promises is what a server need not keep.
      const call = countCall("p", model.repeat(100), wrong as never, DAY, { input: 1, output: 1 });
      for (const count of [call.inputTokens, call.cachedInputTokens, call.cacheWriteInputTokens, call.outputTokens]) {
        expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
      }
      expect(call.cachedInputTokens + call.cacheWriteInputTokens).toBeLessThanOrEqual(call.inputTokens);
      expect(call.model.length).toBeLessThanOrEqual(256);
      expect(call.model).not.toContain("\0");
    }),
  );
});
