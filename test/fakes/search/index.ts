/**
 * Search engines on loopback: SearXNG (`GET /search`), Brave (`GET /res/v1/web/search`), Tavily (`POST /search`) and DuckDuckGo's
 * page for browsers without scripts (`POST /html/`). They refuse what the real ones refuse, in their words.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface FakeHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

export interface SearchFakeOptions {
  readonly hits?: readonly FakeHit[];
  /** Of Brave and Tavily. */
  readonly apiKey?: string;
  /** `search.formats` of SearXNG. */
  readonly formats?: readonly string[];
  /** Answers every request. */
  readonly fault?: {
    readonly status: number;
    readonly body?: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
}

export interface SearchFake {
  readonly url: string;
  /** `GET /search?q=x`, and the body behind a space where there is one. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export async function startSearchFake(options: SearchFakeOptions = {}): Promise<SearchFake> {
  const requests: string[] = [];
  const server = createServer((incoming, response) => {
    void readAll(incoming).then((body) => {
      requests.push(`${incoming.method} ${incoming.url}${body === "" ? "" : ` ${body}`}`);
      answer(incoming, body, response, options);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function answer(incoming: IncomingMessage, body: string, response: ServerResponse, options: SearchFakeOptions): void {
  const { hits = [], fault } = options;
  if (fault) {
    response.writeHead(fault.status, fault.headers).end(fault.body ?? "");
    return;
  }
  const url = new URL(incoming.url ?? "", "http://fake");
  const route = `${incoming.method} ${url.pathname}`;
  if (route === "GET /search") searxng(url.searchParams, hits, response, options.formats ?? ["html", "json"]);
  else if (route === "GET /res/v1/web/search") brave(incoming, url.searchParams, hits, response, options.apiKey);
  else if (route === "POST /search") tavily(incoming, body, hits, response, options.apiKey);
  else if (route === "POST /html/") duckDuckGo(incoming, body, hits, response);
  else response.writeHead(404).end();
}

function searxng(
  query: URLSearchParams,
  hits: readonly FakeHit[],
  response: ServerResponse,
  formats: readonly string[],
) {
  const format = query.get("format") ?? "html";
  if (!formats.includes(format)) return void response.writeHead(403, { "content-type": "text/html" }).end("Forbidden");
  if (!query.get("q")) return void response.writeHead(400).end("No query");
  json(response, 200, {
    query: query.get("q"),
    number_of_results: 0,
    results: hits.map(({ title, url, snippet }) => ({ url, title, content: snippet, engine: "wikipedia", score: 1 })),
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: [],
    unresponsive_engines: [],
  });
}

function brave(
  incoming: IncomingMessage,
  query: URLSearchParams,
  hits: readonly FakeHit[],
  response: ServerResponse,
  key?: string,
) {
  const fail = (status: number, code: string) =>
    json(response, status, { type: "ErrorResponse", error: { id: "1", status, code, detail: code }, time: 1 });
  if (incoming.headers["x-subscription-token"] !== key) return fail(422, "SUBSCRIPTION_TOKEN_INVALID");
  const q = query.get("q") ?? "";
  const count = Number(query.get("count") ?? 20);
  const isValid = q !== "" && q.length <= 400 && q.split(/\s+/).length <= 50 && count >= 1 && count <= 20;
  if (!isValid) return fail(422, "VALIDATION");
  const tagged = query.get("text_decorations") === "false" ? "" : "<strong>";
  const results = hits.slice(0, count).map(({ title, url, snippet }) => ({
    type: "search_result",
    title,
    url,
    description: `${tagged}${snippet}`,
  }));
  const web = results.length === 0 ? {} : { web: { type: "search", results, family_friendly: true } };
  json(response, 200, { type: "search", query: { original: q }, ...web });
}

function tavily(
  incoming: IncomingMessage,
  body: string,
  hits: readonly FakeHit[],
  response: ServerResponse,
  key?: string,
) {
  const fail = (status: number, error: string) => json(response, status, { detail: { error } });
  if (incoming.headers.authorization !== `Bearer ${key}`) return fail(401, "Unauthorized: missing or invalid API key.");
  if (incoming.headers["content-type"] !== "application/json") return fail(400, "Invalid content type.");
  const { query, max_results: most, search_depth: depth } = JSON.parse(body);
  if (typeof query !== "string" || query === "" || query.length > 400) return fail(400, "Query is invalid.");
  if (!Number.isInteger(most) || most < 0 || most > 20) return fail(400, "max_results is invalid.");
  if (depth !== "basic" && depth !== "advanced") return fail(400, "search_depth is invalid.");
  const results = hits.slice(0, most).map(({ title, url, snippet }) => ({ title, url, content: snippet, score: 0.9 }));
  json(response, 200, { query, answer: null, images: [], results, response_time: 0.5, request_id: "1" });
}

function duckDuckGo(incoming: IncomingMessage, body: string, hits: readonly FakeHit[], response: ServerResponse) {
  const q = new URLSearchParams(body).get("q");
  const isForm = incoming.headers["content-type"] === "application/x-www-form-urlencoded";
  if (!isForm || !q) return void response.writeHead(303, { location: "https://html.duckduckgo.com/" }).end();
  const link = (url: string) => `//duckduckgo.com/l/?uddg=${encodeURIComponent(url)}&amp;rut=0a1b`;
  const entry = ({ title, url, snippet }: FakeHit, kind = "") => `
<div class="result results_links results_links_deep ${kind} web-result"><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="${link(url)}">${title}</a></h2>
<a class="result__snippet" href="${link(url)}">${snippet}</a></div></div>`;
  const advertisement = entry({ title: "Buy!", url: "https://ads.example/", snippet: "now" }, "result--ad");
  const list = hits.length === 0 ? '<div class="no-results">No results.</div>' : hits.map((hit) => entry(hit)).join("");
  response.writeHead(200, { "content-type": "text/html; charset=UTF-8" });
  response.end(
    `<!DOCTYPE html><html><body><div class="serp__results">${hits.length > 0 ? advertisement : ""}${list}</div></body></html>`,
  );
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
