/** The memory of a node: the store's one writer, what reads it, and what works on it in the background. */

import { createCapture } from "../app/capture/capture.ts";
import { recountCompaction } from "../app/compaction/status.ts";
import { createForgetting } from "../app/forgetting/forgetting.ts";
import { createMemoryTools } from "../app/memory-tools.ts";
import { createMemoryWrites } from "../app/memory-writes.ts";
import { createQueueAdmin } from "../app/queue-admin.ts";
import { createMemoryReading } from "../app/reading.ts";
import { createRecover } from "../app/recall/disk/recover.ts";
import { createMemory } from "../app/recall/memory.ts";
import { createTermCounter } from "../app/terms/terms.ts";
import { createSynthesisQueue } from "../app/transcript/synthesis-queue.ts";
import { createWriter } from "../app/transcript/writer.ts";
import { createTurnCompaction } from "../app/turn/turn-compaction.ts";
import type { LoadedConfig } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import { TICKERS } from "../contracts/jobs.ts";
import type { Clock, Logger, NewId } from "../contracts/ports.ts";
import { isoDay } from "../domain/time-window.ts";
import type { CountTokens } from "../domain/tokens.ts";
import { createJobQueue } from "../workers/queue.ts";
import type { Tickers } from "../workers/ticker.ts";
import { createAnswerParts } from "./answers.ts";
import { createCompactionParts } from "./compaction.ts";
import { createEmbeddingParts } from "./embedding.ts";
import type { Service } from "./services.ts";
import { searchWeights, sessionRoots, writeTags } from "./settings.ts";
import { createSynthesisParts } from "./synthesis.ts";
import { createWikiParts, wikiPagesOf, wikisOf } from "./wiki.ts";

export interface MemoryHostDeps {
  readonly loaded: LoadedConfig;
  readonly database: Database;
  readonly tickers: Tickers;
  readonly node: { readonly id: string; readonly name: string };
  /** False: nothing works in the background. */
  readonly working: boolean;
  readonly countTokens: CountTokens;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Random letters and digits, for fences around what memory finds. */
  readonly newMark: () => string;
  /** For requests to models of the memory, and for their answers. */
  readonly redact: (text: string) => string;
  /** For what encoders are sent: secrets that are known by value, and nothing else. */
  readonly redactValues: (text: string) => string;
  readonly logger: Logger;
}

export type MemoryParts = Awaited<ReturnType<typeof composeMemory>>;

/** Jobs that run get this long to end when the node stops. */
const JOBS_DEADLINE_MS = 5_000;
const COUNT_INTERVAL_MS = 5 * 60_000;
/** Rows that are written in these milliseconds have their words counted together. */
const COUNT_GATHER_MS = 2_000;

/** Nothing runs before its services do. */
export async function composeMemory(deps: MemoryHostDeps) {
  const { loaded, database, tickers, node, countTokens, clock, newId, redact, redactValues, logger } = deps;
  const { config } = loaded;
  const { timezone } = config.runtime;

  // What works in the background, and is woken by what is written.
  const jobs = createJobQueue({ database, logger, newId });
  const work = { database, tickers, clock, newId, logger };
  const embedding = await createEmbeddingParts(config, { ...work, home: loaded.home, redactValues });
  const counter = createTermCounter(database);
  const words = tickers.add({
    name: TICKERS.enrich,
    // While another node counts, this one comes back: it follows at once should that one be killed.
    run: (signal) => counter.run(signal, () => words.notify()),
    intervalMs: COUNT_INTERVAL_MS,
    gatherMs: COUNT_GATHER_MS,
    logger,
  });
  const wakeEmbedder = () => embedding?.embedder.notify();
  /** A row has text that it had not before. */
  const onText = () => {
    wakeEmbedder();
    words.notify();
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
  const recover = createRecover(sessionRoots(loaded));
  const answers = createAnswerParts(config, { database, countTokens, clock, redact, logger });
  const queues = createQueueAdmin({
    database,
    jobs,
    tickers,
    synthesis,
    wakeEmbedder,
    wakeCompactor: () => compaction.notify(),
  });

  const forgetting = createForgetting({
    database,
    newId,
    clock,
    wikis: wikiPagesOf(config, node),
    onErased: () => compaction.notify(),
    logger,
  });

  const services: Service[] = [
    ...(deps.working ? [{ name: "jobs", start: () => jobs.start(), stop: () => jobs.stop(JOBS_DEADLINE_MS) }] : []),
    {
      name: "synthesis queue",
      async stop() {
        synthesis.stop();
        await synthesis.idle();
      },
    },
    { name: "accesses", stop: () => memory.idle() },
    // A model that does not answer holds up no request.
    { name: "answers", drain: () => answers?.stop() },
  ];
  const workers: Service[] = [
    ...(embedding ? [{ name: "embedder", start: embedding.embedder.start, stop: embedding.embedder.stop }] : []),
    { name: "words", start: words.start, stop: words.stop },
    { name: "synthesizer", start: () => synthesizer.start() },
    { name: "compactor", start: compaction.start, stop: compaction.stop },
    ...(wiki ? [{ name: "wiki", start: wiki.start, stop: wiki.stop }] : []),
  ];

  return {
    queues,
    writer,
    memory,
    /** For conversations that are longer than a prompt. */
    compaction: createTurnCompaction({
      database,
      countTokens,
      redact,
      summarizer: compaction.summarizer,
      flush: compaction.flush,
      today: () => isoDay(clock.now(), timezone),
      logger: logger.child({ part: "compaction of prompts" }),
    }),
    /** Has a conversation summarized soon; null without a model. */
    summarize: compaction.summarizer === null ? null : compaction.flush,
    forgetting,
    tools: createMemoryTools({
      database,
      memory,
      jobs: queues,
      clock,
      timezone,
      recover,
      ...(writes ? { writes } : {}),
      ...(answers ? { answer: answers.answer } : {}),
      ...(embedding ? { embeddingModel: embedding.service.model } : {}),
    }),
    reading: createMemoryReading({
      database,
      recover,
      wikis: wikisOf(config, node),
      wikiEnabled: config.memory.wiki.enabled,
    }),
    capture: createCapture({ writer, timezone, agents }),
    /** What housekeeping does for it. */
    tasks: {
      forgetting: (signal: AbortSignal) => forgetting.finish(signal),
      synthesis: (signal: AbortSignal) => synthesis.sweep(signal),
      compaction: () => recountCompaction(database),
    },
    /** Workers that need a model, by their names. */
    workers: () => ({
      synthesis: synthesizer.state(),
      compaction: compaction.state(),
      ...(wiki ? { wiki: wiki.state() } : {}),
    }),
    /** Outlives all its callers: in the list before what takes requests. */
    encoder: { name: "encoder", stop: () => embedding?.close() } satisfies Service,
    services: [...services, ...(deps.working ? workers : [])],
  };
}
