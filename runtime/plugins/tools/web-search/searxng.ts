import { ToolError } from "../../../contracts/errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import { type Backend, endpoint, parseJson } from "./backend.ts";
import { hitsOf } from "./hits.ts";

/** SearXNG, a search engine to host oneself: `/search` with `format=json`, which its operator has to switch on. */
export function searxng(base: string): Backend {
  return {
    name: "SearXNG",
    request: (q) => ({
      url: endpoint(base, "/search", { q, format: "json" }),
      headers: { accept: "application/json" },
    }),
    async hits(text) {
      const answer = parseJson(text);
      return isRecord(answer) ? hitsOf(answer["results"], { snippet: "content" }) : null;
    },
    refusal({ status }) {
      if (status !== 403) return undefined;
      return new ToolError("TOOL_FAILED", "SearXNG gives no results as JSON.", {
        hint: "Its operator adds json to `search.formats` in its settings.yml: `search: { formats: [html, json] }`.",
      });
    },
  };
}
