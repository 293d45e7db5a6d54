import { describe, expect, it } from "vitest";
import { firstMatch, highlighted, matcherOf } from "../../../control/memory/highlight.ts";

const marked = (text: string, query: string, mode = "hybrid") =>
  highlighted(text, matcherOf(query, mode), (found) => `[${found}]`);

describe("the words of a query in a text", () => {
  it.each([
    ["Bees sleep; a bee slept", "Do bees sleep?", "[Bees] [sleep]; a [bee] slept"],
    ["we deployed it, deploying is easy", "deployed", "we [deployed] it, [deploying] is easy"],
    ["the port is 7433", "which port was 7433", "the [port] is [7433]"],
    ["disport (7433)", "port", "disport (7433)"],
    ["Müller und die Mühle", "mühle", "Müller und die [Mühle]"],
    ["a+b (c)", "(c) a+b", "a+b (c)"],
  ])("%s, asked for %s", (text, query, expected) => {
    expect(marked(text, query)).toBe(expected);
  });

  it("are what the expression matches where one was asked for", () => {
    expect(marked("deployed, deploying", "deploy(ed|er)", "regex")).toBe("[deployed], deploying");
    expect(marked("text", "(?i", "regex")).toBe("text");
    expect(marked("text", "x*", "regex")).toBe("te[x]t");
  });

  it("have their first place", () => {
    expect(firstMatch("a b port", matcherOf("port", "fts"))).toBe(4);
    expect(firstMatch("nothing", matcherOf("port", "fts"))).toBe(0);
    expect(matcherOf("the of", "fts")).toBeNull();
  });
});
