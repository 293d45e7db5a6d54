/** The contract of a hook as checks, one for each thing that the pipeline relies on; for any test runner. */

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AnyHook,
  HOOK_DEADLINE_MS,
  HOOK_EVENTS,
  type HookContexts,
  type HookEvent,
} from "../../contracts/hooks.ts";
import { isRecord } from "../../contracts/values.ts";
import { type ConformanceCheck, inTime } from "../check.ts";
import { frozen } from "../frozen.ts";

export interface OpenHook {
  readonly hook: AnyHook;
  /** What its event gives it, of a case that it does not refuse. */
  readonly context: HookContexts[HookEvent];
  close?(): Promise<void>;
}

export interface HookHarness {
  /** A hook of its own for each check. */
  open(): Promise<OpenHook>;
}

/** The longest wait that a Node timer can hold. */
const LONGEST_MS = 2_147_483_647;
/** Milliseconds that a hook may go on after its signal. */
const ABORT_MS = 5_000;

export function hookConformance({ open }: HookHarness): readonly ConformanceCheck[] {
  const checks: [name: string, run: (opened: OpenHook) => void | Promise<void>][] = [
    ["has a name, and an event that there is", hasEvent],
    ["has a priority, a policy and a deadline that its event allows", isAllowed],
    ["gives back nothing, or the whole context of its event", givesContext],
    [
      "changes nothing of the context that it is given",
      async ({ hook, context }) => void (await run(hook, frozen(context))),
    ],
    ["ends within its deadline", endsInTime],
    ["ends where its signal has aborted before", endsAtSignal],
  ];
  return checks.map(([name, check]) => ({
    name,
    async run() {
      const opened = await open();
      try {
        await inTime(name, Promise.resolve(check(opened)));
      } finally {
        await opened.close?.();
      }
    },
  }));
}

function hasEvent({ hook }: OpenHook): void {
  assert(typeof hook.name === "string" && hook.name !== "", "a hook has to have a name: logs and errors have it");
  assert(Object.hasOwn(HOOK_EVENTS, hook.event), `there is no event ${hook.event}`);
}

function isAllowed({ hook: { event, priority, policy, deadlineMs = HOOK_DEADLINE_MS } }: OpenHook): void {
  assert(Number.isInteger(priority) && priority >= 0 && priority <= 99, "a priority is a whole number from 0 to 99");
  assert(policy === undefined || policy === "open" || policy === "closed", "a policy is open or closed");
  assert(policy !== "closed" || HOOK_EVENTS[event].stops !== null, `${event} comes too late to stop anything`);
  assert(deadlineMs > 0 && deadlineMs <= LONGEST_MS, "deadlineMs has to be one that a timer can keep");
}

/** The harness pairs hook and context, which the types of a list of hooks cannot say. */
async function run(hook: AnyHook, context: HookContexts[HookEvent], signal?: AbortSignal): Promise<unknown> {
  return (hook.run as (context: unknown, signal?: AbortSignal) => Promise<unknown>).call(hook, context, signal);
}

async function givesContext({ hook, context }: OpenHook): Promise<void> {
  const given = await run(hook, context);
  if (given === undefined) return;
  assert(isRecord(given), "a hook gives back nothing, or a context");
  const missing = Object.keys(context).filter((key) => !Object.hasOwn(given, key));
  assert.deepEqual(missing, [], "the next hook gets what this one gives back: it has to have all of it");
}

async function endsInTime({ hook, context }: OpenHook): Promise<void> {
  assert(await endsWithin(run(hook, context), Math.min(hook.deadlineMs ?? HOOK_DEADLINE_MS, HOOK_DEADLINE_MS)), LATE);
}

const LATE = "it takes longer than its deadline, which counts as a failure";

async function endsAtSignal({ hook, context }: OpenHook): Promise<void> {
  const ended = run(hook, context, AbortSignal.abort(new Error("stopped")));
  assert(await endsWithin(ended, ABORT_MS), `it goes on ${ABORT_MS / 1_000} s after its signal`);
}

async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const deadline = new AbortController();
  const late = sleep(ms, false, { signal: deadline.signal }).catch(() => false);
  const ended = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([ended, late]);
  } finally {
    deadline.abort();
  }
}
