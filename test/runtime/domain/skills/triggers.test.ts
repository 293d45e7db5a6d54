import { expect, it } from "vitest";
import { triggeredBy } from "../../../../runtime/domain/skills/triggers.ts";

const isTriggered = (message: string, ...triggers: string[]) => triggeredBy(message, [{ triggers }]).length === 1;

it.each([
  ["Cut a release, please", "cut a release"],
  ["RELEASE!", "release"],
  ["cut   a\n\trelease", "cut a release"],
  ["(release)", "release"],
  ["schöne STRASSENBAHN", "Straßenbahn".toLowerCase().replace("ß", "ss")],
  ["e\u0301cole", "\u00e9cole"],
  ["written in c++", "c++"],
  ["use .NET here", ".net"],
  ["prereleases and a release", "release"],
  ["v2_final: ship-it now", "ship-it"],
  ["x.NET and .net", ".net"],
  ["\u{1d44e}b \u{1d44e}", "\u{1d44e}"],
])("%j calls for %j", (message, trigger) => {
  expect(isTriggered(message, trigger)).toBe(true);
});

it.each([
  ["released", "release"],
  ["prerelease", "release"],
  ["release_notes", "release"],
  ["\u{1d44e}release", "release"],
  ["cut a long release", "cut a release"],
  ["c+", "c++"],
  [`${"x".repeat(20_000)} release`, "release"],
  ["anything", ".*"],
])("%# does not", (message, trigger) => {
  expect(isTriggered(message, trigger)).toBe(false);
});

it("is not slow with texts that were made to be", () => {
  const triggers = Array.from({ length: 20 }, (_, n) => `${"a".repeat(70)}b${n}`);
  const skills = Array.from({ length: 100 }, () => ({ triggers }));
  expect(triggeredBy("a".repeat(1_000_000), skills)).toEqual([]);
});
