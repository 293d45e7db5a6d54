/** What a search engine's adapter says: the request for a query, the hits of an answer, and what a refusal means. */

import { ToolError } from "../../../contracts/errors.ts";
import type { HtmlReader } from "../shared/web/html.ts";
import type { WebRequest } from "../shared/web/request.ts";
import type { SearchHit } from "./hits.ts";

export const BACKENDS = ["searxng", "brave", "tavily", "duckduckgo"] as const;
export type BackendId = (typeof BACKENDS)[number];

export interface WebSearchSettings {
  readonly backend: BackendId;
  /** Null: the service's own address. SearXNG has none. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly maxResults: number;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export interface Backend {
  readonly name: string;
  request(query: string, count: number): WebRequest;
  /** Null when the answer is not one of this engine. */
  hits(text: string, html: HtmlReader, signal: AbortSignal): Promise<readonly SearchHit[] | null>;
  /** What this engine means by a status that is not 200; undefined: nothing of its own. */
  refusal?(answer: Answer): ToolError | undefined;
}

/** Below an address that may have a path and a query of its own. */
export function endpoint(base: string, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** Undefined for text that is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function wrongKey(name: string): ToolError {
  return new ToolError("TOOL_FAILED", `${name} does not accept the key.`, {
    hint: "The owner sets it with tools.web_search.api_key.",
  });
}
