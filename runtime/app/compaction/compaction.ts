import type { Database } from "../../contracts/database.ts";
import { CairnError, MemoryError } from "../../contracts/errors.ts";
import type { Clock, Logger, NewId } from "../../contracts/ports.ts";
import type { TextModel } from "../../contracts/text-model.ts";
import { LEAST_WINDOW, type SummaryKind } from "../../domain/summaries/budgets.ts";
import { isDue, nextStep } from "../../domain/summaries/steps.ts";
import type { CountTokens } from "../../domain/tokens.ts";
import { Claims, type ClaimTimes } from "../claims.ts";
import type { WorkerState } from "../worker-state.ts";
import { failureOf } from "./failure.ts";
import { readConversation } from "./sources.ts";
import { storeSummary } from "./store.ts";
import { draftSummary } from "./summarize.ts";
import { Windows } from "./windows.ts";
import { type Claim, claim, markDue, markIdle, postpone, recordFailure, recordRun } from "./work.ts";

/**
 * Summarizes what was said into a tree (specification, "Background processing"): marks the conversations that are due, and
 * writes one summary after the other, each of the conversation that has waited longest, until nothing is due any more.
 */

export interface CompactionDeps {
  readonly database: Database;
  readonly model: TextModel;
  /** Of the model, in tokens. */
  readonly window: number;
  readonly countTokens: CountTokens;
  readonly newId: NewId;
  readonly clock: Clock;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly redact?: ((text: string) => string) | undefined;
  /** Summaries that are written at the same time. */
  readonly parallel?: number;
  readonly times?: CompactionTimes;
  /** A summary was stored; must return at once and never throw. */
  readonly onStored?: () => void;
}

export interface CompactionTimes extends ClaimTimes {
  /** The longest that one summary may take: a model that hangs at a conversation has failed at it. */
  readonly longestMs: number;
}

const TIMES: CompactionTimes = { leaseMs: 30_000, renewMs: 7_500, longestMs: 6 * 3_600_000 };

export interface CompactionReport {
  readonly stored: Readonly<Record<SummaryKind, number>>;
  /** Conversations that failed by themselves, those that were given up included. */
  readonly failed: number;
  /** Why the rest has to wait; null when nothing is left to do. */
  readonly unavailable: CairnError | null;
}

export interface Compaction {
  /** Works until nothing is due, the model is unavailable, or the signal aborts; rejects with its reason then. */
  run(signal: AbortSignal): Promise<CompactionReport>;
  state(): WorkerState;
}

/** While one model call hangs, the other conversations go on. */
const PARALLEL = 2;
/** While a backlog is worked off, conversations become due. */
const MARK_AGAIN_MS = 5 * 60_000;
/** Until a conversation that is too long for the window at the server comes again: an operator has to widen it. */
const CUT_PAUSE_MS = 15 * 60_000;
/** Pauses before a summary is stored once more, where the store was unavailable. */
const STORE_PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000] as const;

interface CompactionRun {
  readonly signal: AbortSignal;
  readonly stored: Record<SummaryKind, number>;
  markedAt: number;
  failed: number;
  /** Nothing more can be done in this run. */
  unavailable: CairnError | null;
  /** Some conversations cannot be summarized until the model's window is larger; the others go on. */
  cut: CairnError | null;
}

export function createCompaction(deps: CompactionDeps): Compaction {
  const { database, model, clock, logger, countTokens: count, redact, parallel = PARALLEL, times = TIMES } = deps;
  const claims = new Claims({ database, table: "compaction_work", times, logger });
  let unavailable: CairnError | null = null;
  const windows = new Windows(deps.window);

  async function run(signal: AbortSignal): Promise<CompactionReport> {
    await claims.catchUp();
    const run: CompactionRun = {
      signal,
      stored: { leaf: 0, branch: 0, root: 0 },
      markedAt: clock.monotonic(),
      failed: 0,
      unavailable: null,
      cut: null,
    };
    await markDue(database, signal);
    const lanes = await Promise.allSettled(Array.from({ length: parallel }, () => work(run)));
    const failed = lanes.find((lane) => lane.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    const unavailable = run.unavailable ?? run.cut;
    report(run.stored, unavailable);
    await recordRun(database, unavailable?.message ?? null);
    return { stored: run.stored, failed: run.failed, unavailable };
  }

  function report(stored: CompactionRun["stored"], now: CairnError | null): void {
    if (now !== null && unavailable === null) {
      logger.warn(
        { err: now, model: model.model },
        "the model for summaries is unavailable; conversations wait to be summarized",
      );
    }
    if (now === null && unavailable !== null) logger.info({ model: model.model }, "the model for summaries is back");
    if (stored.leaf + stored.branch + stored.root > 0)
      logger.info({ ...stored, model: model.model }, "summaries were written");
    unavailable = now;
  }

  async function work(run: CompactionRun): Promise<void> {
    for (;;) {
      run.signal.throwIfAborted();
      if (run.unavailable !== null) return;
      if (clock.monotonic() - run.markedAt >= MARK_AGAIN_MS) {
        run.markedAt = clock.monotonic();
        await markDue(database, run.signal);
      }
      const owner = deps.newId();
      try {
        const found = await claim(database, owner, times.leaseMs);
        if (found === null) return;
        await summarize(found, run);
      } catch (error) {
        await claims.release(owner);
        throw error;
      }
    }
  }

  async function summarize(held: Claim, run: CompactionRun): Promise<void> {
    const overdue = new AbortController();
    const longest = setTimeout(() => overdue.abort(heldTooLong(times.longestMs)), times.longestMs);
    try {
      const signal = AbortSignal.any([run.signal, overdue.signal]);
      await claims.keepOne(held.owner, signal, (kept) => step(held, run, kept));
    } catch (error) {
      await after(error, held, run);
    } finally {
      clearTimeout(longest);
    }
  }

  /** Nothing is left to do: what the conversation brings next may be as long as any other's. */
  function finish(held: Claim, summarizedSeq: number): Promise<void> {
    windows.forget(held.conversationId);
    return markIdle(database, held, summarizedSeq);
  }

  /** One summary, or none when there is nothing to summarize. */
  async function step(held: Claim, run: CompactionRun, signal: AbortSignal): Promise<void> {
    const conversation = await readConversation(database, held.conversationId, held.summarizedSeq);
    if (conversation === null) return finish(held, held.summarizedSeq);
    const { waiting, leaves, branches, summarizedSeq } = conversation;
    const window = windows.of(held.conversationId);
    const kind = nextStep({ messagesDue: isDue(waiting), leaves, branches });
    const draft =
      kind === null
        ? null
        : await draftSummary(kind, conversation, { database, model, window, count, redact, logger, signal });
    if (draft === null) return finish(held, summarizedSeq);
    const summary = { ...draft, id: deps.newId(), model: model.model };
    await patiently(
      () => storeSummary(database, { claim: held, sessionKey: conversation.sessionKey }, summary),
      signal,
    );
    run.stored[draft.kind] += 1;
    deps.onStored?.();
  }

  /** A summary took a model's time: a store that is unavailable for a moment does not cost it. */
  async function patiently(store: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await store();
      } catch (error) {
        const pause = STORE_PAUSES_MS[failures];
        if (!(error instanceof CairnError) || !error.retryable || pause === undefined) throw error;
        await deps.sleep(pause, signal);
      }
    }
  }

  async function after(error: unknown, held: Claim, run: CompactionRun): Promise<void> {
    const { conversationId: conversation_id, attempts } = held;
    const canSendLess = windows.of(conversation_id) > LEAST_WINDOW;
    const failure = failureOf(error, { stopping: run.signal.aborted, attempts, canSendLess });
    switch (failure.kind) {
      case "taken-over":
        logger.warn({ conversation_id, err: error }, "a conversation was taken over while it was summarized");
        return claims.release(held.owner);
      case "ends-run":
        throw error;
      case "cut":
        run.cut ??= failure.cause;
        return postpone(database, held, CUT_PAUSE_MS);
      case "model-unavailable":
        run.unavailable ??= failure.cause;
        return claims.release(held.owner);
      case "too-long":
        logger.warn(
          { conversation_id, err: error, window: windows.halve(conversation_id), model: model.model },
          "the model's window holds less of a conversation than memory.summarizer.context_window says; less of it is sent at a time",
        );
        return claims.release(held.owner);
      case "failed":
        windows.forget(conversation_id);
        await recordFailure(database, held, failure.message, failure.againInMs);
        run.failed += 1;
        logger.warn(
          {
            conversation_id,
            attempts: failure.attempts,
            again_in_ms: failure.againInMs,
            err: error,
            model: model.model,
          },
          failure.againInMs === null
            ? "a conversation failed too often and will not be summarized"
            : "a conversation could not be summarized; it will be retried",
        );
    }
  }

  return {
    run,
    state: () => ({
      state: unavailable === null ? "on" : "unavailable",
      model: model.model,
      reason: unavailable?.message ?? null,
    }),
  };
}

function heldTooLong(ms: number): MemoryError {
  const hours = Math.round(ms / 360_000) / 10;
  return new MemoryError("MEMORY_SUMMARY_UNUSABLE", `The model gave no answer within ${hours} h.`);
}
