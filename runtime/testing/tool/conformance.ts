/** The contract of a tool as checks, one for each thing that a turn relies on; for any test runner. */

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tool, ToolContext, ToolResult } from "../../contracts/tool.ts";
import { isRecord } from "../../contracts/values.ts";
import { type ConformanceCheck, inTime } from "../check.ts";
import { frozen } from "../frozen.ts";
import type { OpenTool, ToolArguments, ToolHarness } from "./harness.ts";

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Milliseconds that a call may go on after its signal. */
const ABORT_MS = 5_000;
const BEGIN_MS = 50;

export function toolConformance({ open, valid, failing, slow }: ToolHarness): readonly ConformanceCheck[] {
  const checks: [name: string, run: (opened: OpenTool) => void | Promise<void>][] = [
    ["has a name that every provider takes, and a description", hasName],
    ["has parameters that are the JSON Schema of an object", hasParameters],
    ["names as paths only arguments that it has", hasPaths],
  ];
  if (valid) {
    checks.push(
      ["answers a call with text", async (opened) => answers(await call(opened, valid))],
      ["changes nothing of its arguments and its context", async (opened) => void (await call(opened, frozen(valid)))],
    );
  }
  const any = slow ?? valid;
  if (any) checks.push(["ends at once where its signal has aborted before", (opened) => endsAtSignal(opened, any, 0)]);
  if (slow) checks.push(["ends soon after its signal aborts", (opened) => endsAtSignal(opened, slow, BEGIN_MS)]);
  if (failing) checks.push(["tells a failure as an error", (opened) => reportsFailure(opened, failing)]);
  return checks.map(([name, run]) => ({
    name,
    async run() {
      const opened = await open();
      try {
        await inTime(name, Promise.resolve(run(opened)));
      } finally {
        await opened.close?.();
      }
    },
  }));
}

function hasName({ tool }: OpenTool): void {
  assert.match(tool.name, NAME, "the name has to be letters, digits, - and _, at most 64, starting with a letter");
  assert(!tool.name.includes("__"), "a name with __ is one of an MCP server's tool");
  assert(typeof tool.description === "string" && tool.description !== "", "the model chooses it by its description");
}

function propertiesOf({ parameters }: Tool): Readonly<Record<string, unknown>> {
  assert(isRecord(parameters) && parameters["type"] === "object", 'parameters has to have "type": "object"');
  const { properties = {} } = parameters;
  assert(isRecord(properties), "properties has to be an object");
  return properties;
}

function hasParameters({ tool }: OpenTool): void {
  const properties = propertiesOf(tool);
  const required: unknown = tool.parameters["required"] ?? [];
  assert(Array.isArray(required), "required has to be a list");
  for (const name of required) assert(Object.hasOwn(properties, String(name)), `required names ${name}, which is none`);
  for (const [name, schema] of Object.entries(properties)) assert(isRecord(schema), `${name} has to have a schema`);
  assert.deepEqual(JSON.parse(JSON.stringify(tool.parameters)), tool.parameters, "parameters has to be plain JSON");
}

function hasPaths({ tool }: OpenTool): void {
  const properties = propertiesOf(tool);
  for (const name of tool.pathArguments ?? []) {
    assert(Object.hasOwn(properties, name), `pathArguments names ${name}, which is no argument`);
  }
}

async function call({ tool, context }: OpenTool, args: ToolArguments, signal?: AbortSignal): Promise<ToolResult> {
  return tool.execute(args, signal ?? new AbortController().signal, { ...CONTEXT, ...context });
}

function answers(result: ToolResult): void {
  assert(typeof result?.content === "string", "a result has to have content, a text");
  assert(result.isError !== true, `the call has to succeed: ${result.content}`);
}

/** An end is a result or an error: the turn reads neither any more. */
async function endsAtSignal(opened: OpenTool, args: ToolArguments, afterMs: number): Promise<void> {
  const aborting = new AbortController();
  if (afterMs === 0) aborting.abort(new Error("stopped"));
  const ended = call(opened, args, aborting.signal).then(
    () => true,
    () => true,
  );
  if (afterMs > 0) {
    const early = await Promise.race([ended, sleep(afterMs).then(() => false)]);
    assert(!early, "the call that was said to be slow has ended by itself");
    aborting.abort(new Error("stopped"));
  }
  const deadline = new AbortController();
  const late = sleep(ABORT_MS, false, { signal: deadline.signal }).catch(() => false);
  assert(await Promise.race([ended, late]), `the call goes on ${ABORT_MS / 1_000} s after its signal`);
  deadline.abort();
}

async function reportsFailure(opened: OpenTool, args: ToolArguments): Promise<void> {
  let result: ToolResult;
  try {
    result = await call(opened, args);
  } catch (error) {
    // Whichever copy of its class it is from.
    const code = error instanceof Error && "code" in error ? String(error.code) : "no code";
    assert.match(
      code,
      /^[A-Z]+_[A-Z_]+$/,
      `a call fails with an error of Cairn's table, such as a ToolError: ${error}`,
    );
    return;
  }
  assert(typeof result?.content === "string" && result.content !== "", "an error result has to say what is wrong");
  assert.equal(result.isError, true, "the result of a call that failed has to have isError");
}

const noPort = async (): Promise<never> => {
  throw new Error("the harness gives no such port: it is a member of its context");
};

const CONTEXT: ToolContext = {
  agent: "main",
  sessionKey: "session",
  conversationId: "conversation",
  turnId: "turn",
  toolCallId: "call",
  tools: [],
  workspace: "/nonexistent",
  channel: "agent",
  user: "owner",
  owner: true,
  ask: noPort,
  delegate: noPort,
  spawn: noPort,
  once: (work) => work(),
  progress: () => undefined,
  deliver: noPort,
  sendFile: noPort,
};
