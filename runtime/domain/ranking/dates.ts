/** The time that a query names, and how near to it a row was written. Pure; days and months are those of UTC. */

export interface AskedTime {
  /** Milliseconds since 1970, `until` exclusive. */
  readonly from: number;
  readonly until: number;
  /** Weight of its precision: a day 1, a month a half, a year a fifth. */
  readonly precision: number;
}

const DAY_MS = 86_400_000;
/** People report an event in the days after it. */
const MENTIONED_WITHIN_DAYS = 7;
const FADES_DAYS = 7;
const PRECISION = { day: 1, month: 0.5, year: 0.2 } as const;
const MONTHS = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
] as const;
const MONTH =
  "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "((?:19|20)\\d\\d)";
const ISO = /\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b/g;
/** `7 May 2023`, `7th of May`. */
const DAY_MONTH = new RegExp(`\\b${DAY}(?:\\s+of)?\\s+${MONTH}\\b\\.?(?:,?\\s+${YEAR}\\b)?`, "gi");
/** `May 7, 2023`, `May 7`, `May 2023`, `in May`, `June`. */
const MONTH_DAY = new RegExp(
  `(\\b(?:in|of|during|since|until|by|before|after|early|mid|late)\\s+)?\\b${MONTH}\\b\\.?(?:\\s+${DAY}\\b(?!\\d))?(?:,?\\s+${YEAR}\\b)?`,
  "gi",
);
const BARE_YEAR = new RegExp(`\\b(?:in|of|during|since|year)\\s+${YEAR}\\b`, "gi");
const RELATIVE: readonly { readonly words: RegExp; readonly daysAgo: number; readonly days: number }[] = [
  { words: /\btoday\b|\bthis (?:morning|afternoon|evening)\b|\btonight\b/i, daysAgo: 0, days: 1 },
  { words: /\byesterday\b|\blast night\b/i, daysAgo: 1, days: 1 },
  { words: /\blast week\b|\bpast week\b/i, daysAgo: 7, days: 7 },
  { words: /\blast month\b|\bpast month\b/i, daysAgo: 30, days: 30 },
];

/** At most a handful, in no particular order; empty when the query names no time. */
export function timesIn(query: string, now: Date): AskedTime[] {
  const times: AskedTime[] = [];
  let rest = query;
  const take = (
    pattern: RegExp,
    read: (groups: readonly (string | undefined)[]) => AskedTime | readonly AskedTime[] | null,
  ) => {
    rest = rest.replace(pattern, (...given: unknown[]) => {
      // After the groups come the place and the whole text.
      const groups = given.slice(0, -2).map((group) => (typeof group === "string" ? group : undefined));
      const found = read(groups);
      if (found === null) return groups[0] ?? "";
      times.push(...[found].flat());
      return " ";
    });
  };
  take(ISO, ([, year, month, day]) => span(Number(month) - 1, day, year, now));
  take(DAY_MONTH, ([, day, month, year]) => span(monthOf(month), day, year, now));
  take(MONTH_DAY, ([, before, month, day, year]) =>
    isMonth(month ?? "", before ?? day ?? year) ? span(monthOf(month), day, year, now) : null,
  );
  take(BARE_YEAR, ([, year]) => between(Date.UTC(Number(year), 0), Date.UTC(Number(year) + 1, 0), PRECISION.year));
  for (const { words, daysAgo, days } of RELATIVE) {
    if (!words.test(rest)) continue;
    const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
    const from = today - daysAgo * DAY_MS;
    times.push(between(from, from + days * DAY_MS, days === 1 ? PRECISION.day : PRECISION.month));
  }
  return times;
}

/** 0 to 1: the highest of the times' precisions, fading with the days that lie between. */
export function nearness(happenedAt: Date, times: readonly AskedTime[]): number {
  const at = happenedAt.getTime();
  let best = 0;
  for (const { from, until, precision } of times) {
    const mentionedUntil = until + MENTIONED_WITHIN_DAYS * DAY_MS * precision;
    const days = Math.max(0, from - at, at - mentionedUntil) / DAY_MS;
    best = Math.max(best, precision * Math.exp(-days / FADES_DAYS));
  }
  return Number.isFinite(best) ? best : 0;
}

/** `may` and `march` and some short forms are other words, too, unless something makes a date of them. */
function isMonth(month: string, qualifier: string | undefined): boolean {
  if (!/^\p{Lu}/u.test(month)) return false;
  return qualifier !== undefined || !/^(?:may|march|mar|jan|dec|jun|sept?)$/i.test(month);
}

function monthOf(name: string | undefined): number {
  return MONTHS.findIndex((month) => month.startsWith((name ?? "").toLowerCase().slice(0, 3)));
}

/** Without a year the same days of this year and of those before it. */
const YEARS_BACK = 5;

function span(month: number, day: string | undefined, year: string | undefined, now: Date): AskedTime[] | null {
  if (month < 0 || month > 11) return null;
  const last = year === undefined ? now.getUTCFullYear() : Number(year);
  const years = Array.from({ length: year === undefined ? YEARS_BACK + 1 : 1 }, (_, n) => last - n);
  return years.flatMap((one) => spanOf(one, month, day) ?? []);
}

function spanOf(year: number, month: number, day: string | undefined): AskedTime | null {
  if (day === undefined) return between(Date.UTC(year, month), Date.UTC(year, month + 1), PRECISION.month);
  if (Number(day) < 1 || Number(day) > 31) return null;
  const from = Date.UTC(year, month, Number(day));
  return between(from, from + DAY_MS, PRECISION.day);
}

function between(from: number, until: number, precision: number): AskedTime {
  return { from, until, precision };
}
