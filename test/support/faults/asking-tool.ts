/**
 * Loaded into a node before anything else (`--import`): it gets a tool `ask`, which asks the user and then acts. Each begin of the
 * call and each act is a line of `calls.txt` in the workspace. The product knows nothing of it.
 */

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type * as Registry from "../../../runtime/app/tool-registry.ts";
import type { Tool } from "../../../runtime/contracts/tool.ts";

const built = new URL("../../../dist/runtime/app/tool-registry.js", import.meta.url);
const { ToolRegistry }: typeof Registry = await import(built.href);

const ask: Tool = {
  name: "ask",
  description: "Asks the user, then acts.",
  parameters: { type: "object" },
  async execute(_args, _signal, context) {
    if (!context) throw new Error("the tool needs its context");
    const note = (line: string) => appendFileSync(join(context.workspace, "calls.txt"), `${line}\n`);
    note("begun");
    const answer = await context.ask({ text: "Which one?", choices: ["red", "blue"] });
    const said = answer.kind === "answered" ? answer.text : "nothing";
    note(`acted on ${said}`);
    return { content: `acted on ${said}` };
  },
};

const { snapshot } = ToolRegistry.prototype;
ToolRegistry.prototype.snapshot = function () {
  const { version, tools } = snapshot.call(this);
  return { version, tools: [...tools, ask] };
};
