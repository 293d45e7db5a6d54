/** The MCP servers of a node without the node: real connections, and the registry that they fill. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ToolRegistry } from "../../runtime/app/tool-registry.ts";
import type { Tool, ToolContext, ToolResult } from "../../runtime/contracts/tool.ts";
import { createMcpServers, type McpServerSettings, type RunningMcpServers } from "../../runtime/plugins/mcp/index.ts";
import { eventually } from "./eventually.ts";
import { recordingLogger } from "./recording-logger.ts";

const PROGRAM = join(import.meta.dirname, "..", "fakes", "mcp", "main.ts");

export interface McpHarness {
  readonly servers: RunningMcpServers;
  readonly registry: ToolRegistry;
  readonly log: string[];
  readonly directory: string;
  names(): string[];
  tool(name: string): Tool;
  call(name: string, args?: object, signal?: AbortSignal, context?: Partial<ToolContext>): Promise<ToolResult>;
  /** Waits until the server is up. */
  up(id: string): Promise<void>;
}

export type ServerSpec = Partial<Omit<McpServerSettings, "id">>;

/** A server's program with these options of the fake, or with those in a file. */
export function program(
  options: object | `@${string}` = {},
  env: Record<string, string> = {},
): McpServerSettings["target"] {
  return {
    kind: "stdio",
    command: process.execPath,
    args: [PROGRAM, typeof options === "string" ? options : JSON.stringify(options)],
    env,
    cwd: tmpdir(),
  };
}

/** Started; ends with the test. */
export async function startMcpServers(
  specs: Readonly<Record<string, ServerSpec>>,
  options: {
    readonly directory?: string;
    /** Default: `mcp-tools.json` in the directory. */
    readonly pinsFile?: string;
    readonly tools?: readonly Tool[];
    readonly env?: Record<string, string>;
  } = {},
): Promise<McpHarness> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "cairn-mcp-")));
  const registry = new ToolRegistry(options.tools ?? []);
  const log: string[] = [];
  const servers = createMcpServers({
    servers: Object.entries(specs).map(([id, spec]) => ({
      id,
      timeoutMs: 600_000,
      exclude: [],
      target: program(),
      ...spec,
    })),
    registry,
    pinsFile: options.pinsFile ?? join(directory, "mcp-tools.json"),
    hostEnv: options.env ?? process.env,
    version: "0.0.0",
    clock: { now: () => new Date(), monotonic: () => performance.now() },
    newId: () => "m-1",
    logger: recordingLogger(log),
  });
  servers.start();
  onTestFinished(async () => {
    await servers.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const tool = (name: string): Tool => {
    const found = registry.snapshot().tools.find((one) => one.name === name);
    if (!found) throw new Error(`There is no tool ${name}.`);
    return found;
  };
  return {
    servers,
    registry,
    log,
    directory,
    names: () => registry.snapshot().tools.map(({ name }) => name),
    tool,
    // Of the context the tools use the ports alone.
    call: (name, args = {}, signal, context) => tool(name).execute({ ...args }, signal, context as ToolContext),
    up: (id) =>
      eventually(() => {
        const state = servers.report()[id];
        if (state?.state !== "up") throw new Error(`The server ${id} is ${state?.state}: ${state?.reason}`);
      }),
  };
}
