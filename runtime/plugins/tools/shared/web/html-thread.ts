/** The thread that reads HTML: one task, one answer. It has neither secrets nor an environment, and opens nothing. */

import { parentPort, workerData } from "node:worker_threads";
import { type Markdown, pageMarkdown } from "../../web-fetch/markdown.ts";
import { duckDuckGoHits } from "../../web-search/duckduckgo-hits.ts";
import type { SearchHit } from "../../web-search/hits.ts";

export type HtmlTask =
  | { readonly kind: "page"; readonly html: string; readonly url: string }
  | { readonly kind: "duckduckgo"; readonly html: string };

export interface HtmlResults {
  readonly page: Markdown;
  readonly duckduckgo: readonly SearchHit[] | null;
}

export type HtmlAnswer = { readonly ok: true; readonly result: HtmlResults[HtmlTask["kind"]] } | { readonly ok: false };

// What this file is started with.
const task = workerData as HtmlTask;
parentPort?.postMessage(answer());

function answer(): HtmlAnswer {
  try {
    return { ok: true, result: task.kind === "page" ? pageMarkdown(task.html, task.url) : duckDuckGoHits(task.html) };
  } catch (error) {
    // The stack's end: parsers of trees call themselves for each level.
    if (error instanceof RangeError) return { ok: false };
    throw error;
  }
}
