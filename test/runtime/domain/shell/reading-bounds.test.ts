import fc from "fast-check";
import { expect, it } from "vitest";
import { check } from "./check.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `a${index}`).join(" ");

it("starts where the call starts", () => {
  expect(check("rm -rf *", "/srv/agent/ws/build")).toEqual({ action: "allow" });
  expect(check("rm -rf ../*", "/srv/agent/ws/build").action).toBe("refuse");
});

it.each([
  ["deep nesting", `${"$(".repeat(500)}rm${")".repeat(500)}`],
  ["braces that multiply", `echo ${"{a,b}".repeat(30)}`],
  ["very many commands", "echo a; ".repeat(5_000)],
  ["redirections that multiply", `${"x > $(".repeat(30)}x${")".repeat(30)}`],
  ["a variable of very many words", `x='a b c d e f ';${"x=$x$x;".repeat(10)}${"cat $x;".repeat(400)}`],
  ["very many sequences of braces in a word", `echo ${"{1..2}".repeat(3_333)}`],
  ["very many words of braces", `echo ${`${"{a,b}".repeat(7)} `.repeat(500)}`],
  ["a loop over very many words", `for i in ${numbered(31)}; do rm ${"$i ".repeat(3_000)}; done`],
  ["very many replacements of sed", `sed '${"s/".repeat(45_000)}' x`],
  ["very many words that may begin a command", `foo ${"rm ".repeat(30_000)}`],
  ["very many commands of find", "find . -exec ".repeat(7_700)],
  ["loops in one another", `${"while a; do ".repeat(30)}x=$x.a; cat $x${"; done".repeat(30)}`],
  ["endless code", `python3 -c '${'"\\"'.repeat(30_000)}'`],
])("asks instead of following %s to the end", (_, command) => {
  expect(check(command).action).toBe("ask");
});

it.each([
  ["functions that call each other", "f() { f; g; }; g() { f; g; h; }; h() { f; g; h; }; h"],
  [
    "very many variables and jobs",
    `${Array.from({ length: 6_000 }, (_, at) => `a${at}=1;`).join("")}${"a=1&".repeat(5_000)}`,
  ],
  ["a function that calls itself with ever more", "f() { f x$1; f y$1; }; f a"],
  ["a loop whose values never come to rest", "while read -r l; do x=$x.$l.; cat y; done < list.txt"],
  ["very many line ends", `x=$(printf '${"\n".repeat(90_000)}x'); echo $x`],
  ["very many slashes", `ls ${"/".repeat(90_000)}x; touch ${"/*".repeat(40_000)}`],
  ["very many stars", `cat .e${"*?".repeat(40_000)}x`],
  ["very many words", `echo ${"a ".repeat(40_000)}`],
  ["operators of Perl without an end", `perl -e '${"q(".repeat(9_900)}'`],
  ["very many brackets", `cat ${"[".repeat(90_000)}; x='${"[".repeat(90_000)}'`],
  ["a text that doubles with each assignment", `x=a; ${"x=$x$x; ".repeat(40)} echo $x`],
])("comes to an end for %s", (_, command) => {
  expect(check(command)).toEqual({ action: "allow" });
});

it("comes to a decision for arbitrary bytes, of any length", () => {
  const bytes = fc.uint8Array({ maxLength: 3_000 }).map((array) => Buffer.from(array).toString("latin1"));
  const repeated = fc.tuple(fc.string({ maxLength: 8 }), fc.nat(20_000)).map(([text, times]) => text.repeat(times));
  fc.assert(
    fc.property(fc.oneof(bytes, repeated), (command) => {
      expect(["allow", "ask", "refuse"]).toContain(check(command).action);
    }),
    { numRuns: 200 },
  );
});
