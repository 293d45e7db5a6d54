/** memory_search for agents: the search of the memory tools, seen through the eyes of the turn's user. */

import type { MemoryTools } from "../../../app/api.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { createMemoryTool } from "../shared/memory-tool.ts";
import { presentSearch } from "./present.ts";

export function createMemorySearchTool(deps: { readonly memoryTools: MemoryTools }): Tool {
  return createMemoryTool(deps.memoryTools, {
    name: "memory_search",
    description:
      "Search everything that was said and done in earlier conversations (messages, tool calls and summaries). " +
      "Best hits first; summaries come with what they summarize.",
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, description: "What to look for: a question, words, or an identifier." },
        mode: {
          type: "string",
          enum: ["hybrid", "fts", "trigram", "regex", "vector"],
          description: "hybrid (default) suits most questions; trigram for parts of names; regex for patterns.",
        },
        scope: { type: "string", enum: ["messages", "summaries", "both"], description: "Default both." },
        limit: { type: "integer", minimum: 1, maximum: 50, description: "Default 10." },
        agent: { type: "string", description: "Only what this agent was told or said." },
        since: { type: "string", description: "ISO 8601 date or time: not before." },
        before: { type: "string", description: "ISO 8601 date or time: only earlier than." },
        window: {
          type: "string",
          enum: ["today", "yesterday", "this_morning", "this_week", "last_24h", "last_7d", "last_14d"],
        },
        expand: { type: "boolean", description: "Expand the top summaries; default true." },
        synthesize: { type: "boolean", description: "Also write an answer from the hits; default false." },
      },
      required: ["query"],
      additionalProperties: false,
    },
    present: presentSearch,
  });
}
