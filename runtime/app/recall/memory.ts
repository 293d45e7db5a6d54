import type { Database } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { Memory, MemoryEntry, MemoryHit, SearchOptions } from "../../contracts/memory.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import { dedupeKey } from "../../domain/dedupe.ts";
import { SEARCH_WEIGHTS, type SearchWeights } from "../../domain/scoring.ts";
import { parseInstant } from "../../domain/time-window.ts";
import type { CountTokens } from "../../domain/tokens.ts";
import { createBackground } from "../background.ts";
import { createTermCounter } from "../terms/terms.ts";
import type { Writer } from "../transcript/writer.ts";
import { createAccessCounter } from "./access.ts";
import { type ConversationOrigin, Origins } from "./origins.ts";
import type { EmbeddingModel } from "./query-analysis.ts";
import { RegexLimits } from "./regex-limits.ts";
import { RowCache } from "./rows/row-cache.ts";
import { filtersOf, type SearchDeps, search } from "./search.ts";
import { loadSettings, saveSettings, sessionHistory } from "./session-memory.ts";
import { createStatistics } from "./statistics.ts";
import { contextForTurn } from "./turn-context.ts";
import type { Embed } from "./vectors.ts";

/** The memory as plugins, tools and turns see it: the contract's one implementation, over either backend. */

export interface MemoryDeps {
  readonly database: Database;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly countTokens: CountTokens;
  /** IANA name; dates without a time are days there. Default UTC. */
  readonly timezone?: string;
  readonly weights?: SearchWeights;
  /** Makes the mark of each turn's fence around what memory found: unguessable, letters and digits. */
  readonly newMark: () => string;
  /** Makes vectors of queries by the current model; without it search goes by text and time. */
  readonly embed?: Embed;
}

export interface Recall extends Required<Memory> {
  /** Where the rows of these conversations come from. */
  originsOf(conversations: Iterable<string | null>): Promise<ReadonlyMap<string, ConversationOrigin>>;
  /** Resolves once access counts are written; call it before the database is closed. */
  idle(): Promise<void>;
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 50;
const DEFAULT_CONTEXT_TOKENS = 4_000;
const DEFAULT_HISTORY = 200;
/** A search does not wait longer than this for the vector of its query, whatever makes it; `embed` may give up earlier. */
const EMBED_DEADLINE_MS = 2_000;

export function createMemory(deps: MemoryDeps): Recall {
  const { database, writer, clock, logger, countTokens, timezone = "UTC", weights = SEARCH_WEIGHTS, embed } = deps;
  const background = createBackground(logger);
  const statistics = createStatistics(database);
  const counter = createTermCounter(database);
  let statements = 0;

  /** What a search leaves to do in the background. */
  function upkeep(): void {
    background.run("refresh statistics", () => statistics.refreshIfDue());
    background.run("count words", () => counter.runIfBehind());
  }

  async function embedQuery(model: EmbeddingModel | null, text: string, signal?: AbortSignal) {
    if (model === null || embed === undefined) return null;
    const deadline = AbortSignal.timeout(EMBED_DEADLINE_MS);
    try {
      return await embed(text, signal ? AbortSignal.any([signal, deadline]) : deadline, model);
    } catch (error) {
      signal?.throwIfAborted();
      logger.warn({ err: error, model: model.name }, "The query has no vector; searching by text and time.");
      return null;
    }
  }

  const origins = new Origins();
  const accesses = createAccessCounter(database, logger);
  const searchDeps: SearchDeps = {
    database,
    weights,
    regexLimits: new RegexLimits(clock),
    embedQuery,
    lastModel: { current: null },
    rowCache: new RowCache(),
    now: () => clock.now(),
    nextNumber: () => {
      statements = (statements + 1) % Number.MAX_SAFE_INTEGER;
      return statements;
    },
  };

  const instant = (path: "since" | "before", text: string | undefined): Date | undefined => {
    if (text === undefined) return undefined;
    const time = parseInstant(text, timezone);
    if (time !== null) return time;
    const issues = [{ path, message: "must be an ISO 8601 date or time" }];
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", `\`${path}\` is not an ISO 8601 date or time.`, { issues });
  };

  return {
    async append(entry) {
      const { rows } = await writer.write(batchOf(entry));
      const id = rows[0]?.id;
      if (id === undefined) throw new MemoryError("MEMORY_QUERY_FAILED", "The message was not stored.");
      return id;
    },

    async search(query, options: SearchOptions = {}): Promise<readonly MemoryHit[]> {
      const hits = await search(searchDeps, {
        query,
        mode: options.mode ?? "hybrid",
        scope: options.scope ?? "both",
        limit: Math.min(MAX_LIMIT, Math.max(1, Math.trunc(options.limit ?? DEFAULT_LIMIT))),
        expand: options.expand ?? true,
        filters: filtersOf({
          agent: options.agent,
          since: instant("since", options.since),
          before: instant("before", options.before),
          visibility: options.visibility,
        }),
        caller: options.caller ?? JSON.stringify(options.visibility ?? null),
        signal: options.signal,
        onTextOnly: options.onTextOnly,
      });
      accesses.count(hits, clock.now());
      upkeep();
      return hits;
    },

    getContextForTurn(query, agent, options = {}) {
      const request = {
        query,
        agent,
        maxTokens: options.maxTokens ?? DEFAULT_CONTEXT_TOKENS,
        filters: { visibility: options.visibility, exclude: options.exclude },
        signal: options.signal,
      };
      upkeep();
      return contextForTurn({ ...searchDeps, countTokens, origins, newMark: deps.newMark }, request);
    },

    getSessionHistory: (sessionId, options = {}) =>
      sessionHistory(database, sessionId, Math.max(0, Math.trunc(options.limit ?? DEFAULT_HISTORY)), options.bytes),
    loadSessionSettings: (sessionId) => loadSettings(database, sessionId),
    saveSessionSettings: (sessionId, settings) => saveSettings(database, writer, sessionId, settings),
    originsOf: (conversations) => origins.of(database, conversations),
    async idle() {
      counter.stop();
      await Promise.all([accesses.idle(), background.idle()]);
    },
  };
}

function batchOf(entry: MemoryEntry): Parameters<Writer["write"]>[0] {
  const { role, content, toolName, toolArgs, toolResult, metadata, createdAt, eventId } = entry;
  const key = dedupeKey({ role, content, toolName, toolArgs, toolResult }, { domain: "append", eventId });
  return {
    sessionKey: entry.sessionKey,
    agent: entry.agent,
    channel: entry.channel,
    openedBy: "append",
    entries: [{ role, content, toolName, toolArgs, toolResult, metadata, createdAt, key, cap: true }],
  };
}
