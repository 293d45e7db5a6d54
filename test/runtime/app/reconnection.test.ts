/** Pauses between attempts to connect: within their bounds for all settings that are accepted, and anew after a connection. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { Reconnection } from "../../../runtime/app/reconnection.ts";
import { LONGEST_MS } from "../../../runtime/config/schema/scalars.ts";

/** As the configuration takes them: at least 10 ms, and the first pause not longer than the longest. */
const settings = fc
  .tuple(fc.integer({ min: 10, max: LONGEST_MS }), fc.integer({ min: 10, max: LONGEST_MS }), fc.nat(50))
  .map(([a, b, maxRetries]) => ({ initialDelayMs: Math.min(a, b), maxDelayMs: Math.max(a, b), maxRetries }));

it("are between half and the whole of a time that doubles up to the longest pause, however many attempts fail", () => {
  fc.assert(
    fc.property(settings, fc.integer({ min: 1, max: 1_200 }), (given, attempts) => {
      const reconnection = new Reconnection(given);
      const failed = Array.from({ length: attempts }, () => reconnection.failed());
      const wrong = failed.filter(({ pauseMs, count, isDown }, n) => {
        const whole = Math.min(given.maxDelayMs, given.initialDelayMs * 2 ** n);
        const isWithin = pauseMs >= Math.floor(whole / 2) && pauseMs <= whole;
        return !isWithin || count !== n + 1 || isDown !== count > given.maxRetries;
      });
      expect(wrong).toEqual([]);
    }),
  );
});

it("are not the same for two nodes that lost their connection at once, also when they have grown", () => {
  const nodes = [1, 2].map(() => new Reconnection({ initialDelayMs: 10, maxDelayMs: 60_000, maxRetries: 0 }));
  const pauses = nodes.map((node) => Array.from({ length: 40 }, () => node.failed().pauseMs).slice(20));
  expect(pauses[0]).not.toEqual(pauses[1]);
});

it("begin anew after a connection", () => {
  fc.assert(
    fc.property(settings, fc.integer({ min: 1, max: 50 }), (given, attempts) => {
      const reconnection = new Reconnection(given);
      for (let n = 0; n < attempts; n++) reconnection.failed();
      reconnection.connected();
      const { pauseMs, count } = reconnection.failed();
      expect(count).toBe(1);
      expect(pauseMs).toBeGreaterThanOrEqual(Math.floor(given.initialDelayMs / 2));
      expect(pauseMs).toBeLessThanOrEqual(given.initialDelayMs);
    }),
  );
});
