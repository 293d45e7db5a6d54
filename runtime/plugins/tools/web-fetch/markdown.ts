/** A web page as Markdown: its article where it has one, else all that can be seen; links and images by whole addresses. */

import type { PageDocument, PageElement } from "@mixmark-io/domino";
import { Readability } from "@mozilla/readability";
import Turndown from "turndown";
import { parseHtml } from "../shared/web/parse-html.ts";
import { addTables } from "./tables.ts";

export interface Markdown {
  readonly title: string;
  readonly text: string;
}

/** An article is what a page is for if it has this many characters, or this share of them. */
const ARTICLE_CHARS = 500;
const ARTICLE_SHARE = 0.5;
/** The search for an article takes time that grows with the square of both. */
const DEEPEST_ARTICLE = 100;
const MOST_ELEMENTS = 5_000;
/** Characters: short links become whole addresses, so that a page can grow. */
const MOST_TEXT = 1_000_000;
const MOST_ADDRESS = 2_000;

const UNREAD = "script, style, noscript, template, iframe, object, embed, svg, canvas, button, input, select, textarea";
const HIDDEN = /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;

/** Pure but for its time, which a page decides: it is called in a thread that can be ended. */
export function pageMarkdown(html: string, url: string): Markdown {
  const page = readable(html, url);
  const content = findArticle(html, url, page) ?? page.querySelector("main") ?? page.body;
  const title = page.title.replace(/\s+/g, " ").trim();
  if (content === null) return { title, text: "" };
  const text = createService()
    .turndown(content as never)
    .trim();
  if (text.length <= MOST_TEXT) return { title, text };
  return { title, text: `${text.slice(0, MOST_TEXT).toWellFormed()}\n\n(the rest of the page is left out)` };
}

function findArticle(html: string, url: string, page: PageDocument): PageElement | null {
  const { depth, elements } = measure(page);
  if (depth > DEEPEST_ARTICLE || elements > MOST_ELEMENTS) return null;
  const all = page.body?.textContent.trim().length ?? 0;
  // It changes the document that it is given. The package's types need a browser's types.
  const reader = new Readability<PageElement>(readable(html, url) as never, {
    serializer: (node) => node as never,
    keepClasses: true,
  });
  const article = reader.parse();
  const found = article?.content ?? null;
  const length = article?.textContent?.trim().length ?? 0;
  return length >= ARTICLE_CHARS || length >= all * ARTICLE_SHARE ? found : null;
}

function readable(html: string, url: string): PageDocument {
  const page = parseHtml(html);
  const base = URL.parse(page.querySelector("base")?.getAttribute("href") ?? "", url)?.href ?? url;
  for (const element of page.querySelectorAll(UNREAD)) element.remove();
  for (const element of page.querySelectorAll("[hidden], [style]")) {
    const style = element.getAttribute("style") ?? "";
    if (element.getAttribute("hidden") !== null || HIDDEN.test(style)) element.remove();
  }
  for (const link of page.querySelectorAll("a")) makeAbsolute(link, "href", base, url);
  for (const image of page.querySelectorAll("img")) makeAbsolute(image, "src", base, url);
  // Not implemented there, and read by the search for an article.
  Object.defineProperty(page, "baseURI", { value: base });
  return page;
}

/** Addresses of the web alone: `javascript:` is none, and `data:` can be as long as the page. */
function makeAbsolute(element: PageElement, name: string, base: string, page: string): void {
  const given = element.getAttribute(name);
  if (given === null) return;
  const address = URL.parse(given, base);
  const isInPage = address !== null && address.hash !== "" && address.href.split("#", 1)[0] === page.split("#", 1)[0];
  if (
    address !== null &&
    !isInPage &&
    /^(?:https?|mailto):$/.test(address.protocol) &&
    address.href.length <= MOST_ADDRESS
  )
    element.setAttribute(name, address.href);
  else element.removeAttribute(name);
}

function measure(page: PageDocument): { readonly depth: number; readonly elements: number } {
  let elements = 0;
  let deepest = 0;
  const open: { readonly element: PageElement | null; readonly depth: number }[] = [{ element: page.body, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    deepest = Math.max(deepest, next.depth);
    for (let child = next.element?.firstElementChild ?? null; child !== null; child = child.nextElementSibling) {
      elements += 1;
      open.push({ element: child, depth: next.depth + 1 });
    }
  }
  return { depth: deepest, elements };
}

function createService(): Turndown {
  const service = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", hr: "---" });
  // It is read by a model, not rendered: `snake\_case` would only be in its way.
  service.escape = (text) => text;
  service.addRule("image", { filter: "img", replacement: (_, node) => image(node as unknown as PageElement) });
  addTables(service);
  return service;
}

function image(element: PageElement): string {
  const alt = (element.getAttribute("alt") ?? "").replace(/\s+/g, " ").trim();
  const source = element.getAttribute("src");
  return alt === "" || source === null ? "" : `![${alt}](${source})`;
}
