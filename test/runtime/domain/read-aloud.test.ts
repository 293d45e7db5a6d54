import { expect, test } from "vitest";
import { ReadAloud } from "../../../runtime/domain/read-aloud.ts";

function aloud(text: string): string[] {
  const reader = new ReadAloud();
  return [...reader.push(text), ...reader.end()];
}

test.each<[string, string[]]>([
  ["Read [the manual](https://example.org/a_(b)) before you start.", ["Read the manual before you start."]],
  ["See https://www.example.org/a/b?c=d#e. Then go on with it.", ["See example.org.", "Then go on with it."]],
  ["It is at <https://example.org/a> today.", ["It is at example.org today."]],
  ["![A cat](cat.png) sits there quietly.", ["A cat sits there quietly."]],
  ["# The **first** head\n", ["The first head"]],
  ["> - *one* of `three` and __more__ ~~now~~", ["one of three and more now"]],
  ["2 * 3 < 7, and snake_case stays.", ["2 * 3 < 7, and snake_case stays."]],
  ["| a | b |\n|---|---|\n| 1 | 2 |\n", ["a b", "1 2"]],
  ["---\n\n***\n", []],
  [
    "Run this now:\n```sh\nrm -rf x. Then y.\n# no head\n```\nThat is all there is.",
    ["Run this now:", "That is all there is."],
  ],
  ["~~~\n```\nstill code\n~~~\nDone with the code.", ["Done with the code."]],
  ["```\nnever closed. At all.", []],
  ["```npm i``` installs it.\nThen you start it.", ["npm i installs it.", "Then you start it."]],
  ["> ```sh\n> rm -rf x\n> ```\nThat is all there is.", ["That is all there is."]],
  ["> ```sh\n> rm -rf x\n\nThe quote was over before.", ["The quote was over before."]],
  ["It says `x ``` y` inline, which is none.", ["It says x y inline, which is none."]],
])("%j", (text, expected) => {
  expect(aloud(text)).toEqual(expected);
});

test("a code block that is left open ends with its text", () => {
  const reader = new ReadAloud();
  expect([...reader.push("```\ncode"), ...reader.end()]).toEqual([]);
  expect([...reader.push("Words come after it."), ...reader.end()]).toEqual(["Words come after it."]);
});

test("of a reply that comes anew what is new is said, and what is said twice is", () => {
  const reader = new ReadAloud();
  expect(reader.push("The first one is said. The first one is said. And h")).toEqual([
    "The first one is said.",
    "The first one is said.",
  ]);
  reader.restart();
  expect(reader.push("The first one is said. The second one differs. A third")).toEqual(["The second one differs."]);
  expect(reader.end()).toEqual(["A third"]);
  reader.restart();
  expect(reader.push("The second one differs. The second one differs. A third")).toEqual(["The second one differs."]);
  expect(reader.end()).toEqual([]);
});
