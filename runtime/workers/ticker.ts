/**
 * Runs work that finds for itself what there is to do: at the start, at an interval, and soon after a notification. One run
 * at a time in a process; what several processes must not do twice they claim in the database (`app/claims.ts`).
 */

import { setTimeout as sleep } from "node:timers/promises";
import { TICKERS, type TickerName, type WorkState } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { sanitize } from "../domain/cap.ts";

export interface TickerDeps {
  readonly name: TickerName | "wiki" | "backup" | "membership" | "gossip" | "schedules";
  /** Rejects when it could not do its work: it runs again after a pause, however often that takes. */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
  readonly intervalMs: number;
  /** From a notification to its run: what is notified in these milliseconds is done together. Default 0. */
  readonly gatherMs?: number;
  readonly logger: Pick<Logger, "warn">;
}

export interface Ticker {
  start(): void;
  /** There is work. During a run another one follows it; before the start and after a failed run it does not come sooner. Never throws. */
  notify(): void;
  /** Aborts the signal of the run and waits for its end, 5 s at most. */
  stop(): Promise<void>;
  /** Of this process. `waiting` is 1 after a run that failed, `completed` counts since the start. */
  state(): Omit<WorkState, "queue">;
}

/** The tickers of a node. */
export interface Tickers {
  add(deps: TickerDeps & { readonly name: TickerName }): Ticker;
  /** Of every name; all zero where this node has no such ticker. */
  states(): readonly WorkState[];
}

/** After a failed run; doubles with each up to the longest. */
const FIRST_RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 60_000;
const STOP_MS = 5_000;

export function createTicker({ name, run, intervalMs, gatherMs = 0, logger }: TickerDeps): Ticker {
  const stopping = new AbortController();
  let active = false;
  let timer: NodeJS.Timeout | undefined;
  let ticks: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let notified = false;
  let completed = 0;
  let failure: { readonly since: number; readonly message: string; readonly retryMs: number } | null = null;

  function schedule(inMs: number): void {
    if (active) timer ??= setTimeout(begin, inMs);
  }

  function begin(): void {
    timer = undefined;
    notified = running !== null;
    running ??= once().finally(() => {
      running = null;
      if (failure) {
        clearTimeout(timer);
        timer = undefined;
        schedule(failure.retryMs);
      } else if (notified) schedule(gatherMs);
    });
  }

  async function once(): Promise<void> {
    const since = failure?.since ?? performance.now();
    try {
      await run(stopping.signal);
      completed += 1;
      failure = null;
    } catch (err) {
      if (stopping.signal.aborted) return;
      const message = sanitize(err instanceof Error ? err.message : String(err));
      // Once, until it works again.
      if (message !== failure?.message)
        logger.warn({ err, ticker: name }, "work failed; it is tried again until it succeeds");
      failure = { since, message, retryMs: Math.min(LONGEST_RETRY_MS, (failure?.retryMs ?? FIRST_RETRY_MS / 2) * 2) };
    }
  }

  return {
    start() {
      active = true;
      ticks = setInterval(() => schedule(0), intervalMs);
      schedule(0);
    },
    notify: () => schedule(gatherMs),
    async stop() {
      active = false;
      clearTimeout(timer);
      clearInterval(ticks);
      stopping.abort();
      await Promise.race([running, sleep(STOP_MS, undefined, { ref: false })]);
    },
    state: () => ({
      waiting: failure && !running ? 1 : 0,
      active: running ? 1 : 0,
      failed: 0,
      completed,
      last_error: failure?.message ?? null,
      oldest_waiting_ms: failure && !running ? performance.now() - failure.since : null,
    }),
  };
}

export function createTickers(): Tickers {
  const tickers = new Map<TickerName, Ticker>();
  const idle = { waiting: 0, active: 0, failed: 0, completed: 0, last_error: null, oldest_waiting_ms: null };
  return {
    add(deps) {
      const ticker = createTicker(deps);
      tickers.set(deps.name, ticker);
      return ticker;
    },
    states: () => Object.values(TICKERS).map((queue) => ({ queue, ...(tickers.get(queue)?.state() ?? idle) })),
  };
}
