import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isoMinute, parseInstant, type TIME_WINDOWS, windowSpan } from "../../../runtime/domain/time-window.ts";

const ZONES = [
  "UTC",
  "Europe/Vienna",
  "America/New_York",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "America/Sao_Paulo",
  "Africa/Cairo",
];
const zone = fc.constantFrom(...ZONES);
const moment = fc.date({ min: new Date("1990-01-01"), max: new Date("2040-01-01"), noInvalidDate: true });
const day = fc
  .date({ min: new Date("1990-01-01"), max: new Date("2040-01-01"), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));

const span = (window: (typeof TIME_WINDOWS)[number], now: string, timeZone: string) => {
  const { since, before } = windowSpan(window, new Date(now), timeZone);
  return [since?.toISOString(), before?.toISOString()];
};

/** The calendar day that a clock on the wall of the zone shows. */
const shownDay = (instant: Date, timeZone: string) =>
  new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" }).format(instant);

describe("windowSpan", () => {
  it("means the day of the time zone", () => {
    expect(span("today", "2026-03-01T23:30:00Z", "Europe/Vienna")).toEqual([
      "2026-03-01T23:00:00.000Z",
      "2026-03-02T23:00:00.000Z",
    ]);
    expect(span("yesterday", "2026-03-01T02:00:00Z", "America/New_York")).toEqual([
      "2026-02-27T05:00:00.000Z",
      "2026-02-28T05:00:00.000Z",
    ]);
    expect(span("this_morning", "2026-07-01T15:00:00Z", "Europe/Vienna")).toEqual([
      "2026-06-30T22:00:00.000Z",
      "2026-07-01T10:00:00.000Z",
    ]);
  });

  it("begins the week on Monday", () => {
    expect(span("this_week", "2026-03-01T12:00:00Z", "UTC")).toEqual(["2026-02-23T00:00:00.000Z", undefined]);
    expect(span("this_week", "2026-03-02T00:00:00Z", "UTC")).toEqual(["2026-03-02T00:00:00.000Z", undefined]);
  });

  it("counts back by hours and days", () => {
    expect(span("last_24h", "2026-03-01T12:00:00Z", "Asia/Kathmandu")[0]).toBe("2026-02-28T12:00:00.000Z");
    expect(span("last_7d", "2026-03-08T12:00:00Z", "UTC")[0]).toBe("2026-03-01T12:00:00.000Z");
    expect(span("last_14d", "2026-03-15T12:00:00Z", "UTC")[0]).toBe("2026-03-01T12:00:00.000Z");
  });

  it("makes days of 23 and 25 hours where the clocks change", () => {
    const hours = (now: string) => {
      const { since, before } = windowSpan("today", new Date(now), "Europe/Vienna");
      return ((before?.getTime() ?? 0) - (since?.getTime() ?? 0)) / 3_600_000;
    };
    expect(hours("2026-03-29T12:00:00Z")).toBe(23);
    expect(hours("2026-10-25T12:00:00Z")).toBe(25);
  });

  it("contains now in today, and not in yesterday, in any zone", () => {
    fc.assert(
      fc.property(moment, zone, (now, timeZone) => {
        const today = windowSpan("today", now, timeZone);
        const yesterday = windowSpan("yesterday", now, timeZone);
        expect(today.since?.getTime()).toBeLessThanOrEqual(now.getTime());
        expect(today.before?.getTime()).toBeGreaterThan(now.getTime());
        expect(yesterday.before).toEqual(today.since);
      }),
    );
  });
});

describe("parseInstant", () => {
  it("reads dates, times with and without an offset", () => {
    const read = (text: string, timeZone = "Europe/Vienna") => parseInstant(text, timeZone)?.toISOString();
    expect(read("2026-03-01")).toBe("2026-02-28T23:00:00.000Z");
    expect(read("2026-03-01T12:00")).toBe("2026-03-01T11:00:00.000Z");
    expect(read("2026-03-01T12:00:30.250Z")).toBe("2026-03-01T12:00:30.250Z");
    expect(read("2026-03-01T12:00+05:30")).toBe("2026-03-01T06:30:00.000Z");
    expect(read("2026-03-01 12:00:00 -0330")).toBe("2026-03-01T15:30:00.000Z");
  });

  it.each([
    "",
    "yesterday",
    "2026-02-30",
    "2026-13-01",
    "2026-03-01T25:00",
    "2026-03-01T12:61Z",
    "12/31/2026",
    "2026-03-01T12:00+24:00",
  ])("refuses %j", (text) => {
    expect(parseInstant(text, "UTC")).toBeNull();
  });

  it("takes the instant of the jump for a time that the clocks skip", () => {
    expect(parseInstant("2026-03-29T02:30", "Europe/Vienna")?.toISOString()).toBe("2026-03-29T01:00:00.000Z");
    // Midnight itself is skipped.
    expect(parseInstant("2017-10-15", "America/Sao_Paulo")?.toISOString()).toBe("2017-10-15T03:00:00.000Z");
  });

  it("takes the earlier of two equal clock times", () => {
    expect(parseInstant("2026-10-25T02:30", "Europe/Vienna")?.toISOString()).toBe("2026-10-25T00:30:00.000Z");
  });

  it("starts a day where the zone's calendar turns to it", () => {
    fc.assert(
      fc.property(day, zone, (text, timeZone) => {
        // The day that Samoa left out.
        fc.pre(!(timeZone === "Pacific/Apia" && text === "2011-12-30"));
        const start = parseInstant(text, timeZone);
        if (start === null) throw new Error("not a date");
        expect(shownDay(start, timeZone)).toBe(text);
        expect(shownDay(new Date(start.getTime() - 60_000), timeZone) < text).toBe(true);
      }),
    );
  });

  it("reads back what a Date writes", () => {
    fc.assert(
      fc.property(moment, zone, (instant, timeZone) => {
        expect(parseInstant(instant.toISOString(), timeZone)).toEqual(instant);
      }),
    );
  });
});

it("writes times to the minute, in UTC", () => {
  expect(isoMinute(new Date("2026-03-01T09:05:59.999Z"))).toBe("2026-03-01T09:05Z");
});
