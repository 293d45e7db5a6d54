import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { identifiersIn, inventedIn, missingFrom } from "../../../../runtime/domain/summaries/identifiers.ts";

describe("identifiers of a system message", () => {
  it.each<[string, string[]]>([
    ["PR #482 was merged as 9f8e7d6c into main", ["#482", "9f8e7d6c"]],
    ["merged acme/cairn#17, closes !3 and PR 12", ["acme/cairn#17", "PR 12"]],
    ["pull request 77 and merge request 8", ["pull request 77", "merge request 8"]],
    ["commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 is signed", ["0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"]],
    ["image sha256:4fd2e1aa90 was pulled", ["sha256:4fd2e1aa90"]],
    ['The skill "pdf-forms" was loaded, then skill web-search', ["pdf-forms", "web-search"]],
    ["the release-notes skill ran", ["release-notes"]],
    ["changed 1,204 lines in 3 files", ["1,204 lines", "3 files"]],
    ["12 files changed, 340 insertions(+), 12 deletions(-)", ["12 files changed", "340 insertions", "12 deletions"]],
    ["diff +120/-4 at lines 10-24 and L7-L9", ["+120/-4", "lines 10-24", "L7-L9"]],
    ["cairn v1.4.0-rc.2 replaces 1.3.9", ["v1.4.0-rc.2", "1.3.9"]],
    ["see /etc/cairn/cairn.yaml, ~/notes and ./run.sh", ["/etc/cairn/cairn.yaml", "~/notes", "./run.sh"]],
    ["edited src/app/main.ts and README.md", ["src/app/main.ts", "README.md"]],
    ["C:\\Users\\ada\\notes.txt was read", ["C:\\Users\\ada\\notes.txt"]],
    ["https://example.org/a/b?c=1#d, and then", ["https://example.org/a/b?c=1#d"]],
    ["ticket OPS-1234 and 6f9619ff-8b86-4d01-b42d-00cf4fc964ff", ["OPS-1234", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"]],
    ["#482, and once more #482", ["#482"]],
    ["Nothing here has a name: it is 5 o'clock and/or later. added faded decade", []],
  ])("%j names %j", (text, identifiers) => {
    expect(identifiersIn(text)).toEqual(identifiers);
  });

  it("are copied character for character: each occurs in the text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.array(fc.constantFrom("#12", "v1.2.3", "/a/b", "abc1234", " ", "-")),
        (text, more) => {
          const whole = text + more.join(" ");
          const found = identifiersIn(whole);
          for (const identifier of found) expect(whole).toContain(identifier);
          expect(new Set(found).size).toBe(found.length);
          expect(missingFrom(whole, found)).toEqual([]);
        },
      ),
    );
  });

  it.each([
    ["hyphens", "a-".repeat(100_000)],
    ["slashes", "a/".repeat(100_000)],
    ["dots", ".".repeat(200_000)],
    ["hexadecimal digits", "0a".repeat(100_000)],
    ["numbers", "1,".repeat(100_000)],
    ["at signs and pluses", "+@".repeat(100_000)],
    ["colons and slashes", "http://".repeat(30_000)],
    ["backslashes", "C:\\a b ".repeat(30_000)],
    ["words that are as long as they may be", `${"a-/.0".repeat(79)} `.repeat(500)],
  ])("do not hold up the process in 200 kB of %s", (_, text) => {
    // Quadratic time would be hours.
    expect(identifiersIn(text).length).toBeLessThan(100_000);
  });
});

describe("identifiers that a summary leaves out", () => {
  it.each<[string, string[], string[]]>([
    ["PR #12 was merged", ["#12"], []],
    ["PR #123 was merged", ["#12"], ["#12"]],
    ["commit abc1234f", ["abc1234"], ["abc1234"]],
    ["it has 120\nlines", ["120 lines"], []],
    ["it has 1120 lines", ["120 lines"], ["120 lines"]],
    ["in `src/a.ts`.", ["src/a.ts"], []],
    ["first #123, then #12.", ["#12"], []],
    ["SRC/A.TS", ["src/a.ts"], ["src/a.ts"]],
  ])("%j has %j: missing %j", (text, identifiers, missing) => {
    expect(missingFrom(text, identifiers)).toEqual(missing);
  });
});

describe("identifiers that a summary makes up", () => {
  const source = "[#1 2026-05-01T10:12Z main/user]\nPR 482 at https://example.org/x is 9f8e7d6c";
  it.each<[string, string[]]>([
    ["PR #482 (9f8e7d6) at https://example.org/x", []],
    ["PR #483 was merged", ["#483"]],
    ["the commit 1a2b3c4d", ["1a2b3c4d"]],
    ["see https://example.org/y", ["https://example.org/y"]],
    ["as said in #1", []],
    ["no identifier at all", []],
  ])("%j made from it makes up %j", (answer, invented) => {
    expect(inventedIn(answer, source)).toEqual(invented);
  });
});
