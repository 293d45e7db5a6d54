/** What an agent may use in a day and in a month, and how much of it is used. Periods are those of a time zone. Pure. */

import { LIMITS, type LimitName, type LimitUse } from "../contracts/health-report.ts";
import { endOfDay, endOfMonth } from "./time-window.ts";

export interface Budget {
  readonly limits: Readonly<Partial<Record<LimitName, number>>>;
  /** `stop`: calls of models are refused; `warn`: they go on, with a notice. */
  readonly onLimit: "stop" | "warn";
}

export interface Spent {
  readonly tokens: number;
  readonly usd: number;
}

/** Of the day that is given with it, and of its month up to it. */
export interface Spending {
  readonly day: Spent;
  readonly month: Spent;
}

/** From here on a limit is near. */
export const NEAR = 0.8;

/** `day` is a date of the time zone, YYYY-MM-DD. */
export function limitUses({ limits }: Budget, spending: Spending, day: string, timeZone: string): readonly LimitUse[] {
  return LIMITS.flatMap((limit) => {
    const max = limits[limit];
    if (max === undefined) return [];
    const daily = limit.startsWith("daily_");
    const { tokens, usd } = daily ? spending.day : spending.month;
    const end = daily ? endOfDay(day, timeZone) : endOfMonth(day, timeZone);
    const used = limit.endsWith("_usd") ? usd : tokens;
    // A limit of 0 is reached from the beginning.
    return [{ limit, used, max, share: max === 0 ? 1 : used / max, resets_at: end.toISOString() }];
  });
}

/** Of the limits that are reached the one that lasts the longest; null where none is. */
export function reachedLimit(uses: readonly LimitUse[]): LimitUse | null {
  const reached = uses.filter(({ share }) => share >= 1);
  return reached.toSorted((a, b) => b.resets_at.localeCompare(a.resets_at))[0] ?? null;
}

export function addSpending(spending: Spending, { tokens, usd }: Spent): Spending {
  const add = (spent: Spent): Spent => ({ tokens: spent.tokens + tokens, usd: spent.usd + usd });
  return { day: add(spending.day), month: add(spending.month) };
}

/** `12,000 of 10,000 tokens a day`. */
export function limitWords({ limit, used, max }: LimitUse): string {
  const [period, unit] = limit.split("_");
  const amount = (value: number) =>
    unit === "usd" ? String(Math.round(value * 100) / 100) : value.toLocaleString("en-US");
  return `${amount(used)} of ${amount(max)} ${unit === "usd" ? "USD" : "tokens"} a ${period === "daily" ? "day" : "month"}`;
}
