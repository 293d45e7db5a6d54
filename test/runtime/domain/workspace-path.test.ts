import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { componentsBelow, isWithin, resolveInWorkspace } from "../../../runtime/domain/workspace-path.ts";

describe("resolveInWorkspace", () => {
  it.each([
    ["a.txt", "a.txt"],
    ["./a/./b//c", "a/b/c"],
    ["a/../b", "b"],
    [".", ""],
    ["/ws", ""],
    ["/ws/", ""],
    ["/ws/a/..", ""],
    ["/ws/a b/ü", "a b/ü"],
    ["..a/b", "..a/b"],
    ["a/...", "a/..."],
    ["~notes", "~notes"],
    ["/elsewhere/../ws/a", "a"],
  ])("takes %j as %j", (path, relative) => {
    expect(resolveInWorkspace(["/ws"], path)).toMatchObject({ inside: true, relative });
  });

  it.each([
    ["", "empty"],
    ["..", "leads out"],
    ["../ws-evil/x", "leads out"],
    ["/ws-evil/x", "leads out"],
    ["/ws/../etc/passwd", "leads out"],
    ["a/../../etc", "leads out"],
    ["/", "leads out"],
    ["/WS/a", "leads out"],
    ["~", "not expanded"],
    ["~/.ssh/id_rsa", "not expanded"],
    ["a\0b", "NUL"],
  ])("refuses %j: %s", (path, reason) => {
    expect(resolveInWorkspace(["/ws"], path)).toMatchObject({ inside: false, reason: expect.stringContaining(reason) });
  });

  it("accepts absolute paths under any of the workspace's names, and answers relative to that name", () => {
    expect(resolveInWorkspace(["/link", "/real/ws"], "/real/ws/a")).toMatchObject({ inside: true, relative: "a" });
    expect(resolveInWorkspace(["/link", "/real/ws"], "/link/a")).toMatchObject({ inside: true, relative: "a" });
    expect(resolveInWorkspace(["/link", "/real/ws"], "/real/wsx/a")).toMatchObject({ inside: false });
  });

  it("never says inside of a path that normalises to somewhere else", () => {
    const part = fc.constantFrom("..", ".", "", "a", "ws", "ws-evil", "~", "...");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, absolute) => {
        const path = (absolute ? "/" : "") + parts.join("/");
        const verdict = resolveInWorkspace(["/x/ws"], path);
        if (!verdict.inside) return;
        expect(verdict.path.split("/").slice(0, 3)).toEqual(["", "x", "ws"]);
        expect(verdict.path).not.toMatch(/\/\.{1,2}(\/|$)/);
        expect(posix.resolve("/x/ws", path)).toBe(verdict.path);
      }),
    );
  });
});

describe("isWithin", () => {
  it.each([
    ["/ws", "/ws", true],
    ["/ws", "/ws/a", true],
    ["/ws/", "/ws/a", true],
    ["/", "/a", true],
    ["/ws", "/ws-evil", false],
    ["/ws", "/w", false],
    ["/ws/a", "/ws", false],
  ])("of %s: %s is %s", (root, path, expected) => {
    expect(isWithin(root, path)).toBe(expected);
  });
});

it("componentsBelow names the way down from the root", () => {
  expect(componentsBelow("/ws", "/ws/a/b")).toEqual(["a", "b"]);
  expect(componentsBelow("/ws/", "/ws")).toEqual([]);
});
