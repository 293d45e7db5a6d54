/** Storing what clients capture, many events at a time, and how soon their words are counted. */

import { setTimeout as sleep } from "node:timers/promises";
import { v7 as newId } from "uuid";
import { migrate } from "../runtime/app/migrate.ts";
import { createTermCounter } from "../runtime/app/terms/terms.ts";
import { createWriter } from "../runtime/app/transcript/writer.ts";
import type { Database } from "../runtime/contracts/database.ts";
import { openPostgres } from "../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, quietLogger } from "../test/support/databases.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { createCorpus } from "./support/corpus.ts";

const CLIENTS = 4;
const BATCH = 500;
const BATCHES = 40;
const COUNT_EVERY_MS = 2_000;

export const bench: Bench = {
  about: `${CLIENTS} clients, each with ${BATCHES} batches of ${BATCH} events, while the words of the stored ones are counted`,
  async run(context) {
    const database = await openPostgres({ connectionString: await context.postgres(), pool: 8, logger: quietLogger });
    context.defer(() => database.close());
    await migrate(database, { directory: MIGRATIONS });
    const { rate, counted } = await capture(context, database);
    context.together(() => {
      context.value({ name: "events stored", unit: "1/s", goal: { of: "value", atLeast: 10_000 } }, rate);
      context.value({ name: "words counted meanwhile, share of the events", unit: "x" }, counted);
    });
    await database.script("truncate search_terms, search_totals, search_agents, search_gaps");
    context.begin();
    const started = performance.now();
    const rows = await createTermCounter(database).run(context.signal);
    const perSecond = rows / ((performance.now() - started) / 1_000);
    context.value({ name: "events counted, alone", unit: "1/s", goal: { of: "value", atLeast: 5_000 } }, perSecond);
  },
};

async function capture(context: BenchContext, database: Database): Promise<{ rate: number; counted: number }> {
  const clock = { now: () => new Date(), monotonic: () => performance.now() };
  const writer = createWriter({ database, newId, clock });
  const total = CLIENTS * BATCHES * BATCH;
  // Made before anything is measured: the clients' processors are not ours.
  const texts = [...createCorpus({ messages: total }).messages()].map(({ content }) => content);
  const counter = createTermCounter(database);
  let counted = 0;
  let capturing = true;
  const counting = (async () => {
    while (capturing) {
      await sleep(COUNT_EVERY_MS, undefined, { signal: context.signal });
      counted += await counter.run(context.signal);
    }
  })();
  context.begin();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = 0; n < BATCHES; n += 1) {
        context.signal.throwIfAborted();
        const from = (client * BATCHES + n) * BATCH;
        const entries = texts
          .slice(from, from + BATCH)
          .map((content, k) => ({ role: "user" as const, content, key: `event ${from + k}`, cap: true }));
        await writer.write({
          sessionKey: `client-${client}:${n % 10}`,
          agent: "main",
          channel: "agent",
          openedBy: "capture",
          entries,
        });
      }
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  const share = counted / total;
  capturing = false;
  await counting;
  return { rate: total / seconds, counted: share };
}
