/** A workspace on disk with something outside of it, and a way to call tools there. */

import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CairnError } from "../../../../runtime/contracts/errors.ts";
import type { Logger } from "../../../../runtime/contracts/ports.ts";
import type { Tool, ToolContext, ToolResult } from "../../../../runtime/contracts/tool.ts";

export interface ToolFixture extends AsyncDisposable {
  /** Holds `ws`, `ws-evil` and `home`. */
  readonly base: string;
  readonly workspace: string;
  readonly outside: string;
  readonly home: string;
  path(...parts: string[]): string;
}

export const SECRET = "the-secret-of-the-service";

export async function createPlace(): Promise<ToolFixture> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "cairn-tools-")));
  for (const name of ["ws", "ws-evil", "home"]) await mkdir(join(base, name));
  await writeFile(join(base, "ws-evil", "secret.txt"), SECRET);
  await writeFile(join(base, "home", "node.key"), SECRET);
  await writeFile(join(base, ".env"), `SERVICE_API_TOKEN=${SECRET}\n`);
  return {
    base,
    workspace: join(base, "ws"),
    outside: join(base, "ws-evil"),
    home: join(base, "home"),
    path: (...parts) => join(base, "ws", ...parts),
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}

export function contextFor(workspace: string, changes: Partial<ToolContext> = {}): ToolContext {
  return {
    agent: "main",
    sessionKey: "main:agent:talk:ada",
    conversationId: "0197c0de-0000-7000-8000-000000000001",
    turnId: "0197c0de-0000-7000-8000-000000000002",
    toolCallId: "call_1",
    tools: [],
    workspace,
    channel: "agent",
    user: "ada",
    owner: false,
    ask: () => Promise.reject(new Error("not to be asked")),
    delegate: () => Promise.reject(new Error("not to be delegated")),
    spawn: () => Promise.reject(new Error("not to be delegated")),
    once: (work) => work(),
    progress: () => undefined,
    deliver: async () => undefined,
    sendFile: async () => undefined,
    ...changes,
  };
}

/** The result in the owner's turn, or the error's code and message as the agent loop would show them. */
export async function call(
  tool: Tool,
  place: { readonly workspace: string },
  args: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
  changes: Partial<ToolContext> = {},
): Promise<ToolResult> {
  try {
    return await tool.execute(args, signal, contextFor(place.workspace, { owner: true, ...changes }));
  } catch (error) {
    if (!(error instanceof CairnError)) throw error;
    return { content: `${error.code}: ${error.message}`, isError: true };
  }
}

export const newId = randomUUID;

export const quietLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => quietLogger,
};
