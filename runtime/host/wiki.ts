/** From `memory.wiki` to what keeps the agents' wikis; nothing where it is off. */

import { setTimeout as sleep } from "node:timers/promises";
import { CircuitBreaker } from "../app/synthesis/circuit-breaker.ts";
import { createWikiExtraction } from "../app/wiki/extraction.ts";
import { createWikiPages, type WikiPages } from "../app/wiki/pages.ts";
import type { WorkerState } from "../app/worker-state.ts";
import { agentWorkspace, type Config } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import type { JobQueue } from "../contracts/jobs.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import { createWikiWorker } from "../workers/wiki.ts";
import { createTextModel } from "./text-models.ts";

export interface WikiHostDeps {
  readonly database: Database;
  readonly jobs: JobQueue;
  /** Names of this node: agents that are bound to another one have their workspace there. */
  readonly node: { readonly id: string; readonly name: string };
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  readonly logger: Logger;
}

export interface WikiParts {
  start(): Promise<void>;
  stop(): Promise<void>;
  state(): WorkerState;
}

const wait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal });

/** Of the agents whose workspace this node has. */
export function wikiPagesOf(config: Config, node: WikiHostDeps["node"]): ReadonlyMap<string, WikiPages> {
  return new Map([...wikisOf(config, node)].flatMap(([agent, pages]) => (pages === null ? [] : [[agent, pages]])));
}

/** By the agent; null for one that is bound to another node. */
export function wikisOf(config: Config, node: WikiHostDeps["node"]): ReadonlyMap<string, WikiPages | null> {
  return new Map(
    Object.entries(config.agents).map(([name, agent]) => {
      const here = agent.node === undefined || agent.node === node.name || agent.node === node.id;
      return [name, here ? createWikiPages({ workspace: agentWorkspace(config, name), sleep: wait }) : null];
    }),
  );
}

export function createWikiParts(config: Config, deps: WikiHostDeps): WikiParts | null {
  const { wiki, summarizer } = config.memory;
  if (!wiki.enabled) return null;
  const logger = deps.logger.child({ part: "wiki" });
  const { base_url: baseUrl, model: name, api_key: apiKey } = summarizer;
  if (baseUrl === undefined || name === undefined) {
    const reason = "memory.wiki is enabled, and memory.summarizer names no model.";
    return {
      start: async () => logger.warn({ reason }, "the wiki waits for a model"),
      stop: async () => undefined,
      state: () => ({ state: "off", model: null, reason }),
    };
  }
  const { database, jobs, node, clock, redact } = deps;
  const model = createTextModel({ path: "memory.summarizer", baseUrl, model: name, apiKey }, logger);
  const breaker = new CircuitBreaker({ clock, sleep: wait });
  const worker = createWikiWorker({
    database,
    jobs,
    breaker,
    extraction: createWikiExtraction({ database, model, redact, clock, logger, pageLimit: wiki.page_limit }),
    wikis: wikiPagesOf(config, node),
    intervalMs: wiki.interval,
    logger,
  });
  return {
    start: () => worker.start(),
    stop: () => worker.stop(),
    state: () => ({ state: breaker.error === null ? "on" : "unavailable", model: model.model, reason: breaker.error }),
  };
}
