import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { COMMAND_USAGE } from "../../../runtime/domain/command-line.ts";

const WORKSPACE = fileURLToPath(new URL("../../../templates/workspace", import.meta.url));

test("the files of a new workspace promise an agent nothing that is not built", async () => {
  const names = await readdir(WORKSPACE);
  expect(names).toContain("CAPABILITIES.md");
  for (const name of names) {
    const text = await readFile(join(WORKSPACE, name), "utf8");
    expect(text, name).not.toMatch(/\b(?:schedules?|skills?|plugins?|budgets?|mesh|MCP|channels?)\b/i);
  }
});

test("the commands of a conversation that a new workspace names are all that there are", async () => {
  const text = await readFile(join(WORKSPACE, "CAPABILITIES.md"), "utf8");
  const named = [...text.matchAll(/`\/([a-z]+)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual(Object.keys(COMMAND_USAGE).sort());
});
