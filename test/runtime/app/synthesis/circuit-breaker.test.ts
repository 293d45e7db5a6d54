import { describe, expect, it } from "vitest";
import { CircuitBreaker } from "../../../../runtime/app/synthesis/circuit-breaker.ts";
import { MemoryError, ProviderError } from "../../../../runtime/contracts/errors.ts";

const signal = new AbortController().signal;
const unavailable = () => Promise.reject(new ProviderError("PROVIDER_UNREACHABLE", "nobody there"));
const answers = () => Promise.resolve("ok");

/** A clock that sleeping moves. */
function create() {
  let now = 0;
  const clock = { monotonic: () => now };
  const breaker = new CircuitBreaker({
    clock,
    sleep: async (ms, aborted) => {
      aborted.throwIfAborted();
      now += ms;
    },
  });
  return { breaker, at: () => now };
}

describe("an outage", () => {
  it("lets everything pass while the endpoint answers", async () => {
    const { breaker, at } = create();
    for (const key of ["a", "b", "c"]) expect(await breaker.attempt(key, signal, answers)).toBe("ok");
    expect(at()).toBe(0);
    expect(breaker.error).toBeNull();
  });

  it("holds up the others, longer each time, and not those that have met it", async () => {
    const { breaker, at } = create();
    await expect(breaker.attempt("a", signal, unavailable)).rejects.toThrow("nobody there");
    expect(breaker.error).toBe("nobody there");
    await expect(breaker.attempt("a", signal, unavailable)).rejects.toThrow("nobody there");
    expect(at()).toBe(0);
    await expect(breaker.attempt("b", signal, unavailable)).rejects.toThrow("nobody there");
    expect(at()).toBe(30_000);
    await expect(breaker.attempt("c", signal, unavailable)).rejects.toThrow("nobody there");
    expect(at()).toBe(90_000);
  });

  it("uses up few attempts in a night", async () => {
    const { breaker, at } = create();
    let attempts = 0;
    while (at() < 8 * 3_600_000) {
      attempts += 1;
      await breaker.attempt(`job ${attempts}`, signal, unavailable).catch(() => undefined);
    }
    expect(attempts).toBeLessThan(45);
  });

  it("is over with the first answer, for all of them", async () => {
    const { breaker, at } = create();
    await breaker.attempt("a", signal, unavailable).catch(() => undefined);
    await breaker.attempt("a", signal, answers);
    await breaker.attempt("b", signal, answers);
    expect(at()).toBe(0);
    expect(breaker.error).toBeNull();
  });

  it("sends one ahead while the others wait", async () => {
    const { breaker, at } = create();
    await breaker.attempt("a", signal, unavailable).catch(() => undefined);
    const gate = Promise.withResolvers<string>();
    const probe = breaker.attempt("b", signal, () => gate.promise);
    await expect.poll(at).toBe(15_000);
    const next = breaker.attempt("c", signal, answers);
    await expect.poll(at).toBe(30_000);
    gate.resolve("ok");
    expect(await Promise.all([probe, next])).toEqual(["ok", "ok"]);
  });

  it.each([
    ["a refused sentence", new ProviderError("PROVIDER_BAD_RESPONSE", "not taken")],
    ["a call that is too long", new ProviderError("PROVIDER_CONTEXT_TOO_LONG", "too long")],
    ["a store that is unavailable", new MemoryError("MEMORY_UNAVAILABLE", "away")],
    ["any other error", new Error("bug")],
  ])("is not what %s means", async (_what, error) => {
    const { breaker } = create();
    await expect(breaker.attempt("a", signal, () => Promise.reject(error))).rejects.toBe(error);
    expect(breaker.error).toBeNull();
  });

  it("ends a wait with the signal", async () => {
    const { breaker } = create();
    await breaker.attempt("a", signal, unavailable).catch(() => undefined);
    const stopped = AbortSignal.abort(new Error("stopping"));
    await expect(breaker.attempt("b", stopped, answers)).rejects.toThrow("stopping");
  });
});
