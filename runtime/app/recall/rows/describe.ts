import type { Database } from "../../../contracts/database.ts";
import type { Candidates } from "../candidates.ts";
import type { FeatureRequest } from "../features.ts";
import type { FoundRow } from "../matches.ts";
import type { AnalyzedQuery } from "../query-analysis.ts";
import { vectorParameter } from "../vectors.ts";
import { NEVER } from "./access-memory.ts";
import { type Place, readChanges } from "./changes.ts";
import { featuresOf } from "./described.ts";
import type { KnownRow } from "./known-row.ts";
import { likenesses } from "./likeness.ts";
import { loadRows } from "./load.ts";
import type { RowMemory } from "./row-memory.ts";
import { besideOf, Scene } from "./scene.ts";
import type { StoreState } from "./state.ts";

export interface DescribeRequest extends FeatureRequest {
  /** What the statements that found the rows have seen; none when that is not known. */
  readonly states: readonly StoreState[];
}

/**
 * What the ranking needs to know of found rows and of the messages beside them: from the node's memory what is true for ever,
 * from the database what is not, and the rows that are not remembered, at once. The same as `loadFeatures` answers.
 */
export async function describeRows(
  database: Database,
  memory: RowMemory,
  query: AnalyzedQuery,
  request: DescribeRequest,
): Promise<Candidates> {
  if (request.rows.length === 0) return { rows: [], state: undefined };
  const likeness = likenesses(database, request);
  // Whoever fails first is told; the other is not left without anybody who hears of it.
  likeness.catch(() => undefined);
  const surrounded = request.rows.filter(({ kind }) => kind === "message").slice(0, request.besides);
  const given = { database, memory, query, request, surrounded };
  const { scene, state } = (await remembered(given)) ?? (await afresh(given));
  return { rows: featuresOf(scene, query, request, { surrounded, likeness: await likeness }), state };
}

interface Given {
  readonly database: Database;
  readonly memory: RowMemory;
  readonly query: AnalyzedQuery;
  readonly request: DescribeRequest;
  /** Messages that bring those beside them. */
  readonly surrounded: readonly FoundRow[];
}

interface Described {
  readonly scene: Scene;
  readonly state: StoreState | undefined;
}

/** Null when the memory has nothing of them, or holds what may not be true any more. */
async function remembered(given: Given): Promise<Described | null> {
  const { database, memory, query, request, surrounded } = given;
  const { states } = request;
  const modelId = query.model?.id ?? null;
  const holds = (state: StoreState | undefined) =>
    state === undefined || (state.text === memory.state && state.modelId === modelId);
  if (memory.state === undefined || !states.every(holds)) return null;
  const accessesHold = states.length > 0 && states.every(({ accessVersion }) => memory.accesses.holdsAt(accessVersion));
  const scene = new Scene(memory, memory.state, { accessesHold });
  const isSurrounded = new Set<FoundRow>(surrounded);
  const unknown = request.rows.filter((ref) => {
    const row = scene.recall(ref)?.row;
    return row === undefined || (isSurrounded.has(ref) && !row.hasNeighbours);
  });
  for (const { kind, id, next } of surrounded) if (next !== undefined) scene.row({ kind, id })?.row.follow(next);
  const known = surrounded.flatMap((ref) => scene.row(ref)?.row ?? []);
  const places = known.flatMap(besideOf).filter(({ seq }) => scene.recallMessage(seq) === undefined);
  if (scene.size === 0) return null;
  const told = new Set(surrounded.flatMap(({ id, next }) => (next === undefined ? [] : id)));
  const open = known.filter((row) => row.open && !told.has(row.facts.id)).flatMap(endOf);
  const ends = endsOf(open);
  const rows = scene.all();
  const missing = new Set(unknown);
  const { vectors, near } = compared(given);
  const compare = vectors || near !== null;
  const found = new Set(request.rows.flatMap(({ kind, id, cosine }) => (cosine === undefined ? [] : `${kind} ${id}`)));
  const changesRequest = {
    model: query.model,
    rows: rows.flatMap(({ row, access }) => (access === undefined ? row.facts : [])),
    ends,
    vectors: compare
      ? rows.flatMap(({ row: { facts }, vector }) =>
          vector === null && !found.has(`${facts.kind} ${facts.id}`) ? facts : [],
        )
      : [],
    near,
  };
  const nothingNew =
    states.length > 0 && changesRequest.rows.length === 0 && ends.length === 0 && changesRequest.vectors.length === 0;
  const [changes, loading] = await Promise.all([
    nothingNew ? null : readChanges(database, changesRequest),
    loadRows(database, {
      ...wanted(given),
      rows: unknown,
      surrounded: surrounded.filter((ref) => missing.has(ref)),
      places,
    }),
  ]);
  if (!holds(changes?.state) || !holds(loading.state) || !scene.agrees(loading)) return null;
  if (changes !== null) {
    for (const { kind, id } of changesRequest.rows) {
      scene.addAccess({ kind, id }, changes.accesses[kind].get(id) ?? NEVER, changes.state);
    }
    for (const vector of changes.vectors) scene.addVector(vector);
    for (const cosine of changes.cosines) scene.addCosine(cosine);
  }
  scene.add(loading);
  const late: Place[] = [];
  for (const [n, end] of ends.entries()) {
    const following = changes?.following[n] ?? [];
    for (const { row, seq } of open) if (seq === end.seq) row.follow(following);
    for (const seq of following) if (scene.message(seq) === undefined) late.push({ ...end, seq });
  }
  const described = { scene, state: states[0] ?? changes?.state };
  if (late.length === 0) return described;
  const followers = await loadRows(database, { ...wanted(given), rows: [], surrounded: [], places: late });
  if (!holds(followers.state)) return null;
  scene.add(followers);
  return described;
}

/** Everything from the database. What the memory holds from another state is forgotten. */
async function afresh(given: Given): Promise<Described> {
  const { database, memory, query, request, surrounded } = given;
  const { state, rows } = await loadRows(database, { ...wanted(given), rows: request.rows, surrounded, places: [] });
  // Vectors of a model that is not the current one any more are not kept.
  const kept = state?.modelId === (query.model?.id ?? null) ? state : undefined;
  if (kept !== undefined) memory.enter(kept.text);
  const scene = new Scene(memory, kept?.text, { accessesHold: false });
  scene.add({ state, rows });
  return { scene, state: kept };
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
 * Whether vectors are read, or what the database compares them with. A store that could be remembered as a whole soon is, and
 * then nothing has to be read; of a larger one most rows are met once.
 */
function compared({ database, memory, query: { model, messages }, request: { vector } }: Given) {
  const whole = memory.couldHold(messages, model?.dimensions ?? 0);
  if (model === null || vector === null) return { whole, vectors: false, near: null };
  return { whole, vectors: whole, near: whole ? null : vectorParameter(database.backend, vector) };
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
