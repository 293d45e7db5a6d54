/**
 * How much of the time the embedder keeps an encoder at work, from its first request to its last, on both backends. The
 * encoder works on one request at a time, in a process of its own. CAIRN_BENCH_ENCODER_MS lists how long it takes for 32
 * texts; all-MiniLM-L6-v2 takes about 100 ms on two cores, and a graphics card less than 20.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { createEmbedding } from "../runtime/app/embedding/embedding.ts";
import { migrate } from "../runtime/app/migrate.ts";
import type { Database } from "../runtime/contracts/database.ts";
import { createOpenaiCompatibleEmbedding } from "../runtime/plugins/embeddings/openai-compatible/index.ts";
import { openEmbedded } from "../runtime/plugins/memory/embedded/index.ts";
import { openPostgres } from "../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, quietLogger } from "../test/support/databases.ts";
import { said, systemClock, write, writerOf } from "../test/support/memory.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { startBusyEncoder } from "./support/busy-encoder.ts";
import { createCorpus } from "./support/corpus.ts";

const ENCODER_MS = "20,100";
const BATCH = 32;
const BATCHES = 64;
const DIMENSIONS = 384;

export const bench: Bench = {
  about: "the share of the time in which the embedder has an encoder at work, from its first request to its last",
  async run(context) {
    const messages = BATCH * Number(process.env.CAIRN_BENCH_BATCHES ?? BATCHES);
    const times = (process.env.CAIRN_BENCH_ENCODER_MS ?? ENCODER_MS).split(",").map(Number);
    const stores: readonly [string, Database][] = [
      ["PostgreSQL", await openPostgres({ connectionString: await context.postgres(), pool: 10, logger: quietLogger })],
      ["embedded store", await openEmbedded({ path: await context.folder(), logger: quietLogger })],
    ];
    for (const [name, database] of stores) {
      context.defer(() => database.close());
      await migrate(database, { directory: MIGRATIONS });
      await fill(database, messages);
      for (const requestMs of times) await measure(context, { name, database, requestMs, messages });
    }
  },
};

async function fill(database: Database, messages: number): Promise<void> {
  const writer = writerOf(database);
  const entries = [...createCorpus({ messages }).messages()].map(({ content }) => said(content));
  for (let from = 0; from < entries.length; from += 100) {
    await write(writer, `session ${from}`, entries.slice(from, from + 100));
  }
}

interface Measured {
  readonly name: string;
  readonly database: Database;
  readonly requestMs: number;
  readonly messages: number;
}

async function measure(context: BenchContext, { name, database, requestMs, messages }: Measured): Promise<void> {
  const encoder = await startBusyEncoder({ requestMs, dimensions: DIMENSIONS });
  context.defer(() => encoder.close());
  const service = createOpenaiCompatibleEmbedding({
    // A model of its own, so that all rows are embedded once more.
    model: `busy for ${requestMs} ms`,
    baseUrl: `${encoder.url}/v1`,
    dimensions: DIMENSIONS,
  });
  const embedding = createEmbedding({
    database,
    service,
    redact: (text) => text,
    batch: BATCH,
    clock: systemClock,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    newId: v7,
    logger: quietLogger,
  });
  context.begin();
  const { embedded, failed } = await embedding.run(context.signal);
  const { texts, workedMs, spanMs } = await encoder.busy();
  if (embedded !== messages || failed > 0) throw new Error(`${embedded} of ${messages} messages have a vector`);
  context.together(() => {
    const what = `${requestMs} ms for ${BATCH} texts, ${name}`;
    const goal = { of: "value", atLeast: 0.9 } as const;
    context.value({ name: `encoder at work, ${what}`, unit: "x", goal }, workedMs / spanMs);
    context.value({ name: `texts encoded, ${what}`, unit: "1/s" }, texts / (spanMs / 1_000));
  });
  await encoder.close();
}
