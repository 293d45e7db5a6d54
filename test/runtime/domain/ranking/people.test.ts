import { describe, expect, it } from "vitest";
import { askedAbout, withoutNames } from "../../../../runtime/domain/ranking/people.ts";
import { row } from "./support.ts";

const named = ["Melanie", "Bob Stone", "Andy"].map((speaker, n) => row(n, { speaker, conversationId: `c${n}` }));
const plain = [row(1), row(2, { role: "assistant" }), row(3, { role: "tool" })];

describe("who is asked about", () => {
  it.each([
    ["What does Melanie paint?", [true, false, false]],
    ["What is melanie's hobby?", [true, false, false]],
    ["What did Mel say?", [true, false, false]],
    ["Where does Stone live?", [false, true, false]],
    ["Do Bob and Andy agree?", [false, true, true]],
  ])("finds the speaker in %s", (query, said) => {
    expect(askedAbout(query, named)?.said).toEqual(said);
  });

  it("finds nobody where no speaker is named", () => {
    expect(askedAbout("what is painted with melamine", named)).toBeNull();
    expect(askedAbout("what did I say", named)).toBeNull();
    expect(askedAbout("who painted", plain)).toBeNull();
  });

  it("takes I and you for the two sides where nobody has a name", () => {
    expect(askedAbout("What did I say?", plain)?.said).toEqual([true, false, false]);
    expect(askedAbout("What did you suggest?", plain)?.said).toEqual([false, true, false]);
  });

  it("knows whose conversations those are", () => {
    const other = row(9, { speaker: "Zoe", conversationId: "c0" });
    expect(askedAbout("Melanie?", [...named, other])?.present).toEqual([true, false, false, true]);
  });

  it("leaves the names of speakers out of the words, unless there are no others", () => {
    const terms = ["melani", "andi", "paint", "stone"].map((lexeme) => ({ lexeme, idf: 1 }));
    expect(withoutNames(terms, named).indexes).toEqual([2]);
    expect(withoutNames(terms.slice(0, 2), named).indexes).toEqual([0, 1]);
    expect(withoutNames(terms, plain).indexes).toEqual([0, 1, 2, 3]);
  });
});
