/** Gives tool calls their sentences: one job a call, a few at a time; how often a job is tried is the queue's policy. */

import type { CircuitBreaker } from "../app/synthesis/circuit-breaker.ts";
import type { Synthesis } from "../app/synthesis/synthesis.ts";
import { MemoryError } from "../contracts/errors.ts";
import { type JobQueue, QUEUES } from "../contracts/jobs.ts";

export interface SynthesizerDeps {
  readonly synthesis: Synthesis;
  readonly breaker: CircuitBreaker;
  readonly jobs: Pick<JobQueue, "work">;
}

/** Calls of one node that a model is asked about at once: a model server on one machine does no more either. */
const CONCURRENCY = 2;
/** A waiting job is taken within this time also without a notification. */
const POLL_S = 2;

/** From now on this node takes jobs of the queue; stopping the queue ends that. */
export async function startSynthesizer({ synthesis, breaker, jobs }: SynthesizerDeps): Promise<void> {
  await jobs.work<{ readonly message_id?: unknown }>(
    QUEUES.synthesizeToolCall,
    async ({ data, signal }) => {
      const { message_id: id } = data;
      if (typeof id !== "string") throw new MemoryError("MEMORY_INVALID_ARGUMENT", "The job names no message.");
      await breaker.attempt(id, signal, () => synthesis.run(id, signal));
    },
    { concurrency: CONCURRENCY, pollS: POLL_S },
  );
}
