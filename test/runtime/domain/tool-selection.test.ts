import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AgentToolSelection,
  selectAgentTools,
  selectTools,
  TOOLS_OF_OTHERS,
} from "../../../runtime/domain/tool-selection.ts";

const available = ["file_read", "shell", "memory_search"].map((name) => ({ name }));
const names = (selection?: Parameters<typeof selectTools>[1]) =>
  selectTools(available, selection).tools.map((tool) => tool.name);

it("offers every tool when nothing is selected", () => {
  expect(names()).toEqual(["file_read", "shell", "memory_search"]);
});

it("offers only what is included, in the order of the tools", () => {
  expect(names({ include: ["shell", "file_read"] })).toEqual(["file_read", "shell"]);
  expect(names({ include: [] })).toEqual([]);
});

it("lets exclude win over include", () => {
  expect(names({ include: ["shell", "file_read"], exclude: ["shell"] })).toEqual(["file_read"]);
});

it("takes names literally and reports the unknown ones once", () => {
  expect(selectTools(available, { include: ["file_*", "shell"], exclude: ["shel", "file_*"] })).toEqual({
    tools: [{ name: "shell" }],
    unknown: ["file_*", "shel"],
  });
});

describe("tools of others", () => {
  const all = ["file_read", "shell", "memory_search", "memory_browse"].map((name) => ({ name }));
  const given = (selection?: AgentToolSelection) =>
    selectAgentTools(all, selection).others.tools.map(({ name }) => name);

  it.each<[string, AgentToolSelection | undefined, string[]]>([
    ["nothing", undefined, ["memory_search", "memory_browse"]],
    ["tools of the owner", { include: ["file_read", "shell", "memory_search"] }, ["memory_search"]],
    ["no tools of others", { others: { include: [] } }, []],
    ["some", { others: { include: ["shell", "file_read"] } }, ["file_read", "shell"]],
    [
      "some that the owner's turns lack",
      { exclude: ["shell"], others: { include: ["shell", "file_read"] } },
      ["file_read"],
    ],
    ["what others do not get", { others: { exclude: ["memory_browse"] } }, ["memory_search"]],
  ])("are the memory's unless more is given: %s", (_, selection, expected) => {
    expect(given(selection)).toEqual(expected);
  });

  it("are never more than the owner's, whatever is written", () => {
    const names = fc.array(fc.constantFrom(...all.map(({ name }) => name), "no_such_tool"));
    const selection = fc.record({ include: names, exclude: names }, { requiredKeys: [] });
    fc.assert(
      fc.property(selection, fc.option(selection, { nil: undefined }), (written, others) => {
        const selected = selectAgentTools(all, { ...written, others });
        const allowed = new Set(others?.include ?? TOOLS_OF_OTHERS);
        for (const tool of selected.others.tools) {
          expect(selected.owner.tools).toContain(tool);
          expect(allowed).toContain(tool.name);
          expect(others?.exclude ?? []).not.toContain(tool.name);
        }
      }),
    );
  });

  it("are reported where they are written and cannot be given", () => {
    const { owner, others } = selectAgentTools(all, { exclude: ["shell"], others: { include: ["shell", "shel"] } });
    expect([owner.unknown, others.unknown]).toEqual([[], ["shell", "shel"]]);
    expect(selectAgentTools([], {}).others.unknown).toEqual([]);
  });
});
