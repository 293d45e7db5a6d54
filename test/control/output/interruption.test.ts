import { describe, expect, it } from "vitest";
import { Interrupted } from "../../../control/output/failure.ts";
import { untilInterrupted } from "../../../control/output/interruption.ts";

function interruption() {
  const first = new AbortController();
  const second = new AbortController();
  const state = { held: false };
  const asked = { signal: first.signal, killSignal: second.signal, isHeld: () => state.held };
  return { state, asked, first: () => first.abort(new Interrupted("SIGHUP")), second: () => second.abort() };
}

const TIDY_UP_MS = 5;

describe("a command that is interrupted", () => {
  it("is given up when it does not end by itself", async () => {
    const { asked, first } = interruption();
    const ended = untilInterrupted(new Promise(() => undefined), asked, TIDY_UP_MS);
    first();
    await expect(ended).rejects.toBeInstanceOf(Interrupted);
  });

  it("is not given up while it is held, however often it is asked to end, and counts as done", async () => {
    const { state, asked, first, second } = interruption();
    const work = Promise.withResolvers<string>();
    let resolved = false;
    state.held = true;
    const ended = untilInterrupted(work.promise, asked, TIDY_UP_MS).finally(() => {
      resolved = true;
    });
    first();
    second();
    await new Promise((resolve) => setTimeout(resolve, 10 * TIDY_UP_MS));
    expect(resolved).toBe(false);
    work.resolve("done");
    expect(await ended).toBe("done");
  });

  it("is given up once it is no longer held", async () => {
    const { state, asked, first } = interruption();
    state.held = true;
    const ended = untilInterrupted(new Promise(() => undefined), asked, TIDY_UP_MS);
    first();
    state.held = false;
    await expect(ended).rejects.toBeInstanceOf(Interrupted);
  });
});
