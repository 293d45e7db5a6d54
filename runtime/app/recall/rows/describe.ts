import type { Database } from "../../../contracts/database.ts";
import type { FeatureRequest, Features } from "../features.ts";
import type { FoundRow } from "../found.ts";
import type { AnalyzedQuery } from "../query-analysis.ts";
import { vectorParameter } from "../vectors.ts";
import type { CachedRow } from "./cached-row.ts";
import { type Changes, type Position, readChanges } from "./changes.ts";
import { featuresOf } from "./described.ts";
import { loadRows } from "./load.ts";
import type { RowCache } from "./row-cache.ts";
import { neighboursOf, SearchSnapshot } from "./search-snapshot.ts";
import { similarities } from "./similarity.ts";
import type { StoreState } from "./state.ts";

export interface Candidates {
  /** In no particular order; empty when nothing in the query can be looked up. */
  readonly rows: readonly Features[];
  /** State of the store in which they were read; undefined when it was not read. */
  readonly state: StoreState | undefined;
}

export interface DescribeRequest extends FeatureRequest {
  /** States that the statements that found the rows have read; none when they read none. */
  readonly states: readonly StoreState[];
}

/**
 * What the ranking needs of found rows and their neighbours: from the row cache what never changes, from the database what
 * does, and the rows that are not cached, at once. The same as `loadFeatures` answers.
 */
export async function describeRows(
  database: Database,
  cache: RowCache,
  query: AnalyzedQuery,
  request: DescribeRequest,
): Promise<Candidates> {
  if (request.rows.length === 0) return { rows: [], state: undefined };
  const similarity = similarities(database, request);
  // Rejects with the first error; the other promise is marked as handled.
  similarity.catch(() => undefined);
  const surrounded = request.rows.filter(({ kind }) => kind === "message").slice(0, request.withNeighbours);
  const given = { database, cache, query, request, surrounded };
  const { snapshot, state } = (await fromCache(given)) ?? (await fromDatabase(given));
  return { rows: featuresOf(snapshot, query, request, { surrounded, similarity: await similarity }), state };
}

interface Given {
  readonly database: Database;
  readonly cache: RowCache;
  readonly query: AnalyzedQuery;
  readonly request: DescribeRequest;
  /** Messages whose neighbours are wanted. */
  readonly surrounded: readonly FoundRow[];
}

interface Described {
  readonly snapshot: SearchSnapshot;
  readonly state: StoreState | undefined;
}

/** Null when the cache has none of them, or may be stale. */
async function fromCache(given: Given): Promise<Described | null> {
  const { database, cache, query, request } = given;
  const { states } = request;
  const modelId = query.model?.id ?? null;
  const holds = (state: StoreState | undefined) =>
    state === undefined || (state.text === cache.state && state.modelId === modelId);
  if (cache.state === undefined || !states.every(holds)) return null;
  const { snapshot, unknown, places, open } = recalled(given);
  if (snapshot.size === 0) return null;
  const { vectors, near } = compared(given);
  const rows = snapshot.all();
  const ends = endsOf(open);
  const asked = {
    model: query.model,
    rows: rows.flatMap(({ row, access }) => (access === undefined ? row.facts : [])),
    ends,
    vectors:
      vectors || near !== null
        ? rows.flatMap(({ row, vector, cosine }) => (vector === null && cosine === undefined ? row.facts : []))
        : [],
    near,
  };
  const nothingNew = states.length > 0 && asked.rows.length + asked.ends.length + asked.vectors.length === 0;
  const missing = new Set(unknown);
  const surrounded = given.surrounded.filter((ref) => missing.has(ref));
  const [changes, loading] = await Promise.all([
    nothingNew ? null : readChanges(database, asked),
    loadRows(database, { ...wanted(given), rows: unknown, surrounded, places }),
  ]);
  if (!holds(changes?.state) || !holds(loading.state) || !snapshot.agrees(loading)) return null;
  if (changes !== null) snapshot.take(changes, asked.rows);
  snapshot.add(loading);
  const described = { snapshot, state: states[0] ?? changes?.state };
  const late = followersOf(snapshot, open, ends, changes?.following ?? []);
  if (late.length === 0) return described;
  const followers = await loadRows(database, { ...wanted(given), rows: [], surrounded: [], places: late });
  if (!holds(followers.state)) return null;
  snapshot.add(followers);
  return described;
}

interface Recalled {
  readonly snapshot: SearchSnapshot;
  /** Rows that are not cached, or whose neighbours are not. */
  readonly unknown: readonly FoundRow[];
  /** Neighbours that are not cached. */
  readonly places: readonly Position[];
  /** Rows that others may follow by now. */
  readonly open: readonly OpenRow[];
}

/** What the cache has of the rows, and what is missing. */
function recalled({ cache, request: { rows, states }, surrounded }: Given): Recalled {
  const accessesHold = states.length > 0 && states.every(({ accessVersion }) => cache.accesses.holdsAt(accessVersion));
  const snapshot = new SearchSnapshot(cache, cache.state, { accessesHold });
  const unknown = new Set<FoundRow>();
  for (const ref of rows) if (snapshot.recall(ref) === undefined) unknown.add(ref);
  const cached: CachedRow[] = [];
  const open: OpenRow[] = [];
  for (const ref of surrounded) {
    const row = snapshot.row(ref)?.row;
    if (row === undefined) continue;
    if (!row.hasNeighbours) unknown.add(ref);
    if (ref.next !== undefined) row.follow(ref.next);
    else if (row.open) open.push(...endOf(row));
    cached.push(row);
  }
  const places = cached.flatMap(neighboursOf).filter(({ seq }) => snapshot.recallMessage(seq) === undefined);
  return { snapshot, unknown: [...unknown], places, open };
}

/** Records what follows, and returns the positions of what is not cached yet. */
function followersOf(
  snapshot: SearchSnapshot,
  open: readonly OpenRow[],
  ends: readonly Position[],
  following: Changes["following"],
): Position[] {
  const late: Position[] = [];
  for (const [n, end] of ends.entries()) {
    const next = following[n] ?? [];
    for (const { row, seq } of open) if (seq === end.seq) row.follow(next);
    for (const seq of next) if (snapshot.message(seq) === undefined) late.push({ ...end, seq });
  }
  return late;
}

/** Everything from the database. What the cache holds of another state is invalidated. */
async function fromDatabase(given: Given): Promise<Described> {
  const { database, cache, query, request, surrounded } = given;
  const { state, rows } = await loadRows(database, { ...wanted(given), rows: request.rows, surrounded, places: [] });
  // Vectors of a model that is not the current one any more are not kept.
  const kept = state?.modelId === (query.model?.id ?? null) ? state : undefined;
  if (kept !== undefined) cache.enter(kept.text);
  const snapshot = new SearchSnapshot(cache, kept?.text, { accessesHold: false });
  snapshot.add({ state, rows });
  return { snapshot, state: kept };
}

function wanted(given: Given) {
  const { query, request } = given;
  return {
    model: query.model,
    lexemes: query.terms.map(({ lexeme }) => lexeme),
    ...compared(given),
    head: request.head,
  };
}

/**
 * Whether vectors are read, or what the database compares them with. A store that could be cached as a whole soon is, and
 * then nothing has to be read; of a larger one most rows are met once.
 */
function compared({ database, cache, query: { model, messages }, request: { vector } }: Given) {
  const whole = cache.couldHold(messages, model?.dimensions ?? 0);
  if (model === null || vector === null) return { whole, vectors: false, near: null };
  return { whole, vectors: whole, near: whole ? null : vectorParameter(database.backend, vector) };
}

type OpenRow = Position & { readonly row: CachedRow };

/** What follows this place is to be asked: another search may move the row's last one meanwhile. */
function endOf(row: CachedRow): OpenRow[] {
  const { conversationId } = row.facts;
  return conversationId === null ? [] : [{ conversationId, seq: row.last, row }];
}

/** Each place once. */
function endsOf(places: readonly Position[]): Position[] {
  return [...new Map(places.map((place) => [place.seq, place])).values()];
}
