/** Checks for authors of tools, as `cairn-agents/testing/tool` (docs/plugins.md), with the contract that they check. */

export { ToolError } from "../../contracts/errors.ts";
export type { Tool, ToolContext, ToolPorts, ToolResult } from "../../contracts/tool.ts";
export type { ConformanceCheck } from "../check.ts";
export { toolConformance } from "./conformance.ts";
export type { OpenTool, ToolArguments, ToolHarness } from "./harness.ts";
