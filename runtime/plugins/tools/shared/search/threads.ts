/** Runs searches in threads of their own, a few at once: ended by the signal, whatever they do, and by a deadline. */

import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { ToolError } from "../../../../contracts/errors.ts";
import { endThread } from "../../../shared/end-thread.ts";
import { createSlots } from "../slots.ts";
import type { SearchResult, SearchShare, SearchTask } from "./messages.ts";
import { mergeShares } from "./shares.ts";

export interface SearchThreads {
  /** `prepare` makes the task in the slot of its search. TOOL_FAILED where the pattern takes too long, or the thread fails. Rejects with the signal's reason as soon as it aborts. */
  run(prepare: () => SearchTask | Promise<SearchTask>, signal?: AbortSignal): Promise<SearchResult>;
}

/** A search reads the disk: more at once make each slower. */
const MOST_AT_ONCE = 2;
/** Of one search. */
const MOST_THREADS = 4;
/** Of fewer files one thread has read all by the time that another one has started. */
const FEW_FILES = 1_000;
/** Beyond the search's own deadline, which it keeps between two entries: what goes on is one match. */
const GRACE_MS = 2_000;
const MAX_HEAP_MB = 256;

export function createSearchThreads(): SearchThreads {
  const slots = createSlots(MOST_AT_ONCE);
  return {
    run: (prepare, signal) => slots.run(async () => runShares(await prepare(), signal), signal),
  };
}

async function runShares(task: SearchTask, signal: AbortSignal | undefined): Promise<SearchResult> {
  const { only, isFile } = task.scope;
  const isSmall = task.kind === "files" || isFile || (only !== undefined && only.length < FEW_FILES);
  const of = isSmall ? 1 : Math.min(MOST_THREADS, availableParallelism());
  const failed = new AbortController();
  const either = AbortSignal.any([failed.signal, ...(signal === undefined ? [] : [signal])]);
  const threads = Array.from({ length: of }, (_, index) => runThread(task, { index, of }, either));
  try {
    const results = await Promise.all(threads);
    const [first] = results;
    return first !== undefined && of === 1 ? first : mergeShares(results, task.limit);
  } finally {
    // One that has failed ends the others.
    failed.abort();
    await Promise.allSettled(threads);
  }
}

async function runThread(task: SearchTask, share: SearchShare, signal: AbortSignal): Promise<SearchResult> {
  signal.throwIfAborted();
  const worker = new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: { task, share },
    name: "cairn-search",
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    // Nothing of the service's environment is of use there.
    env: {},
  });
  const ended = new AbortController();
  const outcome = new Promise<SearchResult>((resolve, reject) => {
    // The only message that the thread sends.
    worker.once("message", (result: SearchResult) => resolve(result));
    worker.once("error", (cause) => reject(new ToolError("TOOL_FAILED", "The search failed.", { cause })));
    worker.once("exit", () => reject(new ToolError("TOOL_FAILED", "The search ended without a result.")));
    signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: ended.signal });
    sleep(task.deadlineMs + GRACE_MS, undefined, { signal: ended.signal }).then(
      () => reject(tooSlow()),
      () => undefined,
    );
  });
  try {
    return await outcome;
  } finally {
    ended.abort();
    await endThread(worker);
  }
}

function tooSlow(): ToolError {
  return new ToolError("TOOL_FAILED", "The pattern takes too long on a file of the search.", {
    hint: "Use a simpler one, without a repetition inside a repetition, or a narrower path.",
  });
}
