/** Runs the hooks of an event in order of priority; what one returns is what the next one gets. */

import { RuntimeError } from "../contracts/errors.ts";
import {
  type AnyHook,
  HOOK_DEADLINE_MS,
  HOOK_EVENTS,
  type Hook,
  type HookContexts,
  type HookEvent,
  type HookPolicy,
} from "../contracts/hooks.ts";
import type { Logger } from "../contracts/ports.ts";

/** Milliseconds that a hook may go on after the turn's signal: /stop waits for it. What it has started is killed after one second. */
const ABORT_GRACE_MS = 2_000;

export interface HookPipeline {
  /**
   * The context as the hooks leave it. Rejects with what a closed hook has thrown, or with RUNTIME_HOOK_TIMEOUT when it missed its
   * deadline or went on after `signal`; the same of an open one is logged, and the next hook gets the context as it was.
   */
  run<E extends HookEvent>(event: E, context: HookContexts[E], signal?: AbortSignal): Promise<HookContexts[E]>;
}

/** RangeError for a hook whose priority, deadline or policy its event does not allow. */
export function createHookPipeline(hooks: readonly AnyHook[], logger: Logger): HookPipeline {
  for (const hook of hooks) assertHook(hook);
  const byEvent = new Map<HookEvent, AnyHook[]>();
  for (const hook of [...hooks].sort((a, b) => a.priority - b.priority)) {
    byEvent.set(hook.event, [...(byEvent.get(hook.event) ?? []), hook]);
  }

  return {
    async run(event, context, signal) {
      let current = context;
      for (const candidate of byEvent.get(event) ?? []) {
        // The map's key is the hook's own event.
        const hook = candidate as unknown as Hook<typeof event>;
        try {
          current = whole(await endedInTime(hook, current, signal), current, hook.name);
        } catch (error) {
          if ((hook.policy ?? HOOK_EVENTS[event].policy) === "closed") throw error;
          logger.warn({ err: error, hook: hook.name, event }, "a hook failed and was skipped");
        }
      }
      return current;
    },
  };
}

/** A hook that ignores its signal is not waited for: what it returns or throws later is dropped. */
async function endedInTime<E extends HookEvent>(
  hook: Hook<E>,
  context: HookContexts[E],
  signal?: AbortSignal,
): Promise<HookContexts[E] | void> {
  const { deadlineMs = HOOK_DEADLINE_MS } = hook;
  const deadline = new AbortController();
  const overdue = Promise.withResolvers<never>();
  const fail = (message: string) => {
    const error = new RuntimeError("RUNTIME_HOOK_TIMEOUT", `The hook "${hook.name}" ${message}.`);
    deadline.abort(error);
    overdue.reject(error);
  };
  const timer = setTimeout(fail, deadlineMs, `took longer than ${deadlineMs / 1000} s`);
  let grace: NodeJS.Timeout | undefined;
  const onAbort = () => {
    grace = setTimeout(fail, ABORT_GRACE_MS, `went on ${ABORT_GRACE_MS / 1000} s after its signal`);
  };
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const signals = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
    return await Promise.race([hook.run(context, signals), overdue.promise]);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    clearTimeout(timer);
    clearTimeout(grace);
  }
}

/** What the next hook and the stage get. A hook of other people may give back anything: a part of a context fails as the hook. */
function whole<Context extends object>(given: Context | void | null, current: Context, name: string): Context {
  if (given === undefined || given === null) return current;
  if (typeof given !== "object") throw new TypeError(`The hook "${name}" gave back a ${typeof given}, and no context.`);
  const missing = Object.keys(current).find((key) => !Object.hasOwn(given, key));
  if (missing === undefined) return given;
  throw new TypeError(`The hook "${name}" gave back a part of its context: ${missing} is missing.`);
}

/** RangeError for a priority, deadline or policy that the hook's event does not allow. */
export function assertHook({
  name,
  event,
  priority,
  policy,
  deadlineMs = HOOK_DEADLINE_MS,
}: Pick<AnyHook, "name" | "event" | "priority"> & {
  readonly policy?: HookPolicy | undefined;
  readonly deadlineMs?: number | undefined;
}): void {
  if (!Number.isInteger(priority) || priority < 0 || priority > 99) {
    throw new RangeError(`hook ${name}: priority ${priority} is not an integer from 0 to 99`);
  }
  if (!(deadlineMs > 0 && deadlineMs <= 2 ** 31 - 1)) {
    throw new RangeError(`hook ${name}: a deadline of ${deadlineMs} ms is not one that a timer can keep`);
  }
  if (policy === "closed" && HOOK_EVENTS[event].stops === null) {
    throw new RangeError(`hook ${name}: ${event} comes too late to stop anything, so that its hooks cannot be closed`);
  }
}
