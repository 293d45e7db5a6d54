import { expect } from "vitest";
import { createEmbeddingTable, embeddingTable } from "../../../../../runtime/app/recall/embedding-tables.ts";
import { RegexLimits } from "../../../../../runtime/app/recall/regex-limits.ts";
import { RowCache } from "../../../../../runtime/app/recall/rows/row-cache.ts";
import { type SearchDeps, type SearchRequest, search } from "../../../../../runtime/app/recall/search.ts";
import { vectorText } from "../../../../../runtime/app/recall/vectors.ts";
import { createTermCounter } from "../../../../../runtime/app/terms/terms.ts";
import type { WriteEntry } from "../../../../../runtime/app/transcript/batch.ts";
import type { Database } from "../../../../../runtime/contracts/database.ts";
import type { MemoryHit } from "../../../../../runtime/contracts/memory.ts";
import { SEARCH_WEIGHTS } from "../../../../../runtime/domain/scoring.ts";
import { said, write, writerOf } from "../../../../support/memory.ts";

/** A store in which everything occurs that a cached row could get wrong, and searches with and without cached rows. */

export const DIMENSIONS = 8;
export const NOW = new Date("2026-03-10T12:00:00Z");

const WORDS =
  "garden kettle harbour lantern marble orchard pigeon quarry ribbon saddle thimble umbrella violin walnut running runs".split(
    " ",
  );
const UNUSUAL = [
  "it's",
  "node-37",
  "O'Brien",
  "naïve café",
  "path/to/file7",
  "C:\\temp",
  "日本語",
  "🙂",
  "Ada's",
  "e-mail",
];
const SPEAKERS = ["Ada", "Grace", "Melanie"];

/** The same numbers for the same seed, 0 to 1. */
export function generator(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function textOf(random: () => number, length: number): string {
  const pick = (list: readonly string[]) => list[Math.floor(random() ** 2 * list.length)] ?? "";
  const words = Array.from({ length }, () => (random() < 0.12 ? pick(UNUSUAL) : pick(WORDS)));
  return `${words.join(" ")}${random() < 0.2 ? "?" : "."}`;
}

export function vectorFor(random: () => number): number[] {
  return Array.from({ length: DIMENSIONS }, () => Math.f16round(random() - 0.4));
}

export async function createModel(database: Database, name = "test"): Promise<number> {
  await database.query("update embedding_models set current = false where current");
  const { rows } = await database.query<{ id: number }>(
    "insert into embedding_models (name, dimensions, current) values ($1, $2, true) returning id",
    [name, DIMENSIONS],
  );
  const id = rows[0]?.id ?? 0;
  await createEmbeddingTable(database, database.backend, { id, dimensions: DIMENSIONS });
  return id;
}

export async function setVector(
  database: Database,
  model: number,
  row: { readonly kind: "message" | "summary"; readonly id: string },
  vector: readonly number[],
): Promise<void> {
  await database.query(`insert into ${embeddingTable(model)} (kind, id, embedding) values ($1, $2, $3)`, [
    row.kind,
    row.id,
    vectorText(vector),
  ]);
}

const CONVERSATIONS = 6;
const MESSAGES = 24;

/** Answers the ids of the messages. */
export async function fill(database: Database, seed: number): Promise<string[]> {
  const random = generator(seed);
  const model = await createModel(database);
  const ids: string[] = [];
  for (let conversation = 0; conversation < CONVERSATIONS; conversation += 1) {
    const entries = Array.from({ length: MESSAGES }, (_, n) => entryOf(random, `${conversation} ${n}`, n));
    const report = await write(writerOf(database), `session ${conversation}`, entries, {
      agent: conversation % 3 === 0 ? "other" : "main",
      user: `user ${conversation % 2}`,
    });
    for (const { id } of report.rows) {
      ids.push(id);
      if (random() < 0.8) await setVector(database, model, { kind: "message", id }, vectorFor(random));
    }
    const { rows } = await database.query<{ id: string }>(
      "insert into summaries (id, conversation_id, content, latest_at) values (gen_random_uuid(), $1, $2, $3) returning id",
      [report.conversationId, textOf(random, 80), NOW.toISOString()],
    );
    for (const { id } of rows) {
      await setVector(database, model, { kind: "summary", id }, vectorFor(random));
      await database.query(
        `insert into summary_sources select $1, id, row_number() over (order by seq) from messages
         where conversation_id = $2 and seq % 2 = 0`,
        [id, report.conversationId],
      );
      await database.query(
        `with branch as (
           insert into summaries (id, conversation_id, depth, content) values (gen_random_uuid(), $2, 1, $3) returning id
         ) update summaries set parent_id = (select id from branch) where id = $1`,
        [id, report.conversationId, textOf(random, 40)],
      );
    }
  }
  // One that is too long to be kept.
  await write(writerOf(database), "session 1", [said(`quarry ${"filler ".repeat(20_000)} violin violin`)]);
  await database.query(
    `insert into access (kind, id, access_count, last_accessed_at)
     select 'message', id, seq % 7, $1 from messages where seq % 5 = 0`,
    [NOW.toISOString()],
  );
  await createTermCounter(database).run();
  return ids;
}

function entryOf(random: () => number, key: string, n: number): WriteEntry {
  const createdAt = new Date(
    NOW.getTime() - (MESSAGES - n) * 7 * 60_000 * (1 + Math.floor(random() * 30)),
  ).toISOString();
  if (random() < 0.08)
    return { ...said("", { key, createdAt }), role: "assistant", toolName: "shell", toolArgs: { key } };
  const speaker = SPEAKERS[Math.floor(random() * 3)] ?? "";
  const text = textOf(random, 3 + Math.floor(random() * 30));
  return said(random() < 0.3 ? `${speaker}: ${text}` : text, {
    key,
    createdAt,
    role: random() < 0.5 ? "user" : "assistant",
    ...(random() < 0.2 ? { metadata: { speaker } } : {}),
  });
}

export type Question = Partial<SearchRequest> & { readonly query: string; readonly vector?: readonly number[] | null };

/** Searches of one node; without a cache each search begins with an empty one, and reads everything. */
export function searcher(database: Database, cache: RowCache | null = new RowCache(), now = () => NOW) {
  let number = 0;
  const lastModel = { current: null };
  const regexLimits = new RegexLimits({ monotonic: () => performance.now() });
  return async ({ query, vector = null, ...request }: Question): Promise<MemoryHit[]> => {
    const deps: SearchDeps = {
      database,
      weights: SEARCH_WEIGHTS,
      regexLimits,
      rowCache: cache ?? new RowCache(),
      ...(cache === null ? {} : { lastModel }),
      embedQuery: async () => vector,
      now,
      nextNumber: () => {
        number += 1;
        return number;
      },
    };
    return search(deps, {
      query,
      mode: "hybrid",
      scope: "both",
      limit: 20,
      expand: true,
      filters: {},
      caller: "test",
      ...request,
    });
  };
}

/** The database computes cosines in single precision, the node from the same numbers in double. */
const TOLERANCE = 5e-6;

/** The same hits in the same order, and under them too, with the same scores as far as both are that precise. */
export function expectSame(hits: readonly MemoryHit[], expected: readonly MemoryHit[]): void {
  const ordered = inTheOrderOf(hits, expected);
  const withoutScores = ({ score, scores, children, sources, ...hit }: MemoryHit) => hit;
  expect(hits.map(withoutScores)).toEqual(ordered.map(withoutScores));
  for (const [n, { score, scores, children = [], sources = [] }] of hits.entries()) {
    const other = ordered[n];
    expect(Math.abs(score - (other?.score ?? 0))).toBeLessThan(TOLERANCE);
    expect(Math.abs(scores.fts - (other?.scores.fts ?? 0))).toBeLessThan(TOLERANCE);
    expect(Math.abs(scores.semantic - (other?.scores.semantic ?? 0))).toBeLessThan(TOLERANCE);
    expect(scores.temporal).toBe(other?.scores.temporal);
    expect(scores.importance).toBe(other?.scores.importance);
    expectSame(children, other?.children ?? []);
    expectSame(sources, other?.sources ?? []);
  }
}

/** What was expected; hits whose scores differ by less than two of them may be off may have changed places. */
function inTheOrderOf(hits: readonly MemoryHit[], expected: readonly MemoryHit[]): MemoryHit[] {
  const places = new Map(hits.map(({ id }, n) => [id, n]));
  return expected.toSorted((a, b) =>
    Math.abs(a.score - b.score) < 2 * TOLERANCE ? (places.get(a.id) ?? -1) - (places.get(b.id) ?? -1) : 0,
  );
}
