/** The hook pipeline: order, what a hook may change, and what its failure means under its policy. */

import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHookPipeline } from "../../../runtime/app/hooks.ts";
import { ToolError } from "../../../runtime/contracts/errors.ts";
import { type AnyHook, HOOK_EVENTS, type HookContexts, type HookEvent } from "../../../runtime/contracts/hooks.ts";
import type { Logger } from "../../../runtime/contracts/ports.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

/** A hook of any event; what it gets is passed on as it is. */
const hook = (event: HookEvent, run: (context: never, signal?: AbortSignal) => Promise<unknown>, more = {}): AnyHook =>
  ({ name: "probe", event, priority: 50, run, ...more }) as AnyHook;
const context = { text: "hi" } as HookContexts["turn:before"];
const never = () => new Promise<never>(() => undefined);

function logged() {
  const warnings: object[] = [];
  const logger: Logger = { ...quietLogger, warn: (fields) => void warnings.push(fields) };
  return { warnings, logger };
}

describe("the hooks of an event", () => {
  it("run by priority, each with what the one before it has returned", async () => {
    const add = (word: string, priority: number) =>
      hook("turn:before", async (given: { text: string }) => ({ text: `${given.text} ${word}` }), { priority });
    const hangingOne = hook("turn:before", async () => undefined, { priority: 20 });
    const pipeline = createHookPipeline([add("last", 99), add("first", 0), hangingOne, add("second", 30)], quietLogger);
    expect(await pipeline.run("turn:before", context)).toEqual({ text: "hi first second last" });
  });

  it("leave another event alone, and an event without hooks as it is", async () => {
    const pipeline = createHookPipeline([hook("turn:after", async () => ({ text: "other" }))], quietLogger);
    expect(await pipeline.run("turn:before", context)).toBe(context);
  });

  it.each([-1, 100, 1.5])("have a priority from 0 to 99, not %d", (priority) => {
    expect(() => createHookPipeline([hook("turn:before", never, { priority })], quietLogger)).toThrow(RangeError);
  });

  it.each([0, -5, Number.NaN, Number.POSITIVE_INFINITY])(
    "have a deadline that a timer can keep, not %d",
    (deadlineMs) => {
      expect(() => createHookPipeline([hook("turn:before", never, { deadlineMs })], quietLogger)).toThrow(RangeError);
    },
  );

  it("get the caller's signal", async () => {
    const abort = new AbortController();
    const seen = Promise.withResolvers<unknown>();
    const pipeline = createHookPipeline(
      [
        hook("turn:before", async (_given, signal) => {
          signal?.addEventListener("abort", () => seen.resolve(signal.reason));
          await seen.promise;
        }),
      ],
      quietLogger,
    );
    const ran = pipeline.run("turn:before", context, abort.signal);
    abort.abort("stop");
    expect(await seen.promise).toBe("stop");
    await ran;
  });
});

describe("a hook that gives back a part of its context, or something else", () => {
  const given = { text: "hi", agent: "main" } as HookContexts["turn:before"];
  const broken = (policy: string) =>
    [{ text: "bye" }, { agent: "main" }, "bye", 7].map((value) => hook("turn:before", async () => value, { policy }));

  it("has failed: a closed one ends its stage, and an open one changes nothing", async () => {
    for (const one of broken("closed")) {
      const run = createHookPipeline([one], quietLogger).run("turn:before", given);
      await expect(run).rejects.toThrow(
        /^The hook "probe" gave back (?:a part of its context: (?:text|agent) is missing|a (?:string|number), and no context)\.$/,
      );
    }
    const { warnings, logger } = logged();
    expect(await createHookPipeline(broken("open"), logger).run("turn:before", given)).toBe(given);
    expect(warnings).toHaveLength(4);
  });

  it("changes nothing where that is null", async () => {
    const pipeline = createHookPipeline([hook("turn:before", async () => null)], quietLogger);
    expect(await pipeline.run("turn:before", given)).toBe(given);
  });
});

describe("a hook without a deadline of its own", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("has ten seconds", async () => {
    const ended: unknown[] = [];
    const pipeline = createHookPipeline([hook("tool:before", never)], quietLogger);
    pipeline.run("tool:before", context as never).catch((error: unknown) => ended.push(error));
    await vi.advanceTimersByTimeAsync(9_999);
    expect(ended).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toMatchObject([{ code: "RUNTIME_HOOK_TIMEOUT", message: 'The hook "probe" took longer than 10 s.' }]);
  });

  it("leaves no timer and no listener behind when it ends in time", async () => {
    const { signal } = new AbortController();
    const ended = hook("tool:before", async () => undefined);
    await createHookPipeline([ended], quietLogger).run("tool:before", context as never, signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const abort = new AbortController();
    const obedient = hook("tool:before", async () => abort.abort());
    await createHookPipeline([obedient], quietLogger).run("tool:before", context as never, abort.signal);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each(["before", "while"])(
    "has two seconds where its turn was stopped %s it runs, whatever its deadline is",
    async (when) => {
      const ended: unknown[] = [];
      const abort = new AbortController();
      const pipeline = createHookPipeline([hook("tool:before", never, { deadlineMs: 86_400_000 })], quietLogger);
      if (when === "before") abort.abort();
      pipeline.run("tool:before", context as never, abort.signal).catch((error: unknown) => ended.push(error));
      if (when === "while") {
        await vi.advanceTimersByTimeAsync(3_600_000);
        abort.abort();
      }
      await vi.advanceTimersByTimeAsync(1_999);
      expect(ended).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(ended).toMatchObject([
        { code: "RUNTIME_HOOK_TIMEOUT", message: 'The hook "probe" went on 2 s after its signal.' },
      ]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});

describe.each(Object.entries(HOOK_EVENTS))("a failing hook of %s", (name, { policy, stops }) => {
  const event = name as HookEvent;
  const run = (hooks: AnyHook[], logger: Logger = quietLogger) =>
    createHookPipeline(hooks, logger).run(event, context as never);
  const refusal = new ToolError("TOOL_REFUSED", "no");
  const failing = (more: object) => hook(event, () => Promise.reject(refusal), more);
  const hanging = (more: object) => hook(event, never, { deadlineMs: 20, ...more });
  const after = hook(event, async () => ({ text: "changed" }), { priority: 60 });

  it(`is ${policy} unless it says otherwise`, async () => {
    if (policy === "closed") await expect(run([failing({})])).rejects.toBe(refusal);
    else expect(await run([failing({})])).toBe(context);
  });

  it("is skipped and logged where it is open, whether it throws or hangs", async () => {
    const { warnings, logger } = logged();
    expect(await run([failing({ policy: "open" }), after], logger)).toEqual({ text: "changed" });
    expect(await run([hanging({ policy: "open" }), after], logger)).toEqual({ text: "changed" });
    expect(warnings).toMatchObject([
      { hook: "probe", event, err: refusal },
      { hook: "probe", event, err: { code: "RUNTIME_HOOK_TIMEOUT" } },
    ]);
  });

  if (stops !== null)
    it("ends its stage where it is closed, whether it throws or hangs", async () => {
      await expect(run([failing({ policy: "closed" }), after])).rejects.toBe(refusal);
      await expect(run([hanging({ policy: "closed" }), after])).rejects.toMatchObject({ code: "RUNTIME_HOOK_TIMEOUT" });
    });

  if (stops === null)
    it("cannot be closed: it comes too late to stop anything", () => {
      expect(() => createHookPipeline([failing({ policy: "closed" })], quietLogger)).toThrow(RangeError);
    });

  it.each([["a text"], [undefined], [null], [{ code: "EVIL" }]])("may throw %o, which is no error", async (thrown) => {
    const throwing = (more: object) => hook(event, () => Promise.reject(thrown), more);
    const atOnce = hook(
      event,
      () => {
        throw thrown;
      },
      { policy: "open" },
    );
    const { warnings, logger } = logged();
    expect(await run([throwing({ policy: "open" }), atOnce, after], logger)).toEqual({ text: "changed" });
    expect(warnings).toHaveLength(2);
    if (stops !== null) await expect(run([throwing({ policy: "closed" }), after])).rejects.toBe(thrown);
  });

  it("aborts its signal at its deadline, and what it does afterwards changes nothing", async () => {
    const late = Promise.withResolvers<unknown>();
    const aborted = Promise.withResolvers<void>();
    const slow = hook(
      event,
      (_given, signal) => {
        signal?.addEventListener("abort", () => aborted.resolve());
        return late.promise;
      },
      { policy: "open", deadlineMs: 20 },
    );
    const result = await run([slow]);
    await aborted.promise;
    late.reject(new Error("too late"));
    expect(result).toBe(context);
  });
});
