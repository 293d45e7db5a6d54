import { describe, expect, test } from "vitest";
import { stopping } from "../../../control/deploy/stopping.ts";
import { Interrupted, OutputClosed } from "../../../control/output/failure.ts";

function interruption() {
  const first = new AbortController();
  const second = new AbortController();
  const handlers: (() => void)[] = [];
  let holds = 0;
  return {
    ctrlC: () => handlers.at(-1)?.(),
    terminate() {
      if (first.signal.aborted) second.abort(first.signal.reason);
      else first.abort(new Interrupted("SIGTERM"));
    },
    closeOutput: () => first.abort(new OutputClosed()),
    held: () => holds > 0,
    isHandled: () => handlers.length > 0,
    given: {
      signal: first.signal,
      killSignal: second.signal,
      onInterrupt(handler: () => void) {
        handlers.push(handler);
        return () => void handlers.pop();
      },
      hold() {
        holds += 1;
        let mine = 1;
        return () => {
          holds -= mine;
          mine = 0;
        };
      },
    },
  };
}

describe("an operation on a deployment", () => {
  test.each(["ctrlC", "terminate"] as const)("is stopped gently by the first %s and at once by the second", (how) => {
    const user = interruption();
    const stop = stopping(user.given, () => undefined);
    expect(stop.signal.aborted).toBe(false);
    user[how]();
    expect([stop.signal.aborted, stop.killSignal.aborted]).toEqual([true, false]);
    expect(stop.signal.reason).toBeInstanceOf(Interrupted);
    user[how]();
    expect(stop.killSignal.aborted).toBe(true);
    stop.release();
  });

  test("is stopped at once by a signal that follows Ctrl-C", () => {
    const user = interruption();
    const stop = stopping(user.given, () => undefined);
    user.ctrlC();
    user.terminate();
    expect(stop.killSignal.aborted).toBe(true);
    stop.release();
  });

  test("goes on when nobody reads its output any more", () => {
    const user = interruption();
    const stop = stopping(user.given, () => undefined);
    user.closeOutput();
    expect([stop.signal.aborted, stop.killSignal.aborted]).toEqual([false, false]);
    stop.release();
  });

  test("is not given up while it ends its step, and is some time after the user insisted", async () => {
    const user = interruption();
    const stop = stopping(user.given, () => undefined, 1);
    user.terminate();
    expect(user.held()).toBe(true);
    user.terminate();
    await expect.poll(user.held).toBe(false);
    stop.release();
  });

  test("leaves nothing behind once it has ended", () => {
    const user = interruption();
    stopping(user.given, () => undefined).release();
    expect([user.held(), user.isHandled()]).toEqual([false, false]);
  });
});
