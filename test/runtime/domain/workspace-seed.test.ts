import { expect, test } from "vitest";
import { decideSeed, type SeedRecord, type SeedTarget } from "../../../runtime/domain/workspace-seed.ts";

const file = (hash: string): SeedTarget => ({ kind: "file", hash });
const done = (placed: string): SeedRecord => ({ placed, pending: null });

test.each<[string, string, SeedTarget, SeedRecord | undefined, object]>([
  [
    "a new file arrives",
    "v1",
    { kind: "missing" },
    undefined,
    { action: "place", record: { placed: null, pending: "v1" } },
  ],
  [
    "the operator's newer version arrives",
    "v2",
    file("v1"),
    done("v1"),
    { action: "place", record: { placed: "v1", pending: "v2" } },
  ],
  ["the same version is left", "v1", file("v1"), done("v1"), { action: "note" }],
  ["a version that came another way is noted", "v2", file("v2"), done("v1"), { action: "note" }],
  ["an agent's change stays, quietly", "v1", file("mine"), done("v1"), { action: "keep", conflict: false }],
  [
    "an agent's change stays when the operator has another, and is told",
    "v2",
    file("mine"),
    done("v1"),
    { action: "keep", conflict: true },
  ],
  [
    "a file that was there before stays, and is told",
    "v1",
    file("mine"),
    undefined,
    { action: "keep", conflict: true },
  ],
  ["a deleted file stays deleted", "v1", { kind: "missing" }, done("v1"), { action: "keep", conflict: false }],
  [
    "a deleted file comes back when there is a newer one",
    "v2",
    { kind: "missing" },
    done("v1"),
    { action: "place", record: { placed: "v1", pending: "v2" } },
  ],
  [
    "a start that was cut off before it placed a file is finished",
    "v1",
    { kind: "missing" },
    { placed: null, pending: "v1" },
    { action: "place", record: { placed: null, pending: "v1" } },
  ],
  [
    "a version of a start that was cut off is the operator's",
    "v3",
    file("v2"),
    { placed: "v1", pending: "v2" },
    { action: "place", record: { placed: "v2", pending: "v3" } },
  ],
  [
    "so is the one before it",
    "v3",
    file("v1"),
    { placed: "v1", pending: "v2" },
    { action: "place", record: { placed: "v1", pending: "v3" } },
  ],
  [
    "one that was about to be replaced is finished, too, when the operator goes back",
    "v1",
    { kind: "missing" },
    { placed: "v1", pending: "v2" },
    { action: "place", record: { placed: "v1", pending: "v1" } },
  ],
  ["a link or a folder is not touched", "v2", { kind: "other" }, done("v1"), { action: "keep", conflict: true }],
])("%s", (_what, seed, present, record, decision) => {
  expect(decideSeed(seed, present, record)).toEqual(decision);
});
