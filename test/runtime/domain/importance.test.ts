import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BASE_IMPORTANCE,
  classify,
  DEFAULT_TYPE,
  type ImportanceType,
  importanceOf,
} from "../../../runtime/domain/importance.ts";

describe("classify", () => {
  it.each([
    ["No, the meeting is on Tuesday.", "correction"],
    ["That's wrong, the port is 5433", "correction"],
    ["Actually my sister is called Ada", "correction"],
    ["I meant the staging cluster", "correction"],
    ["this is incorrect", "correction"],
    ["I prefer tabs over spaces", "preference"],
    ["User prefers short answers", "preference"],
    ["My favourite colour is green", "preference"],
    ["From now on answer in German", "preference"],
    ["Please always use metric units", "preference"],
    ["Remind me to call the dentist", "task"],
    ["Can you check the logs of node-3?", "task"],
    ["We need to renew the certificate", "task"],
    ["Deploy the new release", "task"],
    ["The database runs on port 5432", "fact"],
    ["I was born in Graz", "fact"],
    ["", "fact"],
  ])("takes %j for a %s", (text, type) => {
    expect(classify(text)).toBe(type);
  });

  it("answers for any text, of any length, in bounded time", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(Object.keys(BASE_IMPORTANCE)).toContain(classify(text));
      }),
    );
    expect(classify(`${"i said ".repeat(100_000)}`)).toBe("fact");
  });
});

/** Sentences and their kinds; `other` is what has no kind and gets the default. */
function labelled(name: string): readonly { readonly type: ImportanceType; readonly text: string }[] {
  const file = new URL(`../../fixtures/importance/${name}.tsv`, import.meta.url);
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [label = "", text = ""] = line.split("\t");
      // The files hold the names of kinds and nothing else.
      const type = label === "other" ? DEFAULT_TYPE : (label as ImportanceType);
      return { type, text: text.replaceAll("\\n", "\n") };
    });
}

/** Least precision and recall of each kind. The patterns were written while looking at `tuned`, and never at `unseen`. */
const LEAST = {
  tuned: { correction: [0.95, 0.95], preference: [0.95, 0.95], task: [0.95, 0.95], fact: [0.95, 0.95] },
  unseen: { correction: [0.95, 0.7], preference: [0.95, 0.95], task: [0.85, 0.85], fact: [0.75, 0.9] },
} as const;

describe.each(["tuned", "unseen"] as const)("of the sentences of %s.tsv", (name) => {
  const rows = labelled(name).map((row) => ({ ...row, got: classify(row.text) }));
  it.each(["correction", "preference", "task", "fact"] as const)("those of the kind %s are found", (type) => {
    const [precision, recall] = LEAST[name][type];
    const taken = rows.filter(({ got }) => got === type);
    const meant = rows.filter((row) => row.type === type);
    const right = taken.filter((row) => row.type === type).length;
    expect(right / taken.length).toBeGreaterThanOrEqual(precision);
    expect(right / meant.length).toBeGreaterThanOrEqual(recall);
  });
});

it.each([
  ["No, I haven't read it yet.", "fact"],
  ["No, thanks.", "fact"],
  ["Oh no, that is a pity!", "fact"],
  ["Do you prefer tea?", "fact"],
  ['He wrote: "please call me back".', "fact"],
  ["> I prefer the blue one.\nNoted.", "fact"],
  ["```\n// TODO: fix\n```", "fact"],
  ["I don't need to call her.", "fact"],
  ["I don't like fish.", "preference"],
  ["I love it!", "fact"],
  ["Keep it up!", "fact"],
  ["Could you deploy it?", "task"],
  ["I'd like to book a flight.", "task"],
] as const)("weighs negation, questions, quotations and code: %j is a %s", (text, type) => {
  expect(classify(text)).toBe(type);
});

it("gives each kind the specification's base importance", () => {
  expect(BASE_IMPORTANCE).toEqual({ correction: 0.9, preference: 0.8, fact: 0.6, task: 0.5 });
  expect(importanceOf("I prefer tea")).toBe(0.8);
});
