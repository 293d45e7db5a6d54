import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Database } from "../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../runtime/contracts/errors.ts";
import { QUEUES } from "../../../runtime/contracts/jobs.ts";
import { LeftJobs } from "../../../runtime/workers/left-jobs.ts";
import { silent } from "../../support/silent.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Each statement is answered by the next answer, and the last one stays. */
function leftJobsOver(...answers: (Error | { count: number })[]) {
  const query = vi.fn(async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return { rows: [], ...answer };
  });
  const left = new LeftJobs({ database: { query } as unknown as Database, logger: silent });
  left.ended(QUEUES.embed, randomUUID(), 0, "away", "odd");
  return { left, query };
}

it("notes how a job ended once the store is back, and that once", async () => {
  const away = new MemoryError("MEMORY_UNAVAILABLE", "It is away.");
  const { left, query } = leftJobsOver(away, away, { count: 1 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(query).toHaveBeenCalledTimes(3);
  left.storeIsAway();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(query).toHaveBeenCalledTimes(3);
});

it("does not ask for ever where the store refuses to note an end: jobs of others are still taken up", async () => {
  const { left, query } = leftJobsOver(new MemoryError("MEMORY_QUERY_FAILED", "It was refused."));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(query).toHaveBeenCalledTimes(1);
  expect(left.steadyMs).toBeGreaterThan(50_000);
});
