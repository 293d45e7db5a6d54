/** When a new token expires, as `--expires` says it. */

import { UsageError } from "../output/failure.ts";

const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const HINT = "Such as --expires 90d, --expires 2031-01-31 (its first moment, UTC) or --expires 2031-01-31T12:00Z.";

/** A duration from `now`, a day, or a time with its zone. UsageError for anything else, and for what is not in the future. */
export async function expiryOf(text: string, now: Date): Promise<Date> {
  const { parseDuration } = await import("../../runtime/config/index.ts");
  const milliseconds = parseDuration(text);
  const at = milliseconds === null ? dateOf(text) : new Date(now.getTime() + milliseconds);
  if (at === null || Number.isNaN(at.getTime())) throw new UsageError(`"${text}" is no duration and no date.`, HINT);
  if (at <= now) throw new UsageError(`A token that expires at ${at.toISOString()} has expired already.`, HINT);
  return at;
}

/** Null for a day that the calendar does not have, which `Date` takes for one of the next month. */
function dateOf(text: string): Date | null {
  if (!DATE.test(text)) return null;
  const day = new Date(text.slice(0, 10));
  if (Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text.slice(0, 10)) return null;
  return new Date(text);
}
