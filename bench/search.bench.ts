/**
 * memory_search over conversations that look like real ones. The encoder is left out: the query's vector is there at once.
 * CAIRN_BENCH_MESSAGES names the sizes of the stores (`6000,100000,1000000`; a million takes an hour to fill), and
 * CAIRN_BENCH_DIMENSIONS those of the vectors. CAIRN_BENCH_STORE names a database that keeps the store of one size.
 */

import type { Recall } from "../runtime/app/recall/memory.ts";
import type { Database } from "../runtime/contracts/database.ts";
import type { SearchOptions } from "../runtime/contracts/memory.ts";
import { memoryOf } from "../test/support/memory.ts";
import type { Bench, BenchContext, Goal } from "./support/bench.ts";
import { createCorpus } from "./support/corpus.ts";
import { queryVector } from "./support/filled-store.ts";
import { openFilledStore } from "./support/kept-store.ts";

const SIZES = "6000";
const DIMENSIONS = 384;
const QUESTIONS = 200;
const WARM_UP = 40;
/** Between messages of the corpus. */
const BETWEEN_MS = 40_000;

/** Of a hybrid search, in milliseconds. */
const GOALS: Readonly<Record<number, Goal>> = {
  6000: { of: "p50", atMost: 3.5 },
  1000000: { of: "p95", atMost: 100 },
};

export const bench: Bench = {
  about: "memory_search without the time to encode its query, on PostgreSQL, one after the other",
  async run(context) {
    const sizes = (process.env.CAIRN_BENCH_MESSAGES ?? SIZES).split(",").map(Number);
    const dimensions = Number(process.env.CAIRN_BENCH_DIMENSIONS ?? DIMENSIONS);
    if (sizes.length > 1 && process.env.CAIRN_BENCH_STORE)
      throw new Error("CAIRN_BENCH_STORE keeps a store of one size.");
    for (const messages of sizes) await searchesIn(context, messages, dimensions);
  },
};

async function searchesIn(context: BenchContext, messages: number, dimensions: number): Promise<void> {
  const database = await openFilledStore(context, { messages, dimensions, summaries: true });
  const corpus = createCorpus({ messages });
  const vectors = new Map<string, number[]>();
  for (let n = 0; n < 2 * (QUESTIONS + WARM_UP); n += 1)
    vectors.set(corpus.question(n), await queryVector(database, n));
  const newest = await newestOf(database);
  const memory = memoryOf(database, { embed: async (text) => vectors.get(text) ?? null });
  const goal = GOALS[messages];
  for (const [name, { options, from = 0 }] of Object.entries(searches(messages, newest))) {
    const figure = { name: `search, ${messages} messages, ${dimensions} dimensions, ${name}` };
    const question = (n: number) => corpus.question(from + n);
    await time(context, { ...figure, ...(name === "hybrid" && goal ? { goal } : {}) }, memory, question, options);
  }
}

/** A kept store ages: its messages are as old as when it was filled. In milliseconds since 1970. */
async function newestOf(database: Database): Promise<number> {
  const { rows } = await database.query<{ readonly at: number }>(
    "select extract(epoch from created_at)::float8 * 1000 as at from messages order by seq desc limit 1",
  );
  return rows[0]?.at ?? Date.now();
}

interface Searches {
  readonly options: SearchOptions;
  /** Number of the first question. */
  readonly from?: number;
}

function searches(messages: number, newest: number): Readonly<Record<string, Searches>> {
  return {
    "hybrid, of a node that has just started": { options: {} },
    // Other questions, asked of a node that has met some of the rows.
    hybrid: { options: {}, from: QUESTIONS + WARM_UP },
    "by words": { options: { mode: "fts" } },
    "by vectors": { options: { mode: "vector" } },
    "of half of the agents": { options: { agent: "main" } },
    "of a small agent": { options: { agent: "agent-5" } },
    "of the last tenth": { options: { since: new Date(newest - messages * BETWEEN_MS * 0.1).toISOString() } },
    "of a user": { options: { visibility: { channel: "agent", user: "user-7" } } },
  };
}

async function time(
  context: BenchContext,
  figure: { readonly name: string; readonly goal?: Goal },
  memory: Recall,
  question: (n: number) => string,
  options: SearchOptions,
): Promise<void> {
  await context.time({ ...figure, times: QUESTIONS, warmUp: WARM_UP }, async (n) => {
    await memory.search(question(n), options);
  });
  // What searches leave to do is not part of them.
  await memory.idle();
}
