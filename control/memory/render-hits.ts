/** Hits of a search in words: where each comes from, then its text around the words that were looked for. */

import type { MemoryHit } from "../../runtime/contracts/memory.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { firstMatch, highlighted, matcherOf } from "./highlight.ts";
import { indented, shortened, shortTime } from "./render-rows.ts";

const LONGEST = 400;
/** Characters that stand before the first match of a text that is cut. */
const BEFORE_MATCH = 120;

/** What `memory_search` says with `synthesize`: an answer, or why there is none. */
export interface Answered {
  readonly answer?: { readonly text: string; readonly citations: readonly string[] };
  readonly answer_missing?: string;
}

/** What was looked for, whose words are marked. */
export interface SearchedFor {
  readonly query: string;
  readonly mode: string;
}

export function renderHits(hits: readonly MemoryHit[], mark: Mark, search?: SearchedFor): string {
  const matcher = matcherFor(search);
  return hits.map((hit) => renderHit(hit, "", mark, matcher)).join("\n\n");
}

/** The answer, then the hits under the numbers by which it names them. */
export function renderAnswered(
  { answer, answer_missing: missing = "" }: Answered,
  hits: readonly MemoryHit[],
  mark: Mark,
  search?: SearchedFor,
) {
  const head = answer === undefined ? `${mark.warn("No answer:")} ${visible(missing)}` : visible(answer.text);
  const matcher = matcherFor(search);
  return [head, ...hits.map((hit, n) => renderHit(hit, `[${n + 1}] `, mark, matcher))].join("\n\n");
}

function matcherFor(search: SearchedFor | undefined): RegExp | null {
  return search === undefined ? null : matcherOf(search.query, search.mode);
}

function renderHit(hit: MemoryHit, number: string, mark: Mark, matcher: RegExp | null): string {
  const who = hit.kind === "summary" ? "summary" : `${hit.agent ?? "unknown"}/${hit.role ?? "unknown"}`;
  const where = hit.session === undefined || hit.session === null ? "" : ` in ${visible(hit.session)}`;
  const details = mark.dim(`score ${hit.score.toFixed(3)}, ${hit.id}`);
  const head = `${number}${mark.name(visible(who))} ${shortTime(hit.created_at)}${where} ${details}`;
  const text = excerpt(visible(hit.content.trim()), matcher);
  return `${head}\n${indented(highlighted(text, matcher, mark.title))}`;
}

/** A long text is cut, so that the first match is in what is left of it. */
function excerpt(text: string, matcher: RegExp | null): string {
  const at = firstMatch(text, matcher);
  if (text.length <= LONGEST || at < LONGEST - BEFORE_MATCH) return shortened(text, LONGEST);
  const from = at - BEFORE_MATCH;
  return `…${shortened(text.slice(from).replace(/^[\udc00-\udfff]/, ""), LONGEST)}`;
}
