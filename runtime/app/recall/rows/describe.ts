import type { Queryable } from "../../../contracts/database.ts";
import type { FeatureRequest, Features } from "../features.ts";
import type { RowRef } from "../matches.ts";
import type { AnalyzedQuery } from "../query-analysis.ts";
import { type Place, readChanges } from "./changes.ts";
import { featuresOf } from "./described.ts";
import type { KnownRow } from "./known-row.ts";
import { likenesses } from "./likeness.ts";
import { loadRows } from "./load.ts";
import type { RowMemory } from "./row-memory.ts";
import { besideOf, Scene } from "./scene.ts";

/**
 * What the ranking needs to know of found rows and of the messages beside them: from the node's memory what is true for ever,
 * from the database what is not, and the rows that are not remembered, at once. The same as `loadFeatures` answers.
 */
export async function describeRows(
  database: Queryable,
  memory: RowMemory,
  query: AnalyzedQuery,
  request: FeatureRequest,
): Promise<Features[]> {
  if (request.rows.length === 0) return [];
  const likeness = likenesses(database, request);
  // Whoever fails first is told; the other is not left without anybody who hears of it.
  likeness.catch(() => undefined);
  const surrounded = request.rows.filter(({ kind }) => kind === "message").slice(0, request.besides);
  const given = { database, memory, query, request, surrounded };
  const scene = (await remembered(given)) ?? (await afresh(given));
  return featuresOf(scene, query, request, { surrounded, likeness: await likeness });
}

interface Given {
  readonly database: Queryable;
  readonly memory: RowMemory;
  readonly query: AnalyzedQuery;
  readonly request: FeatureRequest;
  /** Messages that bring those beside them. */
  readonly surrounded: readonly RowRef[];
}

/** Null when the memory has nothing of them, or holds what may not be true any more. */
async function remembered(given: Given): Promise<Scene | null> {
  const { database, memory, query, request, surrounded } = given;
  const scene = new Scene(memory, memory.state);
  const unknown = request.rows.filter((ref) => scene.recall(ref) === undefined);
  const known = surrounded.flatMap((ref) => scene.row(ref)?.row ?? []);
  const places = known.flatMap(besideOf).filter(({ seq }) => scene.recallMessage(seq) === undefined);
  if (scene.size === 0) return null;
  const open = known.filter((row) => row.open).flatMap(endOf);
  const ends = endsOf(open);
  const rows = scene.all();
  const missing = new Set(unknown);
  const [changes, loading] = await Promise.all([
    readChanges(database, {
      model: query.model,
      rows: rows.map(({ row }) => row.facts),
      ends,
      vectors: request.vector === null ? [] : rows.flatMap(({ row, vector }) => (vector === null ? [row.facts] : [])),
    }),
    loadRows(database, {
      ...wanted(given),
      rows: unknown,
      surrounded: surrounded.filter((ref) => missing.has(ref)),
      places,
    }),
  ]);
  if (!scene.agrees(changes) || !scene.agrees(loading)) return null;
  for (const { row } of rows) {
    const seen = scene.row(row.facts);
    if (seen !== undefined) seen.access = changes.accesses[row.facts.kind].get(row.facts.id) ?? null;
  }
  for (const vector of changes.vectors) scene.addVector(vector);
  scene.add(loading);
  const late: Place[] = [];
  for (const [n, end] of ends.entries()) {
    const following = changes.following[n] ?? [];
    for (const { row, seq } of open) if (seq === end.seq) row.follow(following);
    for (const seq of following) if (scene.message(seq) === undefined) late.push({ ...end, seq });
  }
  if (late.length === 0) return scene;
  const followers = await loadRows(database, { ...wanted(given), rows: [], surrounded: [], places: late });
  if (!scene.agrees(followers)) return null;
  scene.add(followers);
  return scene;
}

/** Everything from the database. What the memory holds from another state is forgotten. */
async function afresh(given: Given): Promise<Scene> {
  const { database, memory, request, surrounded } = given;
  const loading = await loadRows(database, { ...wanted(given), rows: request.rows, surrounded, places: [] });
  if (loading.state !== undefined) memory.enter(loading.state);
  const scene = new Scene(memory, loading.state);
  scene.add(loading);
  return scene;
}

function wanted({ query, request }: Given) {
  return {
    model: query.model,
    lexemes: query.terms.map(({ lexeme }) => lexeme),
    vectors: request.vector !== null,
    head: request.head,
  };
}

/** What follows this place is to be asked: another search may move the row's last one meanwhile. */
function endOf(row: KnownRow): (Place & { readonly row: KnownRow })[] {
  const { conversationId } = row.facts;
  return conversationId === null ? [] : [{ conversationId, seq: row.last, row }];
}

/** Each place once. */
function endsOf(places: readonly Place[]): Place[] {
  return [...new Map(places.map((place) => [place.seq, place])).values()];
}
