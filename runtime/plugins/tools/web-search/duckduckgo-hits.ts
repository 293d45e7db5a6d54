/** The entries of DuckDuckGo's page of results, without advertisements. Pure. */

import type { PageElement } from "@mixmark-io/domino";
import { parseHtml } from "../shared/web/parse-html.ts";
import type { SearchHit } from "./hits.ts";

/** Null for a page that is none of results. */
export function duckDuckGoHits(html: string): SearchHit[] | null {
  const page = parseHtml(html);
  const results = [...page.querySelectorAll(".result")];
  if (results.length === 0) return page.querySelectorAll(".no-results").length === 0 ? null : [];
  return results.flatMap((result) => {
    if (result.getAttribute("class")?.includes("result--ad")) return [];
    const link = result.querySelector("a.result__a");
    const url = target(link?.getAttribute("href") ?? "");
    return !link || url === null ? [] : [{ title: link.textContent, url, snippet: snippetOf(result) }];
  });
}

function snippetOf(result: PageElement): string {
  return result.querySelector(".result__snippet")?.textContent ?? "";
}

/** Links lead over an address of DuckDuckGo's that has the page's in `uddg`. */
function target(href: string): string | null {
  const url = URL.parse(href, "https://duckduckgo.com");
  if (url === null) return null;
  return url.pathname === "/l/" ? url.searchParams.get("uddg") : url.href;
}
