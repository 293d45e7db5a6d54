/**
 * What a backlog that is being summarized does to searches of the same node: blocks of searches in turns, with the
 * compactor at work and with it at rest. CAIRN_BENCH_MESSAGES says how large the backlog is, CAIRN_BENCH_MODEL_MS how long
 * the model takes for a summary: a real one takes seconds, so that its work is spread over far more time. It ends when the
 * backlog is worked off, or after CAIRN_BENCH_SEARCHES searches of each kind. CAIRN_BENCH_STORE names a database that keeps
 * the backlog; the bench works on a copy.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { createCompaction } from "../runtime/app/compaction/compaction.ts";
import type { Database } from "../runtime/contracts/database.ts";
import type { TextModel } from "../runtime/contracts/text-model.ts";
import { createTokenizer } from "../runtime/domain/tokens.ts";
import { createTextModel } from "../runtime/host/text-models.ts";
import { spawnFake } from "../test/fakes/shared/remote.ts";
import { quietLogger } from "../test/support/databases.ts";
import { memoryOf, systemClock } from "../test/support/memory.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { createCorpus } from "./support/corpus.ts";
import { queryVector } from "./support/filled-store.ts";
import { openStoreToChange } from "./support/kept-store.ts";

const MESSAGES = 6_000;
const MODEL_MS = 250;
const SEARCHES = 1_000;
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
    const database = await openStoreToChange(context, { messages, dimensions: DIMENSIONS, summaries: false });
    const fake = await spawnFake("chat-completions");
    context.defer(() => fake.close());
    const model = gated(
      createTextModel({ path: "memory.summarizer", baseUrl: fake.baseUrl, model: "writer" }, quietLogger),
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
      logger: quietLogger,
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
const WAIT_TRIES = 400;

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
  await memory.idle();

  const samples = { rest: [] as number[], work: [] as number[] };
  let done = false;
  const began = performance.now();
  let restedMs = 0;
  const enough = new AbortController();
  const running = compaction
    .run(AbortSignal.any([context.signal, enough.signal]))
    .catch((error: unknown) => {
      if (!enough.signal.aborted) throw error;
    })
    .finally(() => {
      done = true;
    });
  running.catch(() => undefined);
  const most = Number(process.env.CAIRN_BENCH_SEARCHES ?? SEARCHES);
  context.begin();
  while (!done && samples.work.length < most) {
    model.open();
    for (let n = 0; n < BLOCK && !done; n += 1) samples.work.push(await search());
    model.close();
    const restBegan = performance.now();
    // A lane that has found nothing more to do waits at no gate.
    for (let tries = 0; tries < WAIT_TRIES && !done && model.waiting() < LANES; tries += 1) await sleep(5);
    for (let n = 0; n < BLOCK; n += 1) samples.rest.push(await search());
    await memory.idle();
    restedMs += performance.now() - restBegan;
  }
  const tookS = (performance.now() - began - restedMs) / 1_000;
  enough.abort(new Error("there are enough samples"));
  model.open();
  await running;
  const { summarized, summaries } = await verify(database);
  context.together(() => {
    const name = `search in ${messages} messages`;
    const rest = context.samples({ name: `${name}, compactor at rest`, unit: "ms" }, samples.rest);
    const work = context.samples({ name: `${name}, compactor at work`, unit: "ms" }, samples.work);
    const goal = { of: "value", atMost: 1.5 } as const;
    context.value({ name: `${name}, p95 at work to p95 at rest`, unit: "x", goal }, work.p95 / rest.p95);
    context.value({ name: "messages summarized, beside searches", unit: "1/s" }, summarized / tookS);
    context.value({ name: "summaries written", unit: "" }, summaries);
  });
}

/** What was done; a figure about a compactor that fails or does things twice would say nothing. */
async function verify(database: Database): Promise<{ readonly summarized: number; readonly summaries: number }> {
  const { rows } = await database.query<{ links: number; summarized: number; summaries: number; failures: number }>(
    `select (select count(*)::int from summary_sources) as links,
       (select count(distinct message_id)::int from summary_sources) as summarized,
       (select count(*)::int from summaries) as summaries,
       (select count(*)::int from compaction_work where attempts > 0) as failures`,
  );
  const { links = 0, summarized = 0, summaries = 0, failures = 0 } = rows[0] ?? {};
  if (failures > 0 || links !== summarized || summarized === 0) {
    throw new Error(`${links} links to ${summarized} messages, ${failures} conversations failed`);
  }
  return { summarized, summaries };
}
