import { expect, test } from "vitest";
import { SentenceSplitter } from "../../../runtime/domain/sentences.ts";

/** Cut at these lengths, over and over. */
function pieces(text: string, lengths: readonly number[]): string[] {
  const cut: string[] = [];
  for (let at = 0, n = 0; at < text.length; n++) {
    const length = lengths[n % lengths.length] ?? 1;
    cut.push(text.slice(at, at + length));
    at += length;
  }
  return cut;
}

function split(text: string, lengths: readonly number[] = [text.length || 1]): string[] {
  const splitter = new SentenceSplitter();
  return [...pieces(text, lengths).flatMap((piece) => splitter.push(piece)), ...splitter.end()];
}

test.each<[string, string[]]>([
  ["The kettle is on. Tea comes next! Is that fine?", ["The kettle is on. ", "Tea comes next! ", "Is that fine?"]],
  [
    "It costs 3.14 euros at example.org, as ever. Then it rains.",
    ["It costs 3.14 euros at example.org, as ever. ", "Then it rains."],
  ],
  ["She said: “Come in, it is open!” And they came.", ["She said: “Come in, it is open!” ", "And they came."]],
  [
    "今日は天気がとてもいいですね、散歩へ。明日は雨が降るそうですので、家に。",
    ["今日は天気がとてもいいですね、散歩へ。", "明日は雨が降るそうですので、家に。"],
  ],
  ["Yes. That is right, I think.", ["Yes. That is right, I think."]],
  ["- one\n- two\n", ["- one\n", "- two\n"]],
  ["", []],
])("%j", (text, expected) => {
  expect(split(text)).toEqual(expected);
});

test("a sentence is there as soon as the next one begins, and a line with its end", () => {
  const splitter = new SentenceSplitter();
  expect(splitter.push("The first one is complete.")).toEqual([]);
  expect(splitter.push(" T")).toEqual(["The first one is complete. "]);
  expect(splitter.push("itle\n")).toEqual(["Title\n"]);
});

test("what is joined is the text, however it came", () => {
  const samples = [
    'One. Two! Three?\n\nFour… "Five." (Six.) 7.5 e.g. Dr. X.\r\n\r\n# Head\n- a. b\n```js\nlet a = 1. \n```\n',
    "😀".repeat(1_500),
    `${"word ".repeat(500)}.`,
    "a\u0000b\uD800c\u2029d\u0085e. F",
    "。！？".repeat(400),
    "x".repeat(5_000),
  ];
  for (const sample of samples) {
    for (const lengths of [[1], [2, 3, 7], [999], [1_000], [1_001], [100_000]]) {
      const sentences = split(sample, lengths);
      expect(sentences.join("")).toBe(sample);
      for (const sentence of sentences) expect(sentence.length).toBeLessThanOrEqual(2_000);
    }
  }
});

test("a sentence without an end is cut at a space, and never within a character", () => {
  for (const sentence of split("word ".repeat(1_000))) expect(sentence).toMatch(/^(?:word )+$/);
  for (const sentence of split("a".concat("😀".repeat(2_000)))) expect(sentence.isWellFormed()).toBe(true);
});
