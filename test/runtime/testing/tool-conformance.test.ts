/** Every tool of Cairn passes the checks of a tool, and each check finds the tool that breaks its rule. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Tool } from "../../../runtime/contracts/tool.ts";
import { TOOLS } from "../../../runtime/plugins/tools/manifests.ts";
import { type ToolArguments, toolConformance } from "../../../runtime/testing/tool/index.ts";
import { builtInTools } from "../../support/built-in-tools.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

/** Calls of tools that need nothing but a workspace. */
const VALID: Readonly<Record<string, ToolArguments>> = {
  file_write: { path: "a.txt", content: "a" },
  search_glob: { pattern: "*" },
  search_grep: { pattern: "a" },
};
const FAILING: Readonly<Record<string, ToolArguments>> = {
  file_read: { path: "none.txt" },
  file_edit: { path: "none.txt", old_string: "a", new_string: "b" },
  web_fetch: { url: "http://127.0.0.1:1/" },
};

describe.each(TOOLS.map(({ id }) => id))("%s", (id) => {
  const valid = VALID[id];
  const failing = FAILING[id];
  const open = async () => {
    const tool = (await builtInTools()).find(({ name }) => name === id);
    if (!tool) throw new Error(`there is no tool ${id}`);
    return { tool, context: { workspace: await temporaryDirectory() } };
  };
  for (const check of toolConformance({ open, ...(valid ? { valid } : {}), ...(failing ? { failing } : {}) })) {
    it(check.name, () => check.run());
  }
});

const RIGHT: Tool = {
  name: "wait",
  description: "Waits.",
  parameters: { type: "object", properties: { ms: { type: "number" }, path: { type: "string" } }, required: ["ms"] },
  pathArguments: ["path"],
  async execute({ ms }, signal) {
    if (ms === -1) return { content: "No such time.", isError: true };
    await sleep(Number(ms), undefined, signal ? { signal } : {});
    return { content: "done" };
  },
};

const BROKEN: readonly [name: string, change: Partial<Tool>, says: RegExp][] = [
  ["has a name that every provider takes, and a description", { name: "a b" }, /the name has to be letters/],
  ["has a name that every provider takes, and a description", { name: "a__b" }, /MCP server/],
  ["has a name that every provider takes, and a description", { description: "" }, /chooses it by its description/],
  ["has parameters that are the JSON Schema of an object", { parameters: {} }, /"type": "object"/],
  [
    "has parameters that are the JSON Schema of an object",
    { parameters: { type: "object", required: ["b"] } },
    /required names b/,
  ],
  ["names as paths only arguments that it has", { pathArguments: ["file"] }, /names file, which is no argument/],
  // What a plugin in JavaScript may do.
  ["answers a call with text", { execute: async () => ({ content: 1 }) as never }, /content, a text/],
  ["answers a call with text", { execute: async () => ({ content: "x", isError: true }) }, /has to succeed: x/],
  [
    "changes nothing of its arguments and its context",
    { execute: async (args) => Object.assign(args, { ms: 2 }) && { content: "" } },
    /read only|Cannot assign/,
  ],
  [
    "ends at once where its signal has aborted before",
    { execute: () => new Promise(() => undefined) },
    /goes on 5 s after its signal/,
  ],
  [
    "ends soon after its signal aborts",
    { execute: () => new Promise(() => undefined) },
    /goes on 5 s after its signal/,
  ],
  ["ends soon after its signal aborts", { execute: async () => ({ content: "" }) }, /has ended by itself/],
  ["tells a failure as an error", { execute: async () => ({ content: "No." }) }, /has to have isError/],
  [
    "tells a failure as an error",
    {
      execute: async () => {
        throw new Error("broken");
      },
    },
    /an error of Cairn's table/,
  ],
];

describe("the checks", () => {
  const harness = (change: Partial<Tool> = {}) => ({
    open: async () => ({ tool: { ...RIGHT, ...change } }),
    valid: { ms: 1 },
    failing: { ms: -1 },
    slow: { ms: 60_000 },
  });

  it.each(toolConformance(harness()).map(({ name, run }) => [name, run] as const))("pass a right one: %s", (_, run) =>
    run(),
  );

  it.each(BROKEN)("find what breaks: %s %o", async (name, change, says) => {
    const check = toolConformance(harness(change)).find((one) => one.name === name);
    await expect(check?.run()).rejects.toThrow(says);
  });

  it("are each broken by one of these", () => {
    expect(new Set(BROKEN.map(([name]) => name))).toEqual(new Set(toolConformance(harness()).map(({ name }) => name)));
  });
});
