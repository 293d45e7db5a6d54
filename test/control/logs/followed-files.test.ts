import { describe, expect, it } from "vitest";
import { type Followed, placesOf, type Seen } from "../../../control/logs/followed-files.ts";

const NONE: Followed = { places: new Map(), emptied: [] };
const file = (id: string, size: number, head: string): Seen => ({ id, size, head });
const atOf = (followed: Followed) => Object.fromEntries([...followed.places].map(([id, { at }]) => [id, at]));
const read = (...files: readonly Seen[]): Followed => ({
  places: new Map(files.map(({ id, size, head }) => [id, { at: size, head }])),
  emptied: [],
});

describe("the files of a log that is followed", () => {
  it("are read from their beginning when they are new, and on from where they were read to", () => {
    expect(atOf(placesOf(read(file("a", 10, "one")), [file("a", 15, "one"), file("b", 5, "two")]))).toEqual({
      a: 10,
      b: 0,
    });
  });

  it("wait while they are empty: the copy of another may be on its way", () => {
    expect(atOf(placesOf(NONE, [file("a", 0, "")]))).toEqual({});
  });

  it("have no place while they are copies of a file that stands, whole or not", () => {
    const followed = read(file("a", 10, "one"));
    expect(atOf(placesOf(followed, [file("a", 10, "one"), file("b", 2, "on")]))).toEqual({ a: 10 });
    expect(atOf(placesOf(followed, [file("a", 12, "one"), file("b", 12, "one")]))).toEqual({ a: 10 });
  });

  it("are gone on with in the copy once the original was emptied, at once or later", () => {
    const followed = read(file("a", 10, "one"));
    expect(atOf(placesOf(followed, [file("b", 12, "one"), file("a", 0, "")]))).toEqual({ a: 0, b: 10 });
    const emptied = placesOf(followed, [file("a", 20, "two")]);
    expect(atOf(placesOf(emptied, [file("a", 20, "two"), file("b", 12, "one")]))).toEqual({ a: 0, b: 10 });
  });

  it("are read anew where a number was given to another file, also a longer one", () => {
    expect(atOf(placesOf(read(file("a", 10, "one")), [file("a", 30, "two")]))).toEqual({ a: 0 });
  });
});
