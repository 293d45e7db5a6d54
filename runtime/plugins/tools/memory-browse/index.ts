/** memory_browse for agents: messages in order of time, seen through the eyes of the turn's user. */

import type { MemoryTools } from "../../../app/api.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { createMemoryTool } from "../shared/memory-tool.ts";
import { presentMessages } from "./present.ts";

export function createMemoryBrowseTool(deps: { readonly memoryTools: MemoryTools }): Tool {
  return createMemoryTool(deps.memoryTools, {
    name: "memory_browse",
    description:
      "Read earlier messages in order of time, to review a conversation or a day. Newest first unless `order` is asc; " +
      "`next_cursor`, given back as `cursor`, continues.",
    parameters: {
      type: "object",
      properties: {
        conversation_id: { type: "string", description: "Only this conversation, as memory_search names it." },
        session_key: { type: "string" },
        agent: { type: "string" },
        channel: { type: "string" },
        role: { type: "string", enum: ["user", "assistant", "system", "tool"] },
        since: { type: "string", description: "ISO 8601 date or time: not before." },
        before: { type: "string", description: "ISO 8601 date or time: only earlier than." },
        window: {
          type: "string",
          enum: ["today", "yesterday", "this_morning", "this_week", "last_24h", "last_7d", "last_14d"],
        },
        limit: { type: "integer", minimum: 1, maximum: 200, description: "Default 50." },
        order: { type: "string", enum: ["asc", "desc"], description: "Default desc." },
        cursor: { type: "string", description: "next_cursor of the page before." },
      },
      additionalProperties: false,
    },
    present: presentMessages,
  });
}
