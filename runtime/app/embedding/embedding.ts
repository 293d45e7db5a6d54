import type { Database } from "../../contracts/database.ts";
import type { EmbeddingService } from "../../contracts/embedding.ts";
import type { CairnError } from "../../contracts/errors.ts";
import type { Clock, Logger, NewId } from "../../contracts/ports.ts";
import { Claims, type ClaimTimes } from "../claims.ts";
import { claimEncodeStore, type PipelineDeps } from "./claim-encode-store.ts";
import { learnDimensions, type Outcome, type Sleep } from "./encode-rows.ts";
import { ensureModel, makeCurrent, type StoredModel } from "./models.ts";
import { EncoderUnavailableError } from "./serial-queue.ts";
import { type Claimed, hasWork, NOTHING_SCANNED, recordFailure, type Scanned, store } from "./work.ts";

/**
 * Gives messages and summaries their vectors (specification, "Background processing"): claims, encodes and stores, until
 * nothing is left.
 */

export interface EmbeddingDeps {
  readonly database: Database;
  readonly service: EmbeddingService;
  /** Takes the service's own secrets out of what the encoder is sent. */
  readonly redact: (text: string) => string;
  /** Texts of one request, rows of one claim. */
  readonly batch: number;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly newId: NewId;
  readonly logger: Logger;
}

export interface EmbeddingReport {
  readonly embedded: number;
  /** Rows that failed by themselves, those that were given up included. */
  readonly failed: number;
  /** Why the rest has to wait; null when nothing is left to do. */
  readonly unavailable: CairnError | null;
}

export interface Embedding {
  /** Works until nothing is left, the encoder is unavailable, or the signal aborts; rejects with its reason then. */
  run(signal: AbortSignal): Promise<EmbeddingReport>;
}

/** Claims are renewed while the run lasts, however long a model takes for one request. */
const TIMES: ClaimTimes = { leaseMs: 20_000, renewMs: 5_000 };
/** Attempts of a row that fails by itself. */
export const MAX_ATTEMPTS = 5;
const FIRST_RETRY_MS = 30_000;
const FAILED_ROWS_IN_A_CLAIM = 2;
/** A row may become visible this long after a younger one did: its transaction took so much longer. */
const LATE_COMMIT_MS = 60_000;
/** Everything is looked through again this often, and at each start. */
const RESCAN_MS = 3_600_000;

export function createEmbedding(deps: EmbeddingDeps): Embedding {
  const { database, service, clock, logger } = deps;
  const progress = new Progress(clock);
  const claims = new Claims({ database, table: "embedding_work", times: TIMES, logger });
  let wasUnavailable = false;

  function report(unavailable: CairnError | null): void {
    if (unavailable !== null && !wasUnavailable) {
      logger.warn(
        { err: unavailable, model: service.model },
        "the embedding model is unavailable; new rows wait for their vectors",
      );
    }
    if (unavailable === null && wasUnavailable) logger.info({ model: service.model }, "the embedding model is back");
    wasUnavailable = unavailable !== null;
  }

  return {
    async run(signal) {
      await claims.catchUp();
      const owner = deps.newId();
      const encoder = { ...deps, signal };
      const counts = { embedded: 0, failed: 0 };
      let unavailable: CairnError | null = null;
      try {
        const dimensions = await learnDimensions(encoder);
        const model = await ensureModel(database, service.model, dimensions);
        progress.begin(model.id);
        await claims.keep(owner, () => drain(deps, { encoder, model, owner, progress, counts }));
        if (!model.current && !(await hasWork(database, model.id))) {
          await makeCurrent(database, model.id);
          logger.info({ model: model.name, dimensions: model.dimensions }, "searches now use the new embedding model");
        }
      } catch (error) {
        if (!(error instanceof EncoderUnavailableError)) throw error;
        unavailable = error.cause;
      } finally {
        await claims.release(owner);
      }
      report(unavailable);
      return { ...counts, unavailable };
    },
  };
}

interface EmbeddingRun {
  readonly encoder: PipelineDeps["encoder"];
  readonly model: StoredModel;
  readonly owner: string;
  readonly progress: Progress;
  readonly counts: { embedded: number; failed: number };
}

async function drain(deps: EmbeddingDeps, run: EmbeddingRun): Promise<void> {
  const { encoder, model, owner, progress, counts } = run;
  const scanned = await claimEncodeStore({
    database: deps.database,
    encoder,
    claim: {
      modelId: model.id,
      owner,
      limit: deps.batch,
      limitFailed: FAILED_ROWS_IN_A_CLAIM,
      leaseMs: TIMES.leaseMs,
    },
    from: progress.from(),
    keep: (outcomes) => keep(deps, model, outcomes, counts),
  });
  progress.reached(scanned);
}

async function keep(
  { database, logger }: EmbeddingDeps,
  model: StoredModel,
  outcomes: readonly Outcome[],
  counts: EmbeddingRun["counts"],
): Promise<void> {
  const embedded = outcomes.flatMap((outcome) =>
    "vector" in outcome ? [{ kind: outcome.row.kind, id: outcome.row.id, vector: outcome.vector }] : [],
  );
  await store(database, model, embedded);
  counts.embedded += embedded.length;
  for (const outcome of outcomes) {
    if ("vector" in outcome) continue;
    const { row, error } = outcome;
    const attempts = row.attempts + 1;
    const againInMs = outcome.final || attempts >= MAX_ATTEMPTS ? null : retryAfterMs(attempts);
    await recordFailure(database, model.id, { kind: row.kind, id: row.id, attempts, error, againInMs });
    counts.failed += 1;
    logger.warn(
      { kind: row.kind, id: row.id, attempts, reason: error, model: model.name },
      againInMs === null
        ? "a row failed too often and will have no vector"
        : "a row could not be embedded; it will be retried",
    );
  }
}

/** 30 s, 2 min, 8 min, 32 min. */
function retryAfterMs(attempts: Claimed["attempts"]): number {
  return FIRST_RETRY_MS * 4 ** (attempts - 1);
}

/** How far the scans of one model have come; the last minute of it is always looked at again. */
class Progress {
  readonly #clock: Clock;
  #model: number | null = null;
  #since = 0;
  #reached: { readonly at: number; readonly scanned: Scanned }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(model: number): void {
    const now = this.#clock.monotonic();
    if (this.#model === model && now - this.#since < RESCAN_MS) return;
    this.#model = model;
    this.#since = now;
    this.#reached = [];
  }

  from(): Scanned {
    const safe = this.#clock.monotonic() - LATE_COMMIT_MS;
    const index = this.#reached.findLastIndex(({ at }) => at <= safe);
    this.#reached.splice(0, Math.max(0, index));
    return index < 0 ? NOTHING_SCANNED : (this.#reached[0]?.scanned ?? NOTHING_SCANNED);
  }

  reached(scanned: Scanned): void {
    this.#reached.push({ at: this.#clock.monotonic(), scanned });
  }
}
