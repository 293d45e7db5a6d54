/**
 * Typed access to a tool's arguments. They were validated against the tool's schema before `execute`; what is checked
 * again here is only what the type system cannot express.
 */

import { ToolError } from "../../../contracts/errors.ts";
import type { ToolContext } from "../../../contracts/tool.ts";

type Arguments = Readonly<Record<string, unknown>>;

export function stringArgument(args: Arguments, name: string): string {
  const value = args[name];
  if (typeof value !== "string") throw invalid(name, "must be a string");
  return value;
}

export function optionalString(args: Arguments, name: string): string | undefined {
  return args[name] === undefined || args[name] === null ? undefined : stringArgument(args, name);
}

/** A whole number within the bounds, or undefined when it was left out. */
export function optionalInteger(args: Arguments, name: string, minimum: number, maximum: number): number | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > maximum) {
    throw invalid(name, `must be a whole number from ${minimum} to ${maximum}`);
  }
  return value;
}

export function booleanArgument(args: Arguments, name: string, absent: boolean): boolean {
  const value = args[name];
  if (value === undefined || value === null) return absent;
  if (typeof value !== "boolean") throw invalid(name, "must be true or false");
  return value;
}

/** A list of texts, or undefined when it was left out. */
export function optionalNames(args: Arguments, name: string): readonly string[] | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) {
    throw invalid(name, "must be a list of texts");
  }
  return value;
}

/** Tools that act for an agent cannot run without knowing which one. */
export function requireContext(context: ToolContext | undefined): ToolContext {
  if (!context) throw new ToolError("TOOL_FAILED", "This tool needs the context of a turn.");
  return context;
}

function invalid(name: string, problem: string): ToolError {
  return new ToolError("TOOL_INVALID_ARGUMENTS", `${name} ${problem}.`, { issues: [{ path: name, message: problem }] });
}
