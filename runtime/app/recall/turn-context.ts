import type { ScoreParts } from "../../contracts/memory.ts";
import { memoryFence, memoryLine } from "../../domain/memory-fence.ts";
import { relevance } from "../../domain/scoring.ts";
import { type CountTokens, fitText } from "../../domain/tokens.ts";
import { type Candidate, findCandidates, scored } from "./candidates.ts";
import type { Filters } from "./filters.ts";
import type { ConversationOrigin, Origins } from "./origins.ts";
import { analyzeAndEmbed } from "./query-vector.ts";
import { rank } from "./ranking.ts";
import type { SearchDeps } from "./search.ts";

/**
 * What the prompt gets of the memory: rows that are relevant to the message, ranked by the specification's formula and
 * added from the highest score downward until the budget is reached. Every turn waits for it, so it does little.
 */

export interface ContextRequest {
  readonly query: string;
  readonly agent: string;
  readonly maxTokens: number;
  readonly filters: Filters;
  readonly signal?: AbortSignal | undefined;
}

export interface ContextDeps extends SearchDeps {
  readonly countTokens: CountTokens;
  readonly origins: Origins;
  /** A random text of letters and digits, another one at each call: what was stored cannot hold it. */
  readonly newMark: () => string;
}

const TOP = 60;
/** The head of the message is its query. */
const MAX_QUERY_UNITS = 2_000;
/** One long row must not push out everything else. */
const SHARE_OF_ONE = 0.25;
/** A row without a word of the query in it needs to be this close in meaning. */
const LEAST_SIMILARITY = 0.3;

export async function contextForTurn(deps: ContextDeps, request: ContextRequest): Promise<string> {
  request.signal?.throwIfAborted();
  const candidates = await related(deps, request);
  request.signal?.throwIfAborted();
  const relevant = candidates.filter(({ fts, semantic }) => fts > 0 || (semantic ?? 0) >= LEAST_SIMILARITY);
  const ranked = rank(relevant, deps.now(), (parts: ScoreParts) => relevance(parts));
  // Among equals the rows of this agent come first.
  const own = (agent: string | null) => (agent === request.agent ? 0 : 1);
  ranked.sort((a, b) => b.score - a.score || own(a.candidate.agent) - own(b.candidate.agent));
  const best = ranked.map(({ candidate }) => candidate);
  const origins = await deps.origins.of(
    deps.database,
    best.map(({ conversation_id: id }) => id),
  );
  request.signal?.throwIfAborted();
  return fill(best, { ...request, origins, mark: deps.newMark(), count: deps.countTokens });
}

async function related(deps: ContextDeps, request: ContextRequest): Promise<Candidate[]> {
  const query = request.query.slice(0, MAX_QUERY_UNITS);
  const { filters, signal } = request;
  const { analyzed, near } = await analyzeAndEmbed(deps, {
    query,
    scope: "both",
    filters,
    limit: TOP,
    withNeighbours: 0,
    signal,
  });
  const found = await findCandidates(deps.database, deps.rowCache, analyzed, {
    scope: "both",
    filters,
    byWords: true,
    // The stems hold identifiers that are written alike; those that are not are what memory_search is for.
    identifiers: [],
    near,
    top: TOP,
    withNeighbours: 0,
    nextNumber: deps.nextNumber,
  });
  return scored(analyzed, found);
}

interface Filling {
  readonly agent: string;
  readonly maxTokens: number;
  readonly origins: ReadonlyMap<string, ConversationOrigin>;
  readonly mark: string;
  readonly count: CountTokens;
}

function fill(candidates: readonly Candidate[], { agent, maxTokens, origins, mark, count }: Filling): string {
  const lines: string[] = [];
  const seen = new Set<string>();
  const budget = maxTokens - count(memoryFence([""], mark));
  let spent = 0;
  for (const candidate of candidates) {
    const said = candidate.head.trim();
    if (said === "" || seen.has(said)) continue;
    const row = {
      ...candidate,
      happenedAt: candidate.happened_at,
      text: said,
      origin: origins.get(candidate.conversation_id ?? "") ?? null,
    };
    const line = fitText(memoryLine(row, agent), Math.floor(budget * SHARE_OF_ONE), count);
    if (line === "") continue;
    spent += count(line) + 1;
    if (spent > budget) break;
    seen.add(said);
    lines.push(line);
  }
  // Counted line by line, which is quick, and once as a whole, because tokens may join differently there.
  while (lines.length > 0 && count(memoryFence(lines, mark)) > maxTokens) lines.pop();
  return memoryFence(lines, mark);
}
