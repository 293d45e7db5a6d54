import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { identifiersIn, spellableWords } from "../../../runtime/domain/search-terms.ts";

describe("identifiersIn", () => {
  it("finds names that are no words", () => {
    expect(identifiersIn("What broke on node-3, v1.2.3 or a1b2c3d?")).toEqual(["node-3", "v1.2.3", "a1b2c3d"]);
    expect(identifiersIn("see `runtime/app/writer.ts` and createWriter, max_depth")).toEqual([
      "runtime/app/writer.ts",
      "createWriter",
      "max_depth",
    ]);
  });

  it("takes words, numbers and hyphenated words for what they are", () => {
    expect(identifiersIn("the well-known answer is 42, on Monday.")).toEqual([]);
  });
});

it("takes long words first", () => {
  expect(spellableWords("the kubernets cluster")).toEqual(["kubernets", "cluster"]);
});

it("is bounded for any text", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 500 }), (text) => {
      expect(identifiersIn(text).length).toBeLessThanOrEqual(8);
      expect(spellableWords(text).length).toBeLessThanOrEqual(8);
    }),
  );
});
