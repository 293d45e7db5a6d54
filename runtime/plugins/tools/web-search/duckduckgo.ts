import { ToolError } from "../../../contracts/errors.ts";
import { type Backend, endpoint } from "./backend.ts";

const BASE = "https://html.duckduckgo.com";

/**
 * DuckDuckGo's page of results for browsers without scripts. It is no interface that the service promises: it may change any
 * day, and programs that ask often are answered with a riddle (status 202).
 */
export function duckDuckGo(base: string | null): Backend {
  return {
    name: "DuckDuckGo",
    request: (q) => ({
      url: endpoint(base ?? BASE, "/html/"),
      method: "POST",
      headers: { accept: "text/html", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ q }).toString(),
    }),
    hits: (html, reader, signal) => reader.read({ kind: "duckduckgo", html }, signal),
    refusal({ status }) {
      if (status !== 202 && status !== 403) return undefined;
      return new ToolError("TOOL_UNAVAILABLE", "DuckDuckGo takes the node for a robot, and does not answer.", {
        hint: "Search less often, or choose another tools.web_search.backend.",
      });
    },
  };
}
