/** docs/attacks.md: each test that a row names is there, in the file that it names before. */

import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

const TESTS = join(ROOT, "test");
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

it("names tests that there are", () => {
  const named = namedTests();
  const missing = named.filter(({ file, name }) => {
    const path = join(TESTS, file);
    if (!existsSync(path)) return true;
    const files = statSync(path).isDirectory() ? globSync("**/*.ts", { cwd: path }) : [""];
    const text = files.map((one) => readFileSync(join(path, one), "utf8")).join("\n");
    // Parts of a name stand between the dots where it goes on.
    return name !== null && !name.split("…").every((part) => text.includes(part));
  });
  expect(missing).toEqual([]);
  expect(named.length).toBeGreaterThan(200);
});
