/**
 * What a backlog that is being summarized does to searches of the same node: blocks of searches in turns, with the
 * compactor at work and with it at rest. CAIRN_BENCH_MESSAGES says how large the backlog is, CAIRN_BENCH_MODEL_MS how long
 * the model takes for a summary: a real one takes seconds, so that its work is spread over far more time.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { createCompaction } from "../runtime/app/compaction/compaction.ts";
import { migrate } from "../runtime/app/migrate.ts";
import { createTermCounter } from "../runtime/app/terms/terms.ts";
import type { Database } from "../runtime/contracts/database.ts";
import type { TextModel } from "../runtime/contracts/text-model.ts";
import { createTokenizer } from "../runtime/domain/tokens.ts";
import { createTextModel } from "../runtime/host/text-models.ts";
import { openPostgres } from "../runtime/plugins/memory/postgres/index.ts";
import { spawnFake } from "../test/fakes/shared/remote.ts";
import { MIGRATIONS, silent } from "../test/support/databases.ts";
import { memoryOf, systemClock } from "../test/support/memory.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { createCorpus } from "./support/corpus.ts";
import { fillStore, queryVector } from "./support/filled-store.ts";

const MESSAGES = 6_000;
const MODEL_MS = 50;
const DIMENSIONS = 384;
/** Searches in a row with the compactor at work, and as many with it at rest. */
const BLOCK = 20;
const QUESTIONS = 200;
const WARM_UP = 60;

export const bench: Bench = {
  about:
    "memory_search (hybrid) while a backlog is summarized by the same process, beside the same with the compactor at rest",
  async run(context) {
    const messages = Number(process.env.CAIRN_BENCH_MESSAGES ?? MESSAGES);
    const modelMs = Number(process.env.CAIRN_BENCH_MODEL_MS ?? MODEL_MS);
    const database = await openPostgres({ connectionString: await context.postgres(), pool: 10, logger: silent });
    context.defer(() => database.close());
    await migrate(database, { directory: MIGRATIONS, mode: "apply" });
    await fillStore(database, { messages, dimensions: DIMENSIONS });
    await createTermCounter(database).run(context.signal);
    for (const sql of ["vacuum analyze", "checkpoint"]) await database.script(sql, { statementTimeoutMs: 3_600_000 });

    const fake = await spawnFake("chat-completions");
    context.defer(() => fake.close());
    const model = gated(
      createTextModel({ path: "memory.summarizer", baseUrl: fake.baseUrl, model: "writer" }, silent),
      modelMs,
    );
    const compaction = createCompaction({
      database,
      model: model.model,
      window: 128_000,
      countTokens: createTokenizer(),
      newId: v7,
      clock: systemClock,
      sleep: (ms, signal) => sleep(ms, undefined, { signal }),
      logger: silent,
    });
    await measure(context, database, messages, { compaction, model });
  },
};

interface Gated {
  readonly model: TextModel;
  open(): void;
  close(): void;
  /** Calls that wait at the closed gate. */
  waiting(): number;
}

/** The model behind a gate: closed, the compactor comes to rest at its next question. */
function gated(inner: TextModel, latencyMs: number): Gated {
  let gate = Promise.withResolvers<void>();
  let isOpen = false;
  let waiting = 0;
  return {
    model: {
      model: inner.model,
      async complete(request) {
        waiting += 1;
        while (!isOpen) await gate.promise;
        waiting -= 1;
        await sleep(latencyMs);
        return inner.complete(request);
      },
    },
    open() {
      isOpen = true;
      gate.resolve();
    },
    close() {
      isOpen = false;
      gate = Promise.withResolvers();
    },
    waiting: () => waiting,
  };
}

/** Lanes of the compactor, and how often it is looked, 5 ms apart, whether they rest. */
const LANES = 2;
const SETTLE_TRIES = 400;

async function measure(
  context: BenchContext,
  database: Database,
  messages: number,
  { compaction, model }: { readonly compaction: ReturnType<typeof createCompaction>; readonly model: Gated },
): Promise<void> {
  const corpus = createCorpus({ messages });
  const vectors = new Map<string, number[]>();
  for (let n = 0; n < QUESTIONS; n += 1) vectors.set(corpus.question(n), await queryVector(database, n));
  const memory = memoryOf(database, { embed: async (text) => vectors.get(text) ?? null });
  let asked = 0;
  const search = async (): Promise<number> => {
    const began = performance.now();
    await memory.search(corpus.question(asked % QUESTIONS));
    asked += 1;
    return performance.now() - began;
  };
  for (let n = 0; n < WARM_UP; n += 1) await search();
  await memory.settled();

  const samples = { rest: [] as number[], work: [] as number[] };
  let done = false;
  const began = performance.now();
  let restedMs = 0;
  const running = compaction.run(context.signal).finally(() => {
    done = true;
  });
  running.catch(() => undefined);
  context.begin();
  while (!done) {
    model.open();
    for (let n = 0; n < BLOCK && !done; n += 1) samples.work.push(await search());
    model.close();
    const restBegan = performance.now();
    // A lane that has found nothing more to do waits at no gate.
    for (let tries = 0; tries < SETTLE_TRIES && !done && model.waiting() < LANES; tries += 1) await sleep(5);
    for (let n = 0; n < BLOCK; n += 1) samples.rest.push(await search());
    await memory.settled();
    restedMs += performance.now() - restBegan;
  }
  const { stored, failed, away } = await running;
  const tookS = (performance.now() - began - restedMs) / 1_000;
  await verify(database, messages, failed, away);
  context.together(() => {
    const name = `search in ${messages} messages`;
    const rest = context.samples({ name: `${name}, compactor at rest`, unit: "ms" }, samples.rest);
    const work = context.samples({ name: `${name}, compactor at work`, unit: "ms" }, samples.work);
    const goal = { of: "value", atMost: 1.5 } as const;
    context.value({ name: `${name}, p95 at work to p95 at rest`, unit: "x", goal }, work.p95 / rest.p95);
    context.value({ name: "messages summarized, beside searches", unit: "1/s" }, messages / tookS);
    context.value({ name: "summaries written", unit: "" }, stored.leaf + stored.branch + stored.root);
  });
}

/** A figure about a backlog that was not worked off would say nothing. */
async function verify(database: Database, messages: number, failed: number, away: Error | null): Promise<void> {
  const { rows } = await database.query<{ linked: number; distinct: number }>(
    `select count(*)::int as linked, count(distinct message_id)::int as "distinct" from summary_sources`,
  );
  const { linked = 0, distinct = 0 } = rows[0] ?? {};
  if (failed > 0 || away !== null || linked !== distinct || linked < messages * 0.99) {
    throw new Error(`${linked} links to ${distinct} of ${messages} messages, ${failed} failed: ${away?.message ?? ""}`);
  }
}
