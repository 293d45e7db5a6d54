import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { componentsOf, staysInside } from "../../../control/backup/names.ts";

describe("a link in a backup", () => {
  it.each<[string, string, boolean]>([
    ["l", "file", true],
    ["l", ".", true],
    ["a/l", "../file", true],
    ["a/l", "..", true],
    ["l", "..", false],
    ["l", "../x", false],
    ["a/b/l", "../../x", true],
    ["a/b/l", "../../../x", false],
    ["a/l", "b/../c", false],
    ["l", "/etc", false],
    ["l", "", false],
    ["l", "a//b", false],
    ["l", "folder/", true],
  ])("at %s to %s stays inside: %s", (at, target, inside) => {
    expect(staysInside(at.split("/"), target)).toBe(inside);
  });

  it("never leads out, whichever way it is written", () => {
    const step = fc.constantFrom("..", ".", "a", "b", "");
    fc.assert(
      fc.property(fc.array(fc.constantFrom("x", "y"), { minLength: 1, maxLength: 4 }), fc.array(step), (at, steps) => {
        const target = steps.join("/");
        if (!staysInside(at, target)) return;
        const end = posix.normalize(posix.join("root", ...at.slice(0, -1), target));
        expect(end === "root" || end === "root/" || end.startsWith("root/")).toBe(true);
      }),
    );
  });
});

describe("a name in a backup", () => {
  it.each([["../x"], ["/x"], ["a/../b"], ["a//b"], ["a/."], [""], ["a\nb"]])("is refused: %j", (name) => {
    expect(componentsOf(name)).toBeNull();
  });

  it("is taken with whatever else file systems allow", () => {
    expect(componentsOf("directory/..a/b..c/ü \\ x")).toEqual(["directory", "..a", "b..c", "ü \\ x"]);
  });
});
