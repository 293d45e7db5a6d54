/** What the clocks of a time zone show, and when they show it. Pure: the zone's rules are those of the runtime's ICU data. */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

export interface CalendarDay {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
}

export interface WallClock extends CalendarDay {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** Instants are milliseconds of the epoch; a wall time is what the clock shows, as if that were UTC. */
export interface ZoneClock {
  /** What the clock shows at the instant. */
  at(instant: number): WallClock;
  /** What it shows minus UTC, in milliseconds. */
  offset(instant: number): number;
  /** The first instant at which it shows the wall time; where it skips that, the instant of the skip. */
  instantOf(wall: number): number;
}

export function createZoneClock(timeZone: string): ZoneClock {
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

  function at(instant: number): WallClock {
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

  function offset(instant: number): number {
    const whole = Math.floor(instant / 1_000) * 1_000;
    const shown = at(whole);
    return utcOf(shown) + shown.hour * HOUR_MS + shown.minute * MINUTE_MS + shown.second * 1_000 - whole;
  }

  return {
    at,
    offset,
    instantOf(wall) {
      const [low, high] = [wall - DAY_MS, wall + DAY_MS];
      const candidates = [wall - offset(low), wall - offset(high)].filter(
        (instant) => instant + offset(instant) === wall,
      );
      if (candidates.length > 0) return Math.min(...candidates);
      return offsetChange({ offset }, low, high);
    },
  };
}

/** The first instant after `low` with another offset than there, to the minute. At `high` it must be another one. */
export function offsetChange(clock: Pick<ZoneClock, "offset">, low: number, high: number): number {
  const before = clock.offset(low);
  let [from, to] = [Math.floor(low / MINUTE_MS), Math.ceil(high / MINUTE_MS)];
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    if (clock.offset(middle * MINUTE_MS) === before) from = middle;
    else to = middle;
  }
  return to * MINUTE_MS;
}

/** The midnight that begins the day in UTC. */
export function utcOf({ year, month, day }: CalendarDay): number {
  // setUTCFullYear, because Date.UTC takes the years 0 to 99 for those of the 20th century.
  return new Date(0).setUTCFullYear(year, month - 1, day);
}
