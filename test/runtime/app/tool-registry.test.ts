import { describe, expect, it } from "vitest";
import { ToolRegistry } from "../../../runtime/app/tool-registry.ts";
import { toolsOf } from "../../../runtime/app/turn/agents.ts";
import type { Tool } from "../../../runtime/contracts/tool.ts";

const tool = (name: string): Tool => ({
  name,
  description: name,
  parameters: { type: "object" },
  execute: async () => ({ content: name }),
});

describe("the tool registry", () => {
  it("leaves a snapshot as it was, and counts its versions", () => {
    const registry = new ToolRegistry([tool("a")]);
    const before = registry.snapshot();
    registry.register(tool("b"));
    expect(registry.unregister("a")).toBe(true);
    expect(before.tools.map(({ name }) => name)).toEqual(["a"]);
    expect(registry.snapshot().tools.map(({ name }) => name)).toEqual(["b"]);
    expect(registry.snapshot().version).toBe(before.version + 2);
    expect(() => (before.tools as Tool[]).push(tool("c"))).toThrow(TypeError);
  });

  it("changes the tools of a source together, behind all others and in the order of the sources", () => {
    const registry = new ToolRegistry([tool("own")]);
    const names = () => registry.snapshot().tools.map(({ name }) => name);
    registry.replaceSource("b", [tool("b1"), tool("b2")]);
    const { version } = registry.snapshot();
    expect(
      registry.replaceSource("a", [tool("a1"), tool("own"), tool("b1"), tool("a1")]).map(({ name }) => name),
    ).toEqual(["own", "b1", "a1"]);
    expect(registry.snapshot().version).toBe(version + 1);
    expect(names()).toEqual(["own", "a1", "b1", "b2"]);
    registry.replaceSource("b", [tool("b3")]);
    expect(names()).toEqual(["own", "a1", "b3"]);
    registry.replaceSource("a", []);
    expect(names()).toEqual(["own", "b3"]);
    const before = registry.snapshot();
    registry.replaceSource("a", []);
    expect(registry.snapshot()).toBe(before);
  });

  it("is the same snapshot while nothing changes", () => {
    const registry = new ToolRegistry([tool("a")]);
    const before = registry.snapshot();
    expect(registry.unregister("nothing")).toBe(false);
    expect(registry.snapshot()).toBe(before);
  });

  it("never puts a tool in another one's place", () => {
    const registry = new ToolRegistry([tool("shell")]);
    const [own] = registry.snapshot().tools;
    expect(() => registry.register(tool("shell"))).toThrow("there is a tool shell already");
    expect(registry.snapshot().tools).toEqual([own]);
  });

  it("gives a new tool to the owner only, and not to agents that name theirs", () => {
    const registry = new ToolRegistry([tool("file_read"), tool("memory_search")]);
    registry.register(tool("late"));
    const names = (tools: object, owner: boolean) => [...toolsOf(registry.snapshot(), { tools }, { owner }).keys()];
    expect(names({}, true)).toEqual(["file_read", "memory_search", "late"]);
    expect(names({}, false)).toEqual(["memory_search"]);
    expect(names({ include: ["file_read"] }, true)).toEqual(["file_read"]);
    expect(names({ exclude: ["late"], others: { include: ["late"] } }, false)).toEqual([]);
    expect(names({ others: { include: ["late"] } }, false)).toEqual(["late"]);
  });
});
