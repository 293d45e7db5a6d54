import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BASE_IMPORTANCE, classify, importanceOf } from "../../../runtime/domain/importance.ts";

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

it("gives each kind the specification's base importance", () => {
  expect(BASE_IMPORTANCE).toEqual({ correction: 0.9, preference: 0.8, fact: 0.6, task: 0.5 });
  expect(importanceOf("I prefer tea")).toBe(0.8);
});
