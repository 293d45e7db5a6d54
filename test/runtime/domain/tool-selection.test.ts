import { expect, it } from "vitest";
import { selectTools } from "../../../runtime/domain/tool-selection.ts";

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
