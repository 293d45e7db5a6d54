/** A memory as a node has it, in this process: written through the writer, embedded and counted when told to, asked by its tools. */

import { setTimeout as sleep } from "node:timers/promises";
import { v7 as newId } from "uuid";
import { z } from "zod";
import { createEmbedding } from "../../runtime/app/embedding/embedding.ts";
import { createQueryEmbedding } from "../../runtime/app/embedding/query.ts";
import { createMemoryTools } from "../../runtime/app/memory-tools.ts";
import { migrate } from "../../runtime/app/migrate.ts";
import { createMemory } from "../../runtime/app/recall/memory.ts";
import { RegexLimits } from "../../runtime/app/recall/regex-limits.ts";
import { RowCache } from "../../runtime/app/recall/rows/row-cache.ts";
import type { SearchDeps } from "../../runtime/app/recall/search.ts";
import { createTermCounter } from "../../runtime/app/terms/terms.ts";
import { createWriter, type Writer } from "../../runtime/app/transcript/writer.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import type { EmbeddingService } from "../../runtime/contracts/embedding.ts";
import type { Clock } from "../../runtime/contracts/ports.ts";
import { SEARCH_WEIGHTS } from "../../runtime/domain/scoring.ts";
import { createTokenizer } from "../../runtime/domain/tokens.ts";
import { openPostgres } from "../../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, quietLogger } from "../../test/support/databases.ts";

export interface BenchMemory {
  readonly database: Database;
  readonly writer: Writer;
  /** What the search itself is made of, to look at what it ranks. */
  readonly search: SearchDeps;
  /** What goes on in the background, to its end: vectors, how often words occur, what the planner knows. */
  waitForWork(signal: AbortSignal): Promise<void>;
  /** Arguments of memory_search; ids of its results, best first. */
  ask(args: Readonly<Record<string, unknown>>): Promise<readonly string[]>;
  /** What earlier answers left to do. */
  idle(): Promise<void>;
  /** The service stays open: it is the caller's. */
  close(): Promise<void>;
}

const BATCH = 32;
const QUERY_MS = 60_000;
const POOL = 4;

const redact = (text: string) => text;
const clock: Clock = { now: () => new Date(), monotonic: () => performance.now() };
const foundSchema = z.object({ results: z.array(z.object({ id: z.string() })) });

/** Over a database that is empty, or was one of these before. */
export async function openMemory(connectionString: string, service: EmbeddingService): Promise<BenchMemory> {
  const database = await openPostgres({ connectionString, pool: POOL, logger: quietLogger });
  await migrate(database, { directory: MIGRATIONS });
  const writer = createWriter({ database, newId, clock });
  const queries = createQueryEmbedding({ service, redact, logger: quietLogger, deadlineMs: QUERY_MS });
  const countTokens = createTokenizer();
  const memory = createMemory({
    database,
    writer,
    clock,
    logger: quietLogger,
    countTokens,
    newMark: newId,
    embed: queries.embed,
  });
  const tools = createMemoryTools({ database, memory, clock, timezone: "UTC" });
  const pause = (ms: number, signal?: AbortSignal) => sleep(ms, undefined, signal ? { signal } : {});
  const embedding = createEmbedding({
    database,
    service,
    redact,
    batch: BATCH,
    clock,
    newId,
    logger: quietLogger,
    sleep: pause,
  });
  let statements = 0;
  return {
    database,
    writer,
    search: {
      database,
      weights: SEARCH_WEIGHTS,
      regexLimits: new RegexLimits(clock),
      rowCache: new RowCache(),
      embedQuery: async (model, text, signal) => (model === null ? null : queries.embed(text, signal, model)),
      now: () => new Date(),
      nextNumber: () => {
        statements += 1;
        return statements;
      },
    },
    async waitForWork(signal) {
      const report = await embedding.run(signal);
      if (report.unavailable !== null) throw report.unavailable;
      await createTermCounter(database).run(signal);
      await database.script("analyze");
    },
    async ask(args) {
      const answer = await tools.call("memory_search", args, { visibility: { all: true } });
      return foundSchema.parse(answer).results.map(({ id }) => id);
    },
    idle: () => memory.idle(),
    async close() {
      await memory.idle();
      await database.close();
    },
  };
}
