/** Which lines of the log are wanted: decided from the line alone. */

import { UsageError } from "../output/failure.ts";

export const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
export type LevelName = keyof typeof LEVELS;

export interface LogFilter {
  readonly level?: LevelName | undefined;
  readonly agent?: string | undefined;
  readonly grep?: RegExp | undefined;
  readonly since?: Date | undefined;
}

/** `fields` is null for a line that is no JSON object, such as one that a crash cut off. */
export interface LogLine {
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>> | null;
}

export function parseLine(text: string): LogLine {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { text, fields: { ...value } };
  } catch {
    // Shown as it is.
  }
  return { text, fields: null };
}

/** A line without fields has no level and no agent, and passes only where neither is asked for. */
export function isWanted(line: LogLine, filter: LogFilter): boolean {
  if (line.text.trim() === "") return false;
  if (filter.grep && !filter.grep.test(line.text)) return false;
  if (filter.level && !(levelOf(line) >= LEVELS[filter.level])) return false;
  if (filter.agent !== undefined && line.fields?.["agent"] !== filter.agent) return false;
  return !isBefore(line, filter.since);
}

/** False for a line without a time. */
export function isBefore(line: LogLine, since: Date | undefined): boolean {
  if (since === undefined) return false;
  const time = line.fields?.["time"];
  const at = typeof time === "number" ? time : typeof time === "string" ? Date.parse(time) : Number.NaN;
  return at < since.getTime();
}

/** Seconds of a length of time such as `15m`, at least 1; null for what is none. */
export function parseAgo(text: string): number | null {
  const back = /^(\d+)\s*(s|m|h|d|w)$/.exec(text.trim());
  return back === null ? null : Math.max(1, (Number(back[1]) * (UNITS_MS[back[2] ?? ""] ?? 0)) / 1000);
}

/** `30s`, `15m`, `2h`, `7d` back from now, or an ISO 8601 date or time; UTC where none is said. UsageError otherwise. */
export function parseSince(text: string, now: Date): Date {
  const ago = parseAgo(text);
  if (ago !== null) return new Date(now.getTime() - ago * 1000);
  const iso = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/.exec(text.trim());
  const hasTime = text.includes(":");
  const at = iso
    ? Date.parse(hasTime && iso[1] === undefined ? `${text.trim().replace(" ", "T")}Z` : text.trim())
    : Number.NaN;
  if (Number.isNaN(at)) {
    throw new UsageError(`--since ${text} is no time.`, "Use 30s, 15m, 2h, 7d, or a date such as 2030-01-31T12:00.");
  }
  return new Date(at);
}

/** A regular expression, without regard to case. UsageError when it is none. */
export function parseGrep(text: string): RegExp {
  try {
    return new RegExp(text, "iu");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `--grep is no regular expression: ${reason}.`,
      "Put a backslash before ( ) [ ] { } + * ? . ^ $ |.",
    );
  }
}

const UNITS_MS: { readonly [unit: string]: number } = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

function levelOf({ fields }: LogLine): number {
  const level = fields?.["level"];
  if (typeof level === "number") return level;
  return typeof level === "string" ? (({ ...LEVELS } as Record<string, number>)[level] ?? Number.NaN) : Number.NaN;
}
