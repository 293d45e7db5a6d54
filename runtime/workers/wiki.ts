/** Keeps the wikis of a node's agents: at each tick every summary that is in no page becomes a job; one is done at a time. */

import type { CircuitBreaker } from "../app/synthesis/circuit-breaker.ts";
import type { WikiExtraction } from "../app/wiki/extraction.ts";
import type { WikiPages } from "../app/wiki/pages.ts";
import { forgetSources, openSources } from "../app/wiki/sources.ts";
import type { Database } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import { type JobQueue, QUEUES } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { createTicker } from "./ticker.ts";

export interface WikiWorkerDeps {
  readonly database: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "work" | "failedKeys">;
  readonly extraction: WikiExtraction;
  readonly breaker: CircuitBreaker;
  /** By agent: those whose workspace this node has. */
  readonly wikis: ReadonlyMap<string, WikiPages>;
  readonly intervalMs: number;
  readonly logger: Pick<Logger, "warn">;
}

export interface WikiWorker {
  start(): Promise<void>;
  /** Queues what is open; answers how many jobs were added. */
  tick(): Promise<number>;
  stop(): Promise<void>;
}

/** Summaries of one agent that are queued at once; the next tick goes on. */
const MOST_JOBS = 200;

export function createWikiWorker(deps: WikiWorkerDeps): WikiWorker {
  const { database, jobs, extraction, breaker, wikis, intervalMs, logger } = deps;
  async function tick(): Promise<number> {
    let added = 0;
    const dead = await jobs.failedKeys(QUEUES.extractWiki);
    for (const [agent, pages] of wikis) {
      if ((await pages.titles()).length === 0) await forgetSources(database, agent);
      for (const id of await openSources(database, agent, MOST_JOBS + dead.size)) {
        const key = `${agent}:${id}`;
        if (dead.has(key)) continue;
        if ((await jobs.enqueue(QUEUES.extractWiki, { agent, summary_id: id }, { key })) !== null) added += 1;
      }
    }
    return added;
  }
  const ticker = createTicker({ name: "wiki", run: tick, intervalMs, logger });

  return {
    async start() {
      await jobs.work<{ readonly agent?: unknown; readonly summary_id?: unknown }>(
        QUEUES.extractWiki,
        async ({ data: { agent, summary_id: id }, signal }) => {
          if (typeof agent !== "string" || typeof id !== "string") {
            throw new MemoryError("MEMORY_INVALID_ARGUMENT", "The job names no agent and summary.");
          }
          const pages = wikis.get(agent);
          // The workspace is another node's, or the agent is gone: the summary stays open for the node that has it.
          if (pages === undefined) return;
          await breaker.attempt(`${agent}:${id}`, signal, () => extraction.run(agent, id, pages, signal));
        },
      );
      ticker.start();
    },
    tick,
    stop: ticker.stop,
  };
}
