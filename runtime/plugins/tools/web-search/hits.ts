/** What a search engine has found, as a model reads it: bounded, one entry each, addresses of the web alone. Pure. */

import { isRecord } from "../../../contracts/values.ts";
import { webText } from "../../../domain/web/web-fence.ts";

export interface SearchHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

const MAX_TITLE = 200;
const MAX_SNIPPET = 500;
const MAX_URL = 2_000;

/** The entries of a backend's list; those that are none are left out. Null where there is no list: the answer is another one. */
export function hitsOf(list: unknown, fields: { readonly snippet: string }): SearchHit[] | null {
  if (!Array.isArray(list)) return null;
  return list.flatMap((entry: unknown) => {
    if (!isRecord(entry)) return [];
    const { title, url, [fields.snippet]: snippet } = entry;
    if (typeof url !== "string") return [];
    return [
      { title: typeof title === "string" ? title : "", url, snippet: typeof snippet === "string" ? snippet : "" },
    ];
  });
}

export function renderHits(hits: readonly SearchHit[], most: number): string {
  const shown = hits.filter(({ url }) => /^https?:\/\//i.test(url) && url.length <= MAX_URL).slice(0, most);
  const entries = shown.map(({ title, url, snippet }, index) => {
    const lines = [line(title, MAX_TITLE) || "(no title)", line(url, MAX_URL), line(snippet, MAX_SNIPPET)];
    return `${index + 1}. ${lines.filter((text) => text !== "").join("\n   ")}`;
  });
  return entries.join("\n");
}

function line(text: string, most: number): string {
  const whole = webText(text).replace(/\s+/g, " ").trim();
  return whole.length <= most ? whole : `${whole.slice(0, most).toWellFormed()}...`;
}
