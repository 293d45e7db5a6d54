/**
 * Reads HTML of strangers in a thread of its own: a page that makes the parser work without end, or takes all memory, ends that
 * thread and nothing else.
 */

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { bulkhead } from "cockatiel";
import { ToolError } from "../../../../contracts/errors.ts";
import { codeOf } from "../../../../contracts/system-errors.ts";
import { endThread } from "../../../shared/end-thread.ts";
import type { HtmlAnswer, HtmlResults, HtmlTask } from "./html-thread.ts";

export interface HtmlReader {
  /** TOOL_FAILED for HTML that cannot be read within the bounds. */
  read<Kind extends HtmlTask["kind"]>(
    task: HtmlTask & { readonly kind: Kind },
    signal: AbortSignal,
  ): Promise<HtmlResults[Kind]>;
}

const DEADLINE_MS = 10_000;
const MOST_AT_ONCE = 2;
const MOST_WAITING = 1_000;
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

export function createHtmlReader(deadlineMs = DEADLINE_MS): HtmlReader {
  const threads = bulkhead(MOST_AT_ONCE, MOST_WAITING);
  return {
    // The thread answers with the result of the task's kind, which the compiler cannot follow.
    read: (task, signal) => threads.execute(() => run(task, signal, deadlineMs), signal) as Promise<never>,
  };
}

async function run(task: HtmlTask, signal: AbortSignal, deadlineMs: number): Promise<HtmlResults[HtmlTask["kind"]]> {
  signal.throwIfAborted();
  const worker = new Worker(new URL(`./html-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: task,
    resourceLimits: LIMITS,
    env: {},
    name: "cairn-html",
  });
  const { promise, resolve, reject } = Promise.withResolvers<HtmlAnswer>();
  const deadline = setTimeout(() => reject(tooMuch("it takes too long")), deadlineMs);
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  worker.once("message", resolve);
  worker.once("error", (error) => {
    const isFull = codeOf(error) === "ERR_WORKER_OUT_OF_MEMORY";
    reject(isFull ? tooMuch("it takes too much memory", error) : error);
  });
  worker.once("exit", () => reject(tooMuch("the thread has ended")));
  try {
    const answer = await promise;
    if (answer.ok) return answer.result;
    throw tooMuch("it is nested too deeply");
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener("abort", stop);
    await endThread(worker);
  }
}

function tooMuch(reason: string, cause?: unknown): ToolError {
  return new ToolError("TOOL_FAILED", `The page's HTML cannot be read: ${reason}.`, { cause });
}
