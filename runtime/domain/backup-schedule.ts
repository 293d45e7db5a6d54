/** When a scheduled backup is due, what it is called, and which older ones it replaces. Times are milliseconds since 1970. */

import type { BackupState } from "../contracts/backups.ts";
import { isAhead } from "./clock-skew.ts";

export interface BackupFile {
  readonly name: string;
  /** Of its snapshot, by the clock of the node that took it. */
  readonly at: number;
}

/** Attempts that failed since the last one that did not. */
export interface BackupFailure {
  /** Of the first of them. */
  readonly since: number;
  /** Of the last one. */
  readonly at: number;
  readonly attempts: number;
}

export interface BackupHistory {
  /** Null where there is none yet. */
  readonly last: number | null;
  readonly failure: BackupFailure | null;
}

const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 3_600_000;

const NAME = /^cairn-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z\.backup$/;

/** Sorts by time, and holds in a file name everywhere. */
export function backupName(at: number): string {
  const text = new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
  return `cairn-${text.replace(/[-:]/g, "")}.backup`;
}

/** Null for any other name. */
export function timeOfBackup(name: string): number | null {
  const [, year, month, day, hour, minute, second] = NAME.exec(name) ?? [];
  if (year === undefined) return null;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) || backupName(at) !== name ? null : at;
}

/** When the next attempt is due; a time that has passed means now. After a failure the pause doubles, up to an hour or the interval. */
export function nextBackup({ last, failure }: BackupHistory, everyMs: number, now: number): number {
  const due = last === null || isAhead(last, now) ? now : last + everyMs;
  if (failure === null || isAhead(failure.at, now)) return due;
  const longest = Math.min(LONGEST_RETRY_MS, everyMs);
  const pause = Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(failure.attempts - 1, 30));
  return Math.max(due, failure.at + pause);
}

/**
 * Names of those beyond the newest `keep`, which is at least 1. One that is dated ahead of the clock was taken before now all the
 * same: it goes first.
 */
export function surplusBackups(files: readonly BackupFile[], keep: number, now: number): readonly string[] {
  const age = ({ at }: BackupFile): number => (isAhead(at, now) ? Number.POSITIVE_INFINITY : now - at);
  return files
    .toSorted((a, b) => compare(age(a), age(b)) || compare(b.at, a.at) || (a.name < b.name ? -1 : 1))
    .slice(Math.max(keep, 1))
    .map(({ name }) => name);
}

export interface BackupFacts extends BackupHistory {
  readonly everyMs: number;
  /** There is nothing to back up. */
  readonly empty: boolean;
}

export function backupState({ last, failure, everyMs, empty }: BackupFacts, now: number): BackupState {
  if (failure !== null) return "failing";
  if (last === null || isAhead(last, now)) return empty ? "empty" : "waiting";
  return now - last > 2 * everyMs ? "late" : "good";
}

/** Without a difference of infinities. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
