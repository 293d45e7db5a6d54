/**
 * When a schedule runs: cron expressions over the clock of a time zone. Where daylight saving skips a time the run comes at the
 * skip, and a time that the clock shows twice counts once, the first time. A schedule of every hour goes on through both: in the
 * repeated hour it runs again. cron-parser does the calendar; given a zone it would run twice, or not at all.
 */

import { type CronExpression, CronExpressionParser } from "cron-parser";
import { createZoneClock, offsetChange, type ZoneClock } from "./zone-clock.ts";

/** Times are milliseconds of the epoch. */
export interface SchedulePlan {
  /** The first planned time after the given one. */
  next(after: number): number;
  /** The last planned time after the first given time and not after the second; null: there is none. */
  latest(after: number, now: number): number | null;
}

const DAY_MS = 86_400_000;
const HOURS = 24;

/** Throws for an expression that is none, or that names no day of any year. */
export function planOf(cron: string, timezone: string): SchedulePlan {
  const clock = createZoneClock(timezone);
  const walls = wallTimes(cron);
  walls.after(0);
  return walls.everyHour ? everyHour(clock, walls) : onceEach(clock, walls);
}

/** Whether it is an expression of five fields that comes true. `H`, which cron-parser knows, is another time at each reading. */
export function isCron(cron: string): boolean {
  if (cron.trim().split(/\s+/).length !== 5 || /\bH\b/i.test(cron)) return false;
  try {
    planOf(cron, "UTC");
    return true;
  } catch {
    return false;
  }
}

/** The times that an expression names, as if all clocks showed UTC. */
interface WallTimes {
  readonly everyHour: boolean;
  after(wall: number): number;
  /** Not after the given one. */
  upTo(wall: number): number;
}

function wallTimes(cron: string): WallTimes {
  const expression: CronExpression = CronExpressionParser.parse(cron, { tz: "UTC" });
  return {
    everyHour: expression.fields.hour.values.length === HOURS,
    after(wall) {
      expression.reset(new Date(wall));
      return expression.next().getTime();
    },
    upTo(wall) {
      expression.reset(new Date(wall + 1));
      return expression.prev().getTime();
    },
  };
}

function onceEach(clock: ZoneClock, walls: WallTimes): SchedulePlan {
  return {
    next(after) {
      for (let wall = walls.after(after + clock.offset(after)); ; wall = walls.after(wall)) {
        const instant = clock.instantOf(wall);
        if (instant > after) return instant;
      }
    },
    latest(after, now) {
      // In a repeated hour the clock shows less than it has shown before.
      const repeated = Math.max(0, clock.offset(now - DAY_MS) - clock.offset(now));
      for (let wall = walls.upTo(now + clock.offset(now) + repeated); ; wall = walls.upTo(wall - 1)) {
        const instant = clock.instantOf(wall);
        if (instant <= now) return instant > after ? instant : null;
      }
    },
  };
}

function everyHour(clock: ZoneClock, walls: WallTimes): SchedulePlan {
  return {
    next(after) {
      for (let from = after, offset = clock.offset(after); ; ) {
        const instant = walls.after(from + offset) - offset;
        if (clock.offset(instant) === offset) return instant;
        const change = offsetChange(clock, after, instant);
        from = change - 1;
        offset = clock.offset(change);
      }
    },
    latest(after, now) {
      for (let to = now, offset = clock.offset(now); ; ) {
        const instant = walls.upTo(to + offset) - offset;
        if (clock.offset(instant) === offset) return instant > after ? instant : null;
        to = offsetChange(clock, instant, now) - 1;
        offset = clock.offset(to);
      }
    },
  };
}
