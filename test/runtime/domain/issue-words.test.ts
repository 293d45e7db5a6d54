import { expect, it } from "vitest";
import { parseArguments, searchArguments } from "../../../runtime/app/memory-arguments.ts";

it.each([
  [{ query: "" }, "query: must not be empty"],
  [{ query: " " }, "query: must not be blank"],
  [{}, "query: is missing: a text"],
  [{ query: "x", limit: 0 }, "limit: must be at least 1"],
  [{ query: "x", limit: "ten" }, "limit: must be a number"],
])("%j is refused in plain words, once", (value, words) => {
  expect(() => parseArguments(searchArguments, value)).toThrow(`The arguments are not valid: ${words}.`);
});
