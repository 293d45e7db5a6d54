import { expect, it } from "vitest";
import { lexemeCounts } from "../../../runtime/domain/lexemes.ts";

it.each([
  ["", {}],
  ["'ada':1,7 'garden':3B", { ada: 2, garden: 1 }],
  ["'it''s':2 'o''''b':1,2,3", { "it's": 1, "o''b": 3 }],
  ["'a b':1 'c:\\\\d':4,5 '日本':9", { "a b": 1, "c:\\d": 2, 日本: 1 }],
  ["'stripped' 'words'", { stripped: 1, words: 1 }],
])("counts the lexemes of %s", (tsvector, counts) => {
  expect(Object.fromEntries(lexemeCounts(tsvector))).toEqual(counts);
});
