/** Checks for authors of hooks, as `cairn-agents/testing/hook` (docs/plugins.md), with the contract that they check. */

export { ToolError } from "../../contracts/errors.ts";
export { type AnyHook, HOOK_EVENTS, type Hook, type HookContexts, type HookEvent } from "../../contracts/hooks.ts";
export type { ConformanceCheck } from "../check.ts";
export { type HookHarness, hookConformance, type OpenHook } from "./conformance.ts";
