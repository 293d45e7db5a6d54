import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  backupName,
  backupState,
  nextBackup,
  surplusBackups,
  timeOfBackup,
} from "../../../runtime/domain/backup-schedule.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2030, 0, 31, 2, 3, 4);

/** Whole seconds, as names have them. */
const time = fc.integer({ min: 0, max: 4_000_000_000 }).map((s) => s * 1_000);
const file = time.map((at) => ({ name: backupName(at), at }));
const files = fc.uniqueArray(file, { selector: ({ at }) => at, maxLength: 30 });
const history = fc.record({
  last: fc.option(time),
  failure: fc.option(fc.record({ since: time, at: time, attempts: fc.integer({ min: 1, max: 2 ** 31 }) })),
});

describe("names", () => {
  it("hold the time of the snapshot", () => {
    expect(backupName(NOW)).toBe("cairn-20300131T020304Z.backup");
    fc.assert(fc.property(time, (at) => void expect(timeOfBackup(backupName(at))).toBe(at)));
  });

  it("sort by time", () => {
    fc.assert(fc.property(time, time, (a, b) => void expect(backupName(a) < backupName(b)).toBe(a < b)));
  });

  it.each([
    "",
    "cairn.backup",
    ".cairn-20300131T020304Z.backup.partial",
    "cairn-20301331T020304Z.backup",
    "cairn-20300230T020304Z.backup",
    "../cairn-20300131T020304Z.backup",
    "cairn-20300131T020304Z.backup/",
  ])("are no other texts: %j", (name) => {
    expect(timeOfBackup(name)).toBeNull();
  });
});

describe("the next backup", () => {
  it.each([
    ["the first at once", null, null, NOW],
    ["an interval after the last", NOW - HOUR, null, NOW + 23 * HOUR],
    ["at once where the last is older", NOW - 3 * DAY, null, NOW - 2 * DAY],
    ["at once where the last is dated far ahead: the clock was wrong then", NOW + DAY, null, NOW],
    ["an interval after one that another node's clock dated a little ahead", NOW + MINUTE, null, NOW + MINUTE + DAY],
  ])("is %s", (_what, last, failure, expected) => {
    expect(nextBackup({ last, failure }, DAY, NOW)).toBe(expected);
  });

  it.each([
    [1, MINUTE],
    [2, 2 * MINUTE],
    [4, 8 * MINUTE],
    [7, HOUR],
    [2 ** 31, HOUR],
  ])("after %i failed attempts pauses %i ms", (attempts, pause) => {
    const failure = { since: NOW - DAY, at: NOW, attempts };
    expect(nextBackup({ last: NOW - 2 * DAY, failure }, DAY, NOW) - NOW).toBe(pause);
  });

  it("is never further away than an interval and the clocks' difference, whatever was recorded", () => {
    fc.assert(
      fc.property(history, time, fc.integer({ min: MINUTE, max: 400 * DAY }), (past, now, every) => {
        expect(nextBackup(past, every, now)).toBeLessThanOrEqual(now + every + 5 * MINUTE);
      }),
    );
  });

  it("never follows a failure at once: not before a minute has passed since", () => {
    fc.assert(
      fc.property(time, fc.integer({ min: 1, max: 99 }), fc.option(time), (at, attempts, last) => {
        expect(nextBackup({ last, failure: { since: at, at, attempts } }, DAY, at)).toBeGreaterThanOrEqual(at + MINUTE);
      }),
    );
  });
});

describe("what is deleted", () => {
  it("leaves as many as are to be kept", () => {
    fc.assert(
      fc.property(files, fc.integer({ min: 1, max: 12 }), time, (all, keep, now) => {
        expect(all.length - surplusBackups(all, keep, now).length).toBe(Math.min(all.length, keep));
      }),
    );
  });

  it("is never newer than what stays, by a clock that is right", () => {
    fc.assert(
      fc.property(files, fc.integer({ min: 1, max: 12 }), (all, keep) => {
        const now = Math.max(0, ...all.map(({ at }) => at));
        const gone = new Set(surplusBackups(all, keep, now));
        const stays = all.filter(({ name }) => !gone.has(name)).map(({ at }) => at);
        for (const { at, name } of all) if (gone.has(name)) expect(at).toBeLessThan(Math.min(...stays));
      }),
    );
  });

  it("is never the one that was just taken, however the clock jumped", () => {
    fc.assert(
      fc.property(files, fc.integer({ min: 0, max: 12 }), time, (all, keep, now) => {
        const taken = { name: backupName(now), at: now };
        const rest = all.filter(({ at }) => at < now || at > now + 5 * MINUTE);
        expect(surplusBackups([...rest, taken], keep, now)).not.toContain(taken.name);
      }),
    );
  });
});

it.each([
  ["empty", { last: null, failure: null, empty: true }],
  ["waiting", { last: null, failure: null, empty: false }],
  ["good", { last: NOW - 2 * DAY, failure: null, empty: false }],
  ["late", { last: NOW - 2 * DAY - 1, failure: null, empty: false }],
  ["waiting", { last: NOW + DAY, failure: null, empty: false }],
  ["failing", { last: NOW, failure: { since: NOW, at: NOW, attempts: 1 }, empty: false }],
] as const)("is %s", (state, facts) => {
  expect(backupState({ ...facts, everyMs: DAY }, NOW)).toBe(state);
});
