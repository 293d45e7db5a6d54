/** Spans of time as people name them, in the time zone that the operator lives in. */

export const TIME_WINDOWS = [
  "today",
  "yesterday",
  "this_morning",
  "this_week",
  "last_24h",
  "last_7d",
  "last_14d",
] as const;
export type TimeWindow = (typeof TIME_WINDOWS)[number];

/** From `since`, inclusive, to `before`, exclusive; an absent end is open. */
export interface TimeSpan {
  readonly since?: Date;
  readonly before?: Date;
}

interface CalendarDay {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/** The span that the window names at the moment `now`. Weeks begin on Monday, mornings last from midnight to noon. */
export function windowSpan(window: TimeWindow, now: Date, timeZone: string): TimeSpan {
  const today = dayOf(now, timeZone);
  switch (window) {
    case "today":
      return { since: startOfDay(today, timeZone), before: startOfDay(addDays(today, 1), timeZone) };
    case "yesterday":
      return { since: startOfDay(addDays(today, -1), timeZone), before: startOfDay(today, timeZone) };
    case "this_morning":
      return { since: startOfDay(today, timeZone), before: instantOf(today, 12 * HOUR_MS, timeZone) };
    case "this_week":
      return { since: startOfDay(addDays(today, -daysSinceMonday(today)), timeZone) };
    case "last_24h":
      return { since: new Date(now.getTime() - DAY_MS) };
    case "last_7d":
      return { since: new Date(now.getTime() - 7 * DAY_MS) };
    case "last_14d":
      return { since: new Date(now.getTime() - 14 * DAY_MS) };
  }
}

/**
 * The instant of an ISO 8601 date or date-time; null when the text is neither. A date means the start of that day, and a
 * time without an offset means the clock on the wall, both in `timeZone`.
 */
export function parseInstant(text: string, timeZone: string): Date | null {
  const match = ISO.exec(text.trim());
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, offset] = match;
  const date: CalendarDay = { year: Number(year), month: Number(month), day: Number(day) };
  if (!isRealDay(date)) return null;
  if (hour === undefined) return startOfDay(date, timeZone);
  const clock = { hour: Number(hour), minute: Number(minute), second: Number(second ?? 0) };
  if (clock.hour > 23 || clock.minute > 59 || clock.second > 59) return null;
  const sinceMidnight =
    clock.hour * HOUR_MS +
    clock.minute * 60_000 +
    clock.second * 1_000 +
    (fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * 1_000));
  if (offset === undefined) return instantOf(date, sinceMidnight, timeZone);
  const shift = offsetMs(offset);
  return shift === null ? null : new Date(utcOf(date) + sinceMidnight - shift);
}

/** The instant as ISO 8601 to the minute, in UTC: `2026-03-01T09:05Z`. */
export function isoMinute(instant: Date): string {
  return `${instant.toISOString().slice(0, 16)}Z`;
}

function startOfDay(day: CalendarDay, timeZone: string): Date {
  return instantOf(day, 0, timeZone);
}

/**
 * The first instant at which the wall clock shows the given time of the day. Where the clock skips that time, the instant
 * of the skip; where it shows it twice, the earlier one.
 */
function instantOf(day: CalendarDay, sinceMidnight: number, timeZone: string): Date {
  const wall = utcOf(day) + sinceMidnight;
  const before = zoneOffset(wall - DAY_MS, timeZone);
  const after = zoneOffset(wall + DAY_MS, timeZone);
  const candidates = [wall - before, wall - after].filter(
    (instant) => instant + zoneOffset(instant, timeZone) === wall,
  );
  if (candidates.length > 0) return new Date(Math.min(...candidates));
  // The clock skips it: find the minute at which the offset changes.
  let low = Math.floor((wall - DAY_MS) / 60_000);
  let high = Math.ceil((wall + DAY_MS) / 60_000);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zoneOffset(middle * 60_000, timeZone) === before) low = middle;
    else high = middle;
  }
  return new Date(high * 60_000);
}

/** `2030-01-31 12:00 Europe/Berlin`: as lists of sessions and hits have it, with the zone, for they are in UTC. */
export function timeWords(instant: Date, timeZone: string): string {
  return `${instant.toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" })} ${timeZone}`;
}

/** What the zone's clock shows at the instant minus UTC, in milliseconds. */
function zoneOffset(instant: number, timeZone: string): number {
  const whole = Math.floor(instant / 1_000) * 1_000;
  const parts = wallClock(whole, timeZone);
  const shown = utcOf(parts) + parts.hour * HOUR_MS + parts.minute * 60_000 + parts.second * 1_000;
  return shown - whole;
}

function dayOf(instant: Date, timeZone: string): CalendarDay {
  return wallClock(instant.getTime(), timeZone);
}

function wallClock(instant: number, timeZone: string): CalendarDay & { hour: number; minute: number; second: number } {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    era: "short",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const shown = new Map(format.formatToParts(instant).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(shown.get(type));
  return {
    year: shown.get("era")?.startsWith("B") ? 1 - part("year") : part("year"),
    month: part("month"),
    day: part("day"),
    hour: part("hour"),
    minute: part("minute"),
    second: part("second"),
  };
}

function utcOf({ year, month, day }: CalendarDay): number {
  // setUTCFullYear, because Date.UTC takes the years 0 to 99 for those of the 20th century.
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

function addDays(day: CalendarDay, days: number): CalendarDay {
  const date = new Date(utcOf(day) + days * DAY_MS);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

function daysSinceMonday(day: CalendarDay): number {
  return (new Date(utcOf(day)).getUTCDay() + 6) % 7;
}

function isRealDay(day: CalendarDay): boolean {
  const real = addDays(day, 0);
  return real.year === day.year && real.month === day.month && real.day === day.day;
}

function offsetMs(text: string): number | null {
  if (text.toUpperCase() === "Z") return 0;
  const digits = text.slice(1).replace(":", "");
  const hours = Number(digits.slice(0, 2));
  const minutes = Number(digits.slice(2) || 0);
  if (hours > 18 || minutes > 59) return null;
  return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
