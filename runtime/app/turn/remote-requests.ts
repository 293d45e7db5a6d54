/** The requests of a remote task: what is sent, how long it may take, and what a refusal of all nodes says. */

import type { PeerTask } from "../../contracts/delegation.ts";
import type { CairnError } from "../../contracts/errors.ts";
import { failedOutcome, type TaskOutcome } from "../../domain/delegation.ts";
import type { RemoteTask } from "./remote-task-store.ts";

/** Why the work on a task ends without an outcome: its turn waits no longer, or another process goes on with it. */
export type End = "stopped" | "left";

/** For the answer to a request that is under way when its turn is stopped: it tells which turn is to be stopped there. */
const STOP_GRACE_MS = 3_000;

export function toPeerTask({ target, text, key, chain, user }: RemoteTask, until: number): PeerTask {
  const deadlineMs = Math.max(1, Math.ceil(until - performance.now()));
  return { agent: target, text, key, chain, deadlineMs, ...(user === null ? {} : { user }) };
}

export function refusedBy(
  target: string,
  refusals: readonly { readonly name: string; readonly error: CairnError }[],
): TaskOutcome {
  const said = refusals.map(({ name, error }) => `${name}: ${error.message} (${error.code})`).join("; ");
  const [only] = refusals;
  const code = only && refusals.length === 1 ? only.error.code : "RUNTIME_NOT_READY";
  return failedOutcome(code, `No node of the agent "${target}" takes the task. ${said}`.trim());
}

/** Aborts with `signal`; before the answer a moment after it where the task is stopped, so that it is known what is to be stopped. */
export function boundTo(signal: AbortSignal): { readonly signal: AbortSignal; answered(): void } {
  const request = new AbortController();
  const end = () => request.abort(signal.reason);
  const endLater = () => {
    if (signal.reason === ("left" satisfies End)) end();
    else setTimeout(end, STOP_GRACE_MS).unref();
  };
  if (signal.aborted) end();
  signal.addEventListener("abort", endLater, { once: true });
  return {
    signal: request.signal,
    answered() {
      signal.removeEventListener("abort", endLater);
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
    },
  };
}

/** Ends with the signal's reason, also where the source does not heed it. */
export async function* withSignal<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    for (;;) {
      const step = await Promise.race([iterator.next(), aborted.promise]);
      if (step.done) return;
      yield step.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    iterator.return?.(undefined).catch(() => undefined);
  }
}
