/** Hits of a search in words: where each comes from, then its text. */

import type { MemoryHit } from "../../runtime/contracts/memory.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

const LONGEST = 400;
const INDENT = "  ";

/** What `memory_search` says with `synthesize`: an answer, or why there is none. */
export interface Answered {
  readonly answer?: { readonly text: string; readonly citations: readonly string[] };
  readonly answer_missing?: string;
}

export function renderHits(hits: readonly MemoryHit[], mark: Mark): string {
  return hits.map((hit) => renderHit(hit, "", mark)).join("\n\n");
}

/** The answer, then the hits under the numbers by which it names them. */
export function renderAnswered(
  { answer, answer_missing: missing = "" }: Answered,
  hits: readonly MemoryHit[],
  mark: Mark,
) {
  const head = answer === undefined ? `${mark.warn("No answer:")} ${visible(missing)}` : visible(answer.text);
  return [head, ...hits.map((hit, n) => renderHit(hit, `[${n + 1}] `, mark))].join("\n\n");
}

function renderHit(hit: MemoryHit, number: string, mark: Mark): string {
  const who = hit.kind === "summary" ? "summary" : `${hit.agent ?? "unknown"}/${hit.role ?? "unknown"}`;
  const when = hit.created_at.slice(0, 16).replace("T", " ");
  const head = `${number}${mark.name(visible(who))} ${when} ${mark.dim(`score ${hit.score.toFixed(3)}, ${hit.id}`)}`;
  return `${head}\n${indented(shortened(visible(hit.content.trim())))}`;
}

function shortened(text: string): string {
  if (text.length <= LONGEST) return text;
  // Never through the middle of a character.
  const cut = text.slice(0, LONGEST).replace(/[\ud800-\udbff]$/, "");
  return `${cut}…`;
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `${INDENT}${line}`.trimEnd())
    .join("\n");
}
