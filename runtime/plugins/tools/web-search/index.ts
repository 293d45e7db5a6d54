/** web_search: what a search engine of the owner's choice finds, as title, address and a few words each. */

import { ToolError } from "../../../contracts/errors.ts";
import type { NewId } from "../../../contracts/ports.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { hostOf, networkPolicy } from "../../../domain/web/network-policy.ts";
import { retryAfterSeconds } from "../../../domain/web/retry-after.ts";
import { webFence } from "../../../domain/web/web-fence.ts";
import { optionalInteger, stringArgument } from "../shared/arguments.ts";
import { webCall } from "../shared/web/call.ts";
import { createHtmlReader, type HtmlReader } from "../shared/web/html.ts";
import type { WebNetwork } from "../shared/web/network.ts";
import { sendRequest } from "../shared/web/request.ts";
import type { Answer, Backend, WebSearchSettings } from "./backend.ts";
import { brave } from "./brave.ts";
import { duckDuckGo } from "./duckduckgo.ts";
import { renderHits } from "./hits.ts";
import { searxng } from "./searxng.ts";
import { tavily } from "./tavily.ts";

export interface WebSearchDeps {
  readonly settings: WebSearchSettings;
  readonly newId: NewId;
  readonly network: WebNetwork;
  readonly html?: HtmlReader;
}

const TIMEOUT_MS = 20_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** What Brave and Tavily take. */
const MAX_QUERY = 400;

export function createWebSearchTool({ settings, newId, network, html = createHtmlReader() }: WebSearchDeps): Tool {
  const backend = backendOf(settings);
  const { maxResults } = settings;
  return {
    name: "web_search",
    description: `Search the web with ${backend.name}. Each result has a title, an address and a few words of the page.`,
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: MAX_QUERY, description: "What to search for." },
        count: { type: "integer", minimum: 1, maximum: maxResults, description: `Results; default ${maxResults}.` },
      },
      required: ["query"],
      additionalProperties: false,
    },
    parallel: true,
    async execute(args, signal) {
      const query = stringArgument(args, "query");
      const count = optionalInteger(args, "count", 1, maxResults) ?? maxResults;
      const request = backend.request(query, count);
      // The engine is the owner's choice, wherever it is. Redirects are not followed, so that a key goes nowhere else.
      const policy = networkPolicy({ allow: [hostOf(request.url)], ownNetworks: [] });
      const call = { policy, network, timeoutMs: TIMEOUT_MS, setting: "tools.web_search.base_url", signal };
      return webCall(call, async (agent, until) => {
        const answer = await sendRequest(agent, request, until);
        const { bytes } = await answer.read(MAX_BYTES);
        const text = new TextDecoder().decode(bytes);
        if (answer.status !== 200)
          throw refusal(backend, { status: answer.status, text }, answer.header("retry-after"));
        const hits = await backend.hits(text, html, until);
        if (hits === null)
          throw new ToolError("TOOL_FAILED", `What answers is not ${backend.name}.`, { hint: ADDRESS });
        const found = renderHits(hits, count);
        return { content: found === "" ? "Nothing was found." : webFence(found, newId()) };
      });
    },
  };
}

const ADDRESS = "The owner checks tools.web_search.base_url.";

function refusal(backend: Backend, answer: Answer, retryAfter: string): ToolError {
  const { status } = answer;
  const own = backend.refusal?.(answer);
  if (own !== undefined) return own;
  if (status === 429) {
    const retryAfterS = retryAfterSeconds(retryAfter);
    const hint = retryAfterS === undefined ? "Wait before the next search." : `It asks to wait ${retryAfterS} s.`;
    return new ToolError("TOOL_UNAVAILABLE", `${backend.name} allows no more searches for now.`, {
      hint,
      ...(retryAfterS === undefined ? {} : { retryAfterS }),
    });
  }
  if (status >= 500) return new ToolError("TOOL_UNAVAILABLE", `${backend.name} answers with the status ${status}.`);
  return new ToolError("TOOL_FAILED", `${backend.name} answers with the status ${status}.`, { hint: ADDRESS });
}

/** What an engine needs is checked where the configuration is read. */
function backendOf({ backend, baseUrl, apiKey }: WebSearchSettings): Backend {
  if (backend === "searxng") return searxng(baseUrl ?? "");
  if (backend === "brave") return brave(baseUrl, apiKey ?? "");
  if (backend === "tavily") return tavily(baseUrl, apiKey ?? "");
  return duckDuckGo(baseUrl);
}
