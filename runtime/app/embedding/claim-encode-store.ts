import type { Database } from "../../contracts/database.ts";
import { type EncodeDeps, encode, type Outcome } from "./encode-rows.ts";
import { SerialQueue } from "./serial-queue.ts";
import { type Claim, type Claimed, claim, type Scanned } from "./work.ts";

/**
 * A pipeline that keeps the encoder busy: batches of rows are claimed, encoded (encode-rows.ts) and stored in parallel. The next batch is
 * sent before the vectors of the last one are stored, and, while the encoder answers quickly, before it has answered. What is claimed and
 * not stored is bounded, and is stored in the order of the claims.
 */

export interface PipelineDeps {
  readonly database: Database;
  readonly encoder: Omit<EncodeDeps, "serialQueue" | "onAnswer">;
  readonly claim: Omit<Parameters<typeof claim>[1], "scanned">;
  /** Rows before it have been dealt with. */
  readonly from: Scanned;
  /** Stores vectors and notes failures. Called with one batch after the other. */
  readonly keep: (outcomes: readonly Outcome[]) => Promise<void>;
}

/** Requests that are with the encoder at once: one that it works on, one that is there when it has done. */
const ASKED = 2;
/** Longer than this for an answer, and the pause between two requests is nothing beside it, but a deadline might be met. */
const QUICK_MS = 2_000;
/** Batches that are claimed and not stored yet, and characters of them beyond which no further one is claimed. */
const IN_HAND = 6;
const CHARACTERS_IN_HAND = 4_000_000;

interface Batch {
  readonly rows: readonly Claimed[];
  readonly outcomes: Outcome[];
  done: boolean;
}

/** Resolves to how far the scan came once nothing is left. Rejects as `encode` does, once what was answered is stored. */
export async function claimEncodeStore({ database, encoder, keep, ...deps }: PipelineDeps): Promise<Scanned> {
  const ending = new AbortController();
  const signal = AbortSignal.any([encoder.signal, ending.signal]);
  const wakeup = new Wakeup();
  /** In the order of the claims, until they are stored. */
  const batches: Batch[] = [];
  const waiting: Batch[] = [];
  let scanned = deps.from;
  let claimedAll = false;
  let asked = 0;
  let quick = false;
  const asking: EncodeDeps = {
    ...encoder,
    signal,
    serialQueue: new SerialQueue(),
    onAnswer: (tookMs) => {
      quick = tookMs < QUICK_MS;
    },
  };

  const hasRoom = () => {
    const characters = batches.reduce((sum, { rows }) => rows.reduce((each, row) => each + row.content.length, sum), 0);
    return batches.length === 0 || (batches.length < IN_HAND && characters < CHARACTERS_IN_HAND);
  };

  async function claiming(): Promise<void> {
    while (!claimedAll) {
      await wakeup.until(() => signal.aborted || hasRoom() || undefined);
      signal.throwIfAborted();
      const found: Claim = await claim(database, { ...deps.claim, scanned });
      scanned = found.scanned;
      if (found.rows.length > 0) {
        const batch: Batch = { rows: found.rows, outcomes: [], done: false };
        batches.push(batch);
        waiting.push(batch);
      } else if (found.complete) {
        claimedAll = true;
      }
      wakeup.notify();
    }
  }

  async function encoding(): Promise<void> {
    // Looked for and taken at once: between the two another lane might take it.
    const take = (): Batch | null | undefined => {
      if (signal.aborted || (claimedAll && waiting.length === 0)) return null;
      if (asked >= (quick ? ASKED : 1)) return undefined;
      const batch = waiting.shift();
      if (batch !== undefined) asked += 1;
      return batch;
    };
    for (;;) {
      const batch = await wakeup.until(take);
      signal.throwIfAborted();
      if (batch === null) return;
      try {
        for await (const some of encode(batch.rows, asking)) batch.outcomes.push(...some);
      } finally {
        // What is there is kept, also when the encoder went away in the middle.
        batch.done = true;
        asked -= 1;
        wakeup.notify();
      }
    }
  }

  /** Goes on until no claimed row is left, also when the other stages have failed. */
  async function storing(): Promise<void> {
    for (;;) {
      const batch = await wakeup.until(() => {
        if (claimedAll && batches.length === 0) return null;
        return batches[0]?.done === true ? batches[0] : undefined;
      });
      if (batch === null) return;
      await keep(batch.outcomes);
      batches.shift();
      wakeup.notify();
    }
  }

  const stages = [claiming(), ...Array.from({ length: ASKED }, encoding)].map((stage) =>
    stage.catch((error: unknown) => {
      ending.abort(error);
      wakeup.notify();
      throw error;
    }),
  );
  const stop = () => wakeup.notify();
  encoder.signal.addEventListener("abort", stop, { once: true });
  const worked = Promise.allSettled(stages).then(() => {
    // What no lane has taken will not be encoded any more.
    for (const batch of batches) batch.done = true;
    claimedAll = true;
    wakeup.notify();
  });
  try {
    await storing().catch((error: unknown) => {
      ending.abort(error);
      wakeup.notify();
      throw error;
    });
  } finally {
    await worked;
    encoder.signal.removeEventListener("abort", stop);
  }
  encoder.signal.throwIfAborted();
  if (ending.signal.aborted) throw ending.signal.reason;
  return scanned;
}

/** Lets the stages wait for each other: a stage that changes something notifies the others. */
class Wakeup {
  #next = Promise.withResolvers<void>();

  notify(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** The first answer that is not undefined; asked now and after each change. */
  async until<Answer>(ask: () => Answer | undefined): Promise<Answer> {
    for (;;) {
      const answer = ask();
      if (answer !== undefined) return answer;
      await this.#next.promise;
    }
  }
}
