import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Database } from "../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../runtime/contracts/errors.ts";
import { QUEUES } from "../../../runtime/contracts/jobs.ts";
import { UnacknowledgedJobs } from "../../../runtime/workers/unacknowledged-jobs.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Each statement is answered by the next answer, and the last one stays. */
function unacknowledgedOver(...answers: (Error | { count: number })[]) {
  const query = vi.fn(async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return { rows: [], ...answer };
  });
  const unacknowledged = new UnacknowledgedJobs({ database: { query } as unknown as Database, logger: quietLogger });
  unacknowledged.ended(QUEUES.synthesizeToolCall, randomUUID(), 0, "unavailable", "odd");
  return { unacknowledged, query };
}

it("notes how a job ended once the store is back, and that once", async () => {
  const unavailable = new MemoryError("MEMORY_UNAVAILABLE", "It is unavailable.");
  const { unacknowledged, query } = unacknowledgedOver(unavailable, unavailable, { count: 1 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(query).toHaveBeenCalledTimes(3);
  unacknowledged.storeIsUnavailable();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(query).toHaveBeenCalledTimes(3);
});

it("does not ask for ever where the store refuses to note an end: jobs of others are still taken up", async () => {
  const { unacknowledged, query } = unacknowledgedOver(new MemoryError("MEMORY_QUERY_FAILED", "It was refused."));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(query).toHaveBeenCalledTimes(1);
  expect(unacknowledged.steadyMs).toBeGreaterThan(50_000);
});
