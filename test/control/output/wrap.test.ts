import { describe, expect, it } from "vitest";
import { wrap } from "../../../control/output/wrap.ts";

describe("text for a terminal", () => {
  it("keeps words whole", () => {
    expect(wrap("aaa bbb ccc", 8, 24)).toEqual(["aaa bbb ccc"]);
    expect(wrap("a-very-long-word-that-fits-nowhere b", 8, 24)).toEqual(["a-very-long-word-that-fits-nowhere", "b"]);
    expect(wrap("one\ntwo", 0)).toEqual(["one", "two"]);
  });

  it("keeps commands whole, and the blanks that stand there", () => {
    expect(wrap("see `npm run -s cairn -- chat` now", 0, 28)).toEqual(["see", "`npm run -s cairn -- chat`", "now"]);
    expect(wrap("  two  blanks\n", 0, 40)).toEqual(["  two  blanks", ""]);
  });
});
