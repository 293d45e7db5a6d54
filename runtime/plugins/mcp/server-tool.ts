/** A tool of an MCP server as an agent's tool: its call goes to the server, and what comes back is marked as the server's words. */

import type { Clock, NewId } from "../../contracts/ports.ts";
import type { Tool } from "../../contracts/tool.ts";
import { fenced, renderToolResult, serverWord } from "../../domain/mcp/tool-text.ts";
import type { McpConnection } from "./connection.ts";
import { PROGRESS_MS } from "./limits.ts";
import type { ListedTool } from "./listed-tools.ts";
import type { McpServerSettings } from "./settings.ts";

export interface ServerToolDeps {
  readonly settings: McpServerSettings;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Null where the tool cannot be called any more. */
  connection(): McpConnection | null;
  /** Why there is none. */
  reason(): string | null;
}

/** Never beside other calls: that a tool only reads is a claim of its server. */
export function createServerTool(listed: ListedTool, deps: ServerToolDeps): Tool {
  const { settings, clock, newId } = deps;
  const { id, timeoutMs } = settings;
  return {
    name: listed.name,
    description: listed.description,
    parameters: listed.parameters,
    async execute(args, signal, context) {
      const { notConnected } = await import("./failures.ts");
      const connection = deps.connection();
      if (connection === null) throw notConnected(id, deps.reason());
      let nextReport = 0;
      const answer = await connection.call(listed.tool, args, {
        signal,
        timeoutMs,
        onProgress({ progress, total, message }) {
          if (clock.monotonic() < nextReport) return;
          nextReport = clock.monotonic() + PROGRESS_MS;
          const words = message === undefined ? "" : `: ${serverWord(message)}`;
          context?.progress(`${id} ${progress}${total === undefined ? "" : ` of ${total}`}${words}`);
        },
      });
      if ("refusal" in answer) return { content: fenced(id, newId(), answer.refusal), isError: true };
      const { content, structuredContent, isError } = answer.result;
      return {
        content: renderToolResult(id, newId(), content, structuredContent),
        ...(isError === true ? { isError: true } : {}),
      };
    },
  };
}
