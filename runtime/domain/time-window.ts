/** Spans of time as people name them, in the time zone that the operator lives in. */

import { type CalendarDay, createZoneClock, utcOf } from "./zone-clock.ts";

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

/** The date on the wall at the instant, YYYY-MM-DD. */
export function isoDay(instant: Date, timeZone: string): string {
  return new Date(utcOf(dayOf(instant, timeZone))).toISOString().slice(0, 10);
}

/** When the day, YYYY-MM-DD, is over: after 23, 24 or 25 hours. */
export function endOfDay(day: string, timeZone: string): Date {
  return startOfDay(addDays(calendarDay(day), 1), timeZone);
}

/** When the month that has the day is over. */
export function endOfMonth(day: string, timeZone: string): Date {
  const { year, month } = calendarDay(day);
  // The thirteenth month is January of the next year.
  return startOfDay({ year, month: month + 1, day: 1 }, timeZone);
}

function calendarDay(day: string): CalendarDay {
  const date = new Date(`${day}T00:00:00Z`);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

function startOfDay(day: CalendarDay, timeZone: string): Date {
  return instantOf(day, 0, timeZone);
}

/** The first instant at which the wall clock shows the given time of the day. */
function instantOf(day: CalendarDay, sinceMidnight: number, timeZone: string): Date {
  return new Date(createZoneClock(timeZone).instantOf(utcOf(day) + sinceMidnight));
}

/** `2030-01-31 12:00 Europe/Berlin`: as lists of sessions and hits have it, with the zone, for they are in UTC. */
export function timeWords(instant: Date, timeZone: string): string {
  return `${instant.toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" })} ${timeZone}`;
}

function dayOf(instant: Date, timeZone: string): CalendarDay {
  return createZoneClock(timeZone).at(instant.getTime());
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
