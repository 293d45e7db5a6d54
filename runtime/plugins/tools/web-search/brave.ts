import { isRecord } from "../../../contracts/values.ts";
import { type Backend, endpoint, parseJson, wrongKey } from "./backend.ts";
import { hitsOf } from "./hits.ts";

const BASE = "https://api.search.brave.com/res/v1";
const MOST = 20;

/** Brave's API for web searches. A wrong key is a 422 whose code says so. */
export function brave(base: string | null, key: string): Backend {
  return {
    name: "Brave",
    request: (q, count) => ({
      url: endpoint(base ?? BASE, "/web/search", {
        q,
        count: String(Math.min(count, MOST)),
        // Else words of the query are in tags.
        text_decorations: "false",
      }),
      headers: { accept: "application/json", "x-subscription-token": key },
    }),
    async hits(text) {
      const answer = parseJson(text);
      if (!isRecord(answer) || answer["type"] !== "search") return null;
      // Nothing was found: there is no such part.
      return isRecord(answer["web"]) ? hitsOf(answer["web"]["results"], { snippet: "description" }) : [];
    },
    refusal: ({ status, text }) =>
      status === 401 || status === 403 || (status === 422 && text.includes("SUBSCRIPTION_TOKEN_INVALID"))
        ? wrongKey("Brave")
        : undefined,
  };
}
