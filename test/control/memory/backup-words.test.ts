import { expect, it } from "vitest";
import { ageMs, nextWords } from "../../../control/memory/backup-words.ts";
import type { BackupStatus } from "../../../runtime/client/index.ts";

const NOW = "2030-01-31T12:00:00.000Z";
const LAST = { name: "a.backup", created_at: "2030-01-31T10:00:00.000Z", bytes: 1, node: "one" };
const GOOD: BackupStatus = {
  state: "good",
  every_s: 86_400,
  keep: 7,
  now: NOW,
  next_at: "2030-02-01T10:00:00.000Z",
  last: LAST,
  failure: null,
};

it("ages are by the clock of the node, whatever this machine's says", () => {
  expect(ageMs(LAST.created_at, GOOD)).toBe(2 * 3_600_000);
});

it.each<[string, Partial<BackupStatus>, string | null]>([
  ["the next", {}, "The next one is due in 22 h; one is taken every 1 d."],
  [
    "the first",
    { state: "waiting", last: null, next_at: NOW },
    "The first one is due now, and is taken within two minutes; one is taken every 1 d.",
  ],
  [
    "one that is late",
    { state: "late", next_at: LAST.created_at },
    "The next one is due now, and is taken within two minutes; one is taken every 1 d.",
  ],
  [
    "none before there are messages",
    { state: "empty", last: null, next_at: null },
    "The first one is taken soon after the first message.",
  ],
  [
    "none where they are off",
    { state: "off", next_at: null },
    "Scheduled backups are switched off (memory.backup.enabled).",
  ],
])("says when %s comes", (_which, parts, words) => {
  expect(nextWords({ ...GOOD, ...parts })).toBe(words);
});

it("says nothing of a node that is too old to tell", () => {
  const { now: _now, next_at: _next, ...older } = GOOD;
  expect(nextWords(older as BackupStatus)).toBeNull(); // As it comes over the wire.
});
