import type { FeatureRequest, Features } from "../features.ts";
import { type Filters, passesAsNeighbour } from "../filters.ts";
import type { FoundRow } from "../found.ts";
import type { AnalyzedQuery } from "../query-analysis.ts";
import type { CachedRow } from "./cached-row.ts";
import { neighboursOf, type SearchSnapshot, type Seen } from "./search-snapshot.ts";
import type { Similarities } from "./similarity.ts";
import { cosineOf, queryDirection } from "./vector.ts";

export interface Surroundings {
  /** Messages that bring those beside them. */
  readonly surrounded: readonly FoundRow[];
  readonly similarity: Similarities;
}

/** What the ranking is told, of found rows and those beside them, each once. */
export function featuresOf(
  snapshot: SearchSnapshot,
  query: AnalyzedQuery,
  request: FeatureRequest,
  { surrounded, similarity }: Surroundings,
): Features[] {
  const terms = query.terms.map(({ lexeme }) => lexeme);
  const asked = request.vector === null ? null : queryDirection(request.vector);
  const around = new Set(surrounded);
  const features = new Map<Seen, Features>();
  const add = (seen: Seen, found: FoundRow | null, isSurrounded: boolean) => {
    const { row } = seen;
    features.set(
      seen,
      new Described(seen, {
        found: found !== null,
        surrounded: isSurrounded,
        frequencies: terms.map((lexeme) => row.facts.words.get(lexeme) ?? 0),
        similarity: found !== null ? (similarity[row.facts.kind].get(row.facts.id) ?? 0) : 0,
        cosine: asked === null ? null : cosineOfRow(seen, found, asked),
      }),
    );
  };
  for (const ref of request.rows) {
    const seen = snapshot.row(ref);
    if (seen !== undefined) add(seen, ref, around.has(ref));
  }
  for (const ref of surrounded) {
    const row = snapshot.row(ref)?.row;
    if (row === undefined) continue;
    for (const { seq } of neighboursOf(row)) {
      const seen = snapshot.message(seq);
      if (seen !== undefined && !features.has(seen) && isVisible(seen.row, request.filters)) add(seen, null, false);
    }
  }
  return [...features.values()];
}

/** The database has told those that its index found. */
function cosineOfRow({ vector, cosine }: Seen, found: FoundRow | null, asked: Float32Array): number | null {
  if (found?.cosine !== undefined) return found.cosine;
  if (cosine !== undefined) return cosine;
  return vector === null ? null : cosineOf(vector, asked);
}

function isVisible({ facts }: CachedRow, filters: Filters): boolean {
  return passesAsNeighbour(filters, { id: facts.id, agent: facts.agent, createdMs: facts.createdMs });
}

interface OfThisSearch {
  readonly found: boolean;
  readonly surrounded: boolean;
  readonly frequencies: readonly number[];
  readonly similarity: number;
  readonly cosine: number | null;
}

/** Fields of its own, as the ranking reads them many times. */
class Described implements Features {
  readonly kind: Features["kind"];
  readonly id: string;
  readonly conversationId: string | null;
  readonly position: number;
  readonly neighbour: boolean;
  readonly surrounded: boolean;
  readonly agent: string | null;
  readonly channel: string | null;
  readonly role: Features["role"];
  readonly speaker: string | null;
  readonly createdAt: Date;
  readonly happenedAt: Date;
  readonly depth: number | null;
  readonly summaryKind: Features["summaryKind"];
  readonly length: number;
  readonly frequencies: readonly number[];
  readonly similarity: number;
  readonly cosine: number | null;
  readonly lastAccessedAt: Date | null;
  readonly accessCount: number;
  readonly head: string;
  readonly whole: boolean;
  readonly #row: CachedRow;

  constructor({ row, access }: Seen, here: OfThisSearch) {
    const { facts } = row;
    this.kind = facts.kind;
    this.id = facts.id;
    this.conversationId = facts.conversationId;
    this.position = facts.seq;
    this.neighbour = !here.found;
    this.surrounded = here.surrounded;
    this.agent = facts.agent;
    this.channel = facts.channel;
    this.role = facts.role;
    this.speaker = facts.speaker;
    this.createdAt = row.createdAt;
    this.happenedAt = row.happenedAt;
    this.depth = facts.depth;
    this.summaryKind = facts.summaryKind;
    this.length = facts.length;
    this.frequencies = here.frequencies;
    this.similarity = here.similarity;
    this.cosine = here.cosine;
    const lastMs = access?.lastMs ?? null;
    this.lastAccessedAt = lastMs === null ? null : new Date(lastMs);
    this.accessCount = access?.count ?? 0;
    this.head = facts.head;
    this.whole = facts.whole;
    this.#row = row;
  }

  get importance(): number {
    return this.#row.importance;
  }
}
