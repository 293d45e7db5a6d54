import fc from "fast-check";
import { expect, it } from "vitest";
import { serverId } from "../../../../runtime/config/schema/scalars.ts";
import { offeredName, serverOf } from "../../../../runtime/domain/mcp/tool-names.ts";

const ids = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,8}(?:_[A-Za-z0-9-]{1,8})?$/);
const tools = fc.string({ minLength: 1, maxLength: 100 });

it("makes names that every provider takes, other ones for other tools, and finds the server in them", () => {
  fc.assert(
    fc.property(ids, tools, ids, tools, (id, tool, otherId, otherTool) => {
      const name = offeredName(id, tool);
      expect(name).toMatch(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/);
      expect(serverOf(name)).toBe(id);
      if (id !== otherId || tool !== otherTool) expect(offeredName(otherId, otherTool)).not.toBe(name);
    }),
  );
});

it("keeps a name that can stay as it is", () => {
  expect(offeredName("git", "create_issue")).toBe("git__create_issue");
  expect(offeredName("git", "__x")).toBe("git____x");
  expect(serverOf("shell")).toBeNull();
});

it.each(["a__b", "a_", "_a", "1a", "", "a b", "x".repeat(33)])("is never given the id %j", (id) => {
  expect(serverId().safeParse(id).success).toBe(false);
});
