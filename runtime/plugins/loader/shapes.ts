/** Whether what a plugin has made is what its kind promises, as far as that can be seen without a call. */

import { Ajv } from "ajv";
import { assertHook } from "../../app/hooks.ts";
import { HOOK_EVENTS } from "../../contracts/hooks.ts";
import type { LoadedKind } from "../../contracts/plugin.ts";
import { isRecord } from "../../contracts/values.ts";

const TOOL_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Of names; what follows such a border is a tool of an MCP server. */
const SERVER_BORDER = "__";

const METHODS: Readonly<Record<"provider" | "channel", readonly string[]>> = {
  provider: ["chatStream", "isAvailable", "getModel", "setModel"],
  channel: ["start", "stop", "send", "onMessage", "onCommand"],
};

/** As the end of a sentence; null when nothing is wrong. `id`: of the entry in cairn.yaml. */
export function shapeProblem(kind: LoadedKind, made: unknown, id: string): string | null {
  if (kind === "tool" || kind === "hook") {
    const all: readonly unknown[] = Array.isArray(made) ? made : [made];
    if (all.length === 0) return `create has made no ${kind}`;
    return firstProblem(all, kind === "tool" ? toolProblem : hookProblem);
  }
  if (!isRecord(made)) return `create has made no ${kind}`;
  const missing = METHODS[kind].find((method) => typeof made[method] !== "function");
  if (missing !== undefined) return `the ${kind} has no method ${missing}`;
  if (made["id"] !== id) return `the ${kind} must have the id that it was given`;
  const name = kind === "provider" ? "name" : "platform";
  return isText(made[name]) ? null : `the ${kind} has no ${name}`;
}

function toolProblem(tool: unknown): string | null {
  if (!isRecord(tool)) return "create has made no tool";
  const { name, description, parameters, execute, pathArguments = [] } = tool;
  if (typeof name !== "string" || !TOOL_NAME.test(name) || name.includes(SERVER_BORDER)) {
    return `a tool's name must be letters, digits, - and single _, at most 64, starting with a letter: ${String(name)}`;
  }
  if (!isText(description)) return `the tool ${name} has no description`;
  if (typeof execute !== "function") return `the tool ${name} has no method execute`;
  if (!Array.isArray(pathArguments) || !pathArguments.every(isText)) {
    return `pathArguments of the tool ${name} must be a list of names`;
  }
  if (!isRecord(parameters) || parameters["type"] !== "object") {
    return `parameters of the tool ${name} must be a JSON Schema with "type": "object"`;
  }
  try {
    new Ajv({ strict: false, validateFormats: false }).compile(parameters);
    return null;
  } catch {
    return `parameters of the tool ${name} is no JSON Schema`;
  }
}

function hookProblem(hook: unknown): string | null {
  if (!isRecord(hook)) return "create has made no hook";
  const { name, event, priority, run, policy, deadlineMs } = hook;
  if (!isText(name)) return "a hook has no name";
  if (typeof event !== "string" || !isEvent(event)) return `hook ${name}: there is no event ${String(event)}`;
  if (typeof run !== "function") return `hook ${name} has no method run`;
  if (policy !== undefined && policy !== "open" && policy !== "closed")
    return `hook ${name}: a policy is open or closed`;
  if (typeof priority !== "number" || (deadlineMs !== undefined && typeof deadlineMs !== "number")) {
    return `hook ${name}: priority and deadlineMs are numbers`;
  }
  try {
    assertHook({ name, event, priority, policy, deadlineMs });
    return null;
  } catch (error) {
    return error instanceof RangeError ? error.message : `hook ${name} cannot be used`;
  }
}

function isEvent(event: string): event is keyof typeof HOOK_EVENTS {
  return Object.hasOwn(HOOK_EVENTS, event);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function firstProblem(all: readonly unknown[], problemOf: (one: unknown) => string | null): string | null {
  for (const one of all) {
    const problem = problemOf(one);
    if (problem !== null) return problem;
  }
  return null;
}
