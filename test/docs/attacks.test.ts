/** docs/attacks.md: each test that a row names is there, in the file that it names before. */

import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

const TESTS = join(ROOT, "test");
const MODIFIERS = new Set(["each", "skipIf", "runIf", "skip", "concurrent"]);
const ROW = /^\| (\d+) \| .* \| (.*) \|$/;

/** Each quoted name with the file before it. */
function namedTests(): { row: string; file: string; name: string | null }[] {
  const paths = new Map<string, string>();
  return readFileSync(join(ROOT, "docs", "attacks.md"), "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, row = "", tests = ""] = ROW.exec(line) ?? [];
      let file = "";
      return [...tests.matchAll(/`([^`]+)`|"([^"]+)"/g)].map(([, path, name = null]) => {
        if (path !== undefined) {
          file = paths.get(path) ?? (existsSync(join(TESTS, path)) ? path : onlyOne(path));
          paths.set(basename(path), file);
        }
        return { row, file, name };
      });
    });
}

/** A file that no path leads to is known by its name alone, or not at all. */
function onlyOne(name: string): string {
  const [path = name, ...others] = globSync(`**/${name}`, { cwd: TESTS });
  return others.length === 0 ? path : name;
}

/** First arguments of `it`, `test` and `describe`, and of what is made of them: `it.each(rows)(title, …)`, `describeDatabase`. */
function titlesIn(text: string): string[] {
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(?:it|test|describe[A-Z]?\w*)$/.test(calledName(node.expression))) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) titles.push(title.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest));
  return titles;
}

function calledName(node: ts.Node): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isCallExpression(node)) return calledName(node.expression);
  const isModified = ts.isPropertyAccessExpression(node) && MODIFIERS.has(node.name.text);
  return isModified ? calledName(node.expression) : "";
}

it("reads titles of tests, and neither comments nor other strings", () => {
  const text = `
    // it("a comment")
    const other = test.includes("a string");
    describeDatabase("a", () => {
      it.concurrent.each(x)("b 'c'", () => expect("d").toBe("e"));
      it.each([["f"]])(\`g %s\`, () => {});
      test.concurrent("h" /* i */, () => {});
    });`;
  expect(titlesIn(text)).toEqual(["a", "b 'c'", "g %s", "h"]);
});

it("names tests that there are", () => {
  const named = namedTests();
  const missing = named.filter(({ file, name }) => {
    const path = join(TESTS, file);
    if (!existsSync(path)) return true;
    const files = statSync(path).isDirectory() ? globSync("**/*.ts", { cwd: path }) : [""];
    const titles = files.flatMap((one) => titlesIn(readFileSync(join(path, one), "utf8")));
    // Parts of a name stand between the dots where it goes on.
    return name !== null && !titles.some((title) => name.split("…").every((part) => title.includes(part)));
  });
  expect(missing).toEqual([]);
  expect(named.length).toBeGreaterThan(200);
});
