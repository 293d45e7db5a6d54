import { ToolError } from "../../../contracts/errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import { type Backend, endpoint, parseJson, wrongKey } from "./backend.ts";
import { hitsOf } from "./hits.ts";

const BASE = "https://api.tavily.com";
const MOST = 20;
/** The plan's, and the pay-as-you-go limit. */
const USED_UP: ReadonlySet<number> = new Set([432, 433]);

/** Tavily's search API. */
export function tavily(base: string | null, key: string): Backend {
  return {
    name: "Tavily",
    request: (query, count) => ({
      url: endpoint(base ?? BASE, "/search"),
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ query, max_results: Math.min(count, MOST), search_depth: "basic" }),
    }),
    async hits(text) {
      const answer = parseJson(text);
      return isRecord(answer) ? hitsOf(answer["results"], { snippet: "content" }) : null;
    },
    refusal({ status }) {
      if (status === 401 || status === 403) return wrongKey("Tavily");
      return USED_UP.has(status)
        ? new ToolError("TOOL_FAILED", "The searches of Tavily's plan are used up.")
        : undefined;
    },
  };
}
