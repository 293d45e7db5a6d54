import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCron, planOf } from "../../../runtime/domain/schedule.ts";
import { createZoneClock } from "../../../runtime/domain/zone-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** With daylight saving at night, at midnight, of half an hour, of the southern half, and none. */
const ZONES = [
  "Europe/Berlin",
  "America/New_York",
  "America/Santiago",
  "Australia/Lord_Howe",
  "Africa/Casablanca",
  "Asia/Kolkata",
  "UTC",
] as const;

const zone = fc.constantFrom(...ZONES);
/** Of two years with every kind of change in them. */
const instant = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 11, 31) });
const minute = fc.integer({ min: 0, max: 59 });
const hour = fc.integer({ min: 0, max: 23 });
const cron = fc.oneof(
  fc.tuple(minute, hour).map(([m, h]) => `${m} ${h} * * *`),
  fc.tuple(fc.constantFrom("*/5", "*/20", "7,37"), hour).map(([m, h]) => `${m} ${h} * * *`),
  fc.constantFrom("*/15 * * * *", "30 * * * *", "0 */2 * * *", "* 1-3 * * *", "0 0 1 * *", "30 2 * * 0", "0 0 29 2 *"),
);

/** The planned times from the first instant up to the second one, ISO without what all have. */
function times(expression: string, timezone: string, from: string, to: string): string[] {
  const plan = planOf(expression, timezone);
  const found: string[] = [];
  for (let at = plan.next(Date.parse(from) - 1); at <= Date.parse(to); at = plan.next(at)) {
    found.push(new Date(at).toISOString().replace(":00.000Z", "Z"));
  }
  return found;
}

describe("a time that daylight saving skips", () => {
  it("runs once, at the skip", () => {
    expect(times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "2026-03-30T12:00Z")).toEqual([
      "2026-03-29T01:00Z",
      "2026-03-30T00:30Z",
    ]);
    expect(times("*/20 2 * * *", "Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T12:00Z")).toEqual([
      "2026-03-29T01:00Z",
    ]);
  });

  it("does so where midnight is skipped, half an hour, and a whole day", () => {
    expect(times("0 0 * * *", "America/Santiago", "2026-09-05T12:00Z", "2026-09-06T12:00Z")).toEqual([
      "2026-09-06T04:00Z",
    ]);
    expect(times("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z", "2026-10-04T00:00Z")).toEqual([
      "2026-10-03T15:30Z",
    ]);
    expect(times("0 12 * * *", "Pacific/Apia", "2011-12-29T23:00Z", "2011-12-31T00:00Z")).toEqual([
      "2011-12-30T10:00Z",
      "2011-12-30T22:00Z",
    ]);
  });
});

describe("a time that the clock shows twice", () => {
  it("runs once, the first time", () => {
    expect(times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", "2026-10-26T12:00Z")).toEqual([
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z",
    ]);
  });

  it("is run again by a schedule of every hour alone, which never pauses longer than it does else", () => {
    expect(times("0 * * * *", "Europe/Berlin", "2026-10-25T00:00Z", "2026-10-25T03:00Z")).toEqual([
      "2026-10-25T00:00Z",
      "2026-10-25T01:00Z",
      "2026-10-25T02:00Z",
      "2026-10-25T03:00Z",
    ]);
    expect(times("0 1,2,3 * * *", "Europe/Berlin", "2026-10-24T22:30Z", "2026-10-25T03:00Z")).toEqual([
      "2026-10-24T23:00Z",
      "2026-10-25T00:00Z",
      "2026-10-25T02:00Z",
    ]);
  });
});

describe("a plan", () => {
  it("has the same times forward and backward, in every zone", () => {
    fc.assert(
      fc.property(cron, zone, instant, (expression, timezone, from) => {
        const plan = planOf(expression, timezone);
        const next = plan.next(from);
        expect(next).toBeGreaterThan(from);
        expect(plan.latest(from, next)).toBe(next);
        expect(plan.latest(from, next - 1)).toBeNull();
        expect(plan.latest(next, next)).toBeNull();
        // However many were missed, it is the newest that is due.
        const later = plan.next(plan.next(next));
        expect(plan.latest(from, later)).toBe(later);
      }),
    );
  });

  it("of one time a day comes once in every day that the calendar of its zone has", () => {
    fc.assert(
      fc.property(minute, hour, zone, (m, h, timezone) => {
        const clock = createZoneClock(timezone);
        const plan = planOf(`${m} ${h} * * *`, timezone);
        const days = new Set<string>();
        let runs = 0;
        const end = Date.UTC(2027, 0, 2);
        for (let at = plan.next(Date.UTC(2026, 0, 2)); at < end; at = plan.next(at)) {
          const { month, day } = clock.at(at);
          days.add(`${month}-${day}`);
          runs += 1;
        }
        expect(runs).toBe(365);
        expect(days.size).toBe(365);
      }),
      { numRuns: 20 },
    );
  });

  it("of every hour comes each hour of the year where zones change by whole hours", () => {
    fc.assert(
      fc.property(minute, fc.constantFrom("Europe/Berlin", "America/Santiago", "UTC"), instant, (m, timezone, from) => {
        const plan = planOf(`${m} * * * *`, timezone);
        for (let at = plan.next(from), n = 0; n < 50; n += 1) {
          const next = plan.next(at);
          expect(next - at).toBe(HOUR);
          at = next;
        }
      }),
    );
  });

  it("shows the clock time that it was given, but at a skip", () => {
    fc.assert(
      fc.property(minute, hour, zone, instant, (m, h, timezone, from) => {
        const clock = createZoneClock(timezone);
        const at = planOf(`${m} ${h} * * *`, timezone).next(from);
        const shown = clock.at(at);
        const skipped = clock.offset(at) > clock.offset(at - MINUTE);
        if (!skipped) expect([shown.hour, shown.minute]).toEqual([h, m]);
        expect(at - from).toBeLessThanOrEqual(DAY + HOUR);
      }),
    );
  });
});

it.each([
  "at eight",
  "0 8 * *",
  "0 0 8 * * *",
  "@daily",
  "60 8 * * *",
  "0 24 * * *",
  "0 0 30 2 *",
  "H 8 * * *",
  "H(0-5) 8 * * *",
])("%s is no cron expression of a schedule", (expression) => {
  expect(isCron(expression)).toBe(false);
});

it.each(["0 8 * * 1-5", "*/5 * * * *", "0 8 * MAR THU", "0 0 L * *", "0 0 29 2 *", " 0 8 * * * "])(
  "%s is one",
  (expression) => {
    expect(isCron(expression)).toBe(true);
  },
);
