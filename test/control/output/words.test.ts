import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { columns } from "../../../control/output/terminal.ts";
import { visible, visibleJson } from "../../../control/output/visible.ts";
import { bytes, duration, soFar } from "../../../control/output/words.ts";

describe("text of others", () => {
  it("cannot steer the terminal", () => {
    expect(visible("a\u001b[2Jb\u0007c\u009bd\u202ee")).toBe("a\\u001b[2Jb\\u0007c\\u009bd\\u202ee");
  });

  it("keeps its newlines, tabs, accents and joined emoji", () => {
    const text = "line\n\tz\u00e4hlt \u{1f469}\u200d\u{1f680} \u0645\u0631\u062d\u0628\u0627";
    expect(visible(text)).toBe(text);
    expect(visible("a\r\nb")).toBe("a\nb");
  });

  it("holds no control character afterwards, inside JSON neither", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const shown = JSON.stringify(visibleJson(value));
        // A backslash of the text itself is written as two, and a letter may follow it.
        expect(shown.replaceAll("\\\\", "")).not.toMatch(/\\u00(0[0-8bcef]|1)|\\[bf]/);
        expect(visible(String(shown))).toBe(shown);
      }),
    );
  });
});

describe("durations", () => {
  it.each([
    [0, "0 s"],
    [999, "0 s"],
    [42_000, "42 s"],
    [185_000, "3 min 5 s"],
    [180_000, "3 min"],
    [7_800_000, "2 h 10 min"],
    [356_400_000, "4 d 3 h"],
    [86_400_000 + 5_000, "1 d"],
  ])("%i ms are %s", (milliseconds, words) => {
    expect(duration(milliseconds)).toBe(words);
  });
});

describe("sizes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1_500, "1.5 kB"],
    [12_000_000, "12.0 MB"],
    [3_000_000_000_000_000, "3000.0 TB"],
  ])("%i bytes are %s", (count, words) => {
    expect(bytes(count)).toBe(words);
  });
});

it("a progress line names an amount that tells something", () => {
  expect(soFar("Reading the memory", 10)).toBe("Reading the memory");
  expect(soFar("Reading the memory", 12_000_000)).toBe("Reading the memory: 12.0 MB");
});

it("aligns columns and leaves no blanks at the end", () => {
  expect(
    columns(
      [
        ["a", "bb", "c"],
        ["aaa", "b", ""],
      ],
      "  ",
    ),
  ).toBe("  a    bb  c\n  aaa  b");
});
