/** Days and months of a zone, and which limit of a budget is reached. */

import { describe, expect, it } from "vitest";
import { addSpending, limitUses, limitWords, reachedLimit } from "../../../runtime/domain/budget.ts";
import { endOfDay, endOfMonth, isoDay } from "../../../runtime/domain/time-window.ts";

const HOUR_MS = 3_600_000;

describe("the days of a zone", () => {
  it.each([
    ["2026-03-28T22:59:59Z", "Europe/Berlin", "2026-03-28"],
    ["2026-03-28T23:00:00Z", "Europe/Berlin", "2026-03-29"],
    ["2026-03-29T21:59:59Z", "Europe/Berlin", "2026-03-29"],
    ["2026-03-29T22:00:00Z", "Europe/Berlin", "2026-03-30"],
    ["2026-01-31T23:30:00Z", "Asia/Kathmandu", "2026-02-01"],
    ["2026-01-01T02:00:00Z", "America/New_York", "2025-12-31"],
    ["2026-01-31T23:59:59Z", "UTC", "2026-01-31"],
  ])("%s is in %s the day %s", (instant, zone, day) => {
    expect(isoDay(new Date(instant), zone)).toBe(day);
  });

  it.each([
    ["2026-03-28", 24],
    ["2026-03-29", 23],
    ["2026-10-25", 25],
    ["2026-10-26", 24],
  ])("%s has in Berlin %i hours", (day, hours) => {
    const before = new Date(`${day}T00:00:00Z`).getTime() - 24 * HOUR_MS;
    const yesterday = new Date(before).toISOString().slice(0, 10);
    const start = endOfDay(yesterday, "Europe/Berlin").getTime();
    expect(endOfDay(day, "Europe/Berlin").getTime() - start).toBe(hours * HOUR_MS);
  });

  it.each([
    ["2026-01-31", "UTC", "2026-02-01T00:00:00.000Z"],
    ["2026-02-28", "UTC", "2026-03-01T00:00:00.000Z"],
    ["2028-02-29", "UTC", "2028-03-01T00:00:00.000Z"],
    ["2026-12-31", "Europe/Berlin", "2026-12-31T23:00:00.000Z"],
    ["2026-03-05", "Europe/Berlin", "2026-03-31T22:00:00.000Z"],
    ["2026-10-01", "Europe/Berlin", "2026-10-31T23:00:00.000Z"],
  ])("the month of %s ends in %s at %s", (day, zone, end) => {
    expect(endOfMonth(day, zone).toISOString()).toBe(end);
  });
});

describe("a budget", () => {
  const spending = { day: { tokens: 900, usd: 0.5 }, month: { tokens: 5_000, usd: 9 } };
  const uses = (limits: Parameters<typeof limitUses>[0]["limits"], spent = spending) =>
    limitUses({ limits, onLimit: "stop" }, spent, "2026-01-30", "UTC");

  it("sets each limit against what was used in its period, and says when that ends", () => {
    expect(uses({ daily_tokens: 1_000, monthly_usd: 10 })).toEqual([
      { limit: "daily_tokens", used: 900, max: 1_000, share: 0.9, resets_at: "2026-01-31T00:00:00.000Z" },
      { limit: "monthly_usd", used: 9, max: 10, share: 0.9, resets_at: "2026-02-01T00:00:00.000Z" },
    ]);
    expect(reachedLimit(uses({ daily_tokens: 1_000, monthly_usd: 10 }))).toBeNull();
  });

  it("is reached with the last token, and by the limit that lasts the longest", () => {
    const spent = addSpending(spending, { tokens: 100, usd: 1 });
    expect(reachedLimit(uses({ daily_tokens: 1_000 }, spent))?.limit).toBe("daily_tokens");
    expect(reachedLimit(uses({ daily_tokens: 1_001 }, spent))).toBeNull();
    expect(reachedLimit(uses({ daily_tokens: 1_000, monthly_usd: 10, daily_usd: 1 }, spent))?.limit).toBe(
      "monthly_usd",
    );
  });

  it("of nothing allows nothing", () => {
    const none = { day: { tokens: 0, usd: 0 }, month: { tokens: 0, usd: 0 } };
    expect(reachedLimit(uses({ daily_usd: 0 }, none))).toMatchObject({ limit: "daily_usd", share: 1 });
  });

  it("is said in words", () => {
    expect(uses({ daily_tokens: 1_000, monthly_usd: 10 }).map(limitWords)).toEqual([
      "900 of 1,000 tokens a day",
      "9 of 10 USD a month",
    ]);
  });
});
