/** The memory of a node: the store's one writer, what reads it, and what works on it in the background. */

import { createCapture } from "../app/capture/capture.ts";
import { recountCompaction } from "../app/compaction/status.ts";
import { createMemoryTools } from "../app/memory-tools.ts";
import { createMemoryWrites } from "../app/memory-writes.ts";
import { createQueueAdmin } from "../app/queue-admin.ts";
import { createRecover } from "../app/recall/disk/recover.ts";
import { createMemory } from "../app/recall/memory.ts";
import { createSynthesisQueue } from "../app/transcript/synthesis-queue.ts";
import { createWriter } from "../app/transcript/writer.ts";
import type { LoadedConfig } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import type { Clock, Logger, NewId } from "../contracts/ports.ts";
import type { CountTokens } from "../domain/tokens.ts";
import { createJobQueue } from "../workers/queue.ts";
import { createTermCounting } from "../workers/term-counter.ts";
import { createAnswerParts } from "./answers.ts";
import { createCompactionParts } from "./compaction.ts";
import { createEmbeddingParts } from "./embedding.ts";
import { searchWeights, sessionRoots, writeTags } from "./settings.ts";
import { createSynthesisParts } from "./synthesis.ts";
import { createWikiParts } from "./wiki.ts";

export interface MemoryHostDeps {
  readonly loaded: LoadedConfig;
  readonly database: Database;
  /** Of this start of the process. */
  readonly boot: string;
  readonly node: { readonly id: string; readonly name: string };
  /** Whether this node installs the queue's tables: no other one shares the store. */
  readonly migrate: boolean;
  readonly countTokens: CountTokens;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Random letters and digits, for fences around what memory finds. */
  readonly newMark: () => string;
  /** For what models of the memory are sent, and for what they say. */
  readonly redact: (text: string) => string;
  /** For what encoders are sent: secrets that are known by value, and nothing else. */
  readonly redactValues: (text: string) => string;
  readonly logger: Logger;
}

export type MemoryParts = ReturnType<typeof composeMemory>;

/** Nothing runs before `start`. */
export function composeMemory(deps: MemoryHostDeps) {
  const { loaded, database, boot, node, countTokens, clock, newId, redact, redactValues, logger } = deps;
  const { config } = loaded;
  const { timezone } = config.runtime;

  // What works in the background, and is woken by what is written.
  const jobs = createJobQueue({ database, logger, newId, migrate: deps.migrate });
  const work = { database, jobs, boot, clock, newId, logger };
  const embedding = createEmbeddingParts(config, { ...work, home: loaded.home, redactValues });
  const words = createTermCounting({ database, jobs, boot, logger });
  const wakeEmbedder = () => embedding?.embedder.wake();
  /** A row has text that it had not before. */
  const onText = () => {
    wakeEmbedder();
    words.wake();
  };
  const synthesis = createSynthesisQueue({ database, jobs, logger });
  const synthesizer = createSynthesisParts(loaded, {
    database,
    jobs,
    clock,
    logger,
    redact,
    onWritten: onText,
  });
  const wiki = createWikiParts(config, { database, jobs, node, clock, redact, logger });
  const compaction = createCompactionParts(config, { ...work, countTokens, redact, onStored: onText });

  // What writes and reads.
  const writer = createWriter({
    database,
    newId,
    clock,
    onWritten: ({ toolCalls }) => {
      synthesis.add(toolCalls);
      onText();
    },
  });
  const memory = createMemory({
    database,
    writer,
    timezone,
    ...searchWeights(loaded),
    clock,
    logger,
    countTokens,
    newMark: deps.newMark,
    ...(embedding ? { embed: embedding.queries.embed } : {}),
  });
  const tags = writeTags(loaded);
  const agents = new Set(Object.keys(config.agents));
  const writes = tags && createMemoryWrites({ writer, tags, timezone, agents });
  const answers = createAnswerParts(config, { database, countTokens, clock, redact, logger });
  const queues = createQueueAdmin({
    database,
    jobs,
    synthesis,
    wakeEmbedder,
    wakeCompactor: () => compaction.wake(),
  });

  return {
    jobs,
    queues,
    writer,
    memory,
    tools: createMemoryTools({
      database,
      memory,
      jobs: queues,
      clock,
      timezone,
      recover: createRecover(sessionRoots(loaded)),
      ...(writes ? { writes } : {}),
      ...(answers ? { answer: answers.answer } : {}),
    }),
    capture: createCapture({ writer, timezone, agents }),
    /** What housekeeping does for it. */
    tasks: {
      synthesis: (signal: AbortSignal) => synthesis.sweep(signal),
      compaction: () => recountCompaction(database),
    },
    /** Workers that need a model, by their names. */
    workers: () => ({
      synthesis: synthesizer.state(),
      compaction: compaction.state(),
      ...(wiki ? { wiki: wiki.state() } : {}),
    }),
    async start() {
      await jobs.start();
      await embedding?.embedder.start();
      await words.start();
      await synthesizer.start();
      await compaction.start();
      await wiki?.start();
    },
    /** Ends the answers that somebody waits for: a silent model holds up no stop. */
    hush: () => answers?.stop(),
    /** Begins nothing more; what runs goes on until `close`. */
    rest() {
      embedding?.embedder.stop();
      words.stop();
      compaction.stop();
      wiki?.stop();
      synthesis.stop();
    },
    /** After everything that writes has ended. Jobs that run get until the deadline. */
    async close(jobsDeadlineMs: number) {
      await Promise.all([memory.settled(), synthesis.settled()]);
      await jobs.stop(jobsDeadlineMs);
      await embedding?.close();
    },
  };
}
