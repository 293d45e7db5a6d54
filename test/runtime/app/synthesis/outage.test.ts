import { describe, expect, it } from "vitest";
import { Outage } from "../../../../runtime/app/synthesis/outage.ts";
import { MemoryError, ProviderError } from "../../../../runtime/contracts/errors.ts";

const signal = new AbortController().signal;
const away = () => Promise.reject(new ProviderError("PROVIDER_UNREACHABLE", "nobody there"));
const answers = () => Promise.resolve("ok");

/** A clock that sleeping moves. */
function create() {
  let now = 0;
  const clock = { monotonic: () => now };
  const outage = new Outage({
    clock,
    sleep: async (ms, aborted) => {
      aborted.throwIfAborted();
      now += ms;
    },
  });
  return { outage, at: () => now };
}

describe("an outage", () => {
  it("lets everything pass while the endpoint answers", async () => {
    const { outage, at } = create();
    for (const key of ["a", "b", "c"]) expect(await outage.attempt(key, signal, answers)).toBe("ok");
    expect(at()).toBe(0);
    expect(outage.error).toBeNull();
  });

  it("holds up the others, longer each time, and not those that have met it", async () => {
    const { outage, at } = create();
    await expect(outage.attempt("a", signal, away)).rejects.toThrow("nobody there");
    expect(outage.error).toBe("nobody there");
    await expect(outage.attempt("a", signal, away)).rejects.toThrow("nobody there");
    expect(at()).toBe(0);
    await expect(outage.attempt("b", signal, away)).rejects.toThrow("nobody there");
    expect(at()).toBe(30_000);
    await expect(outage.attempt("c", signal, away)).rejects.toThrow("nobody there");
    expect(at()).toBe(90_000);
  });

  it("uses up few attempts in a night", async () => {
    const { outage, at } = create();
    let attempts = 0;
    while (at() < 8 * 3_600_000) {
      attempts += 1;
      await outage.attempt(`job ${attempts}`, signal, away).catch(() => undefined);
    }
    expect(attempts).toBeLessThan(45);
  });

  it("is over with the first answer, for all of them", async () => {
    const { outage, at } = create();
    await outage.attempt("a", signal, away).catch(() => undefined);
    await outage.attempt("a", signal, answers);
    await outage.attempt("b", signal, answers);
    expect(at()).toBe(0);
    expect(outage.error).toBeNull();
  });

  it("sends one ahead while the others wait", async () => {
    const { outage, at } = create();
    await outage.attempt("a", signal, away).catch(() => undefined);
    const gate = Promise.withResolvers<string>();
    const probe = outage.attempt("b", signal, () => gate.promise);
    await expect.poll(at).toBe(15_000);
    const next = outage.attempt("c", signal, answers);
    await expect.poll(at).toBe(30_000);
    gate.resolve("ok");
    expect(await Promise.all([probe, next])).toEqual(["ok", "ok"]);
  });

  it.each([
    ["a refused sentence", new ProviderError("PROVIDER_BAD_RESPONSE", "not taken")],
    ["a call that is too long", new ProviderError("PROVIDER_CONTEXT_TOO_LONG", "too long")],
    ["a store that is away", new MemoryError("MEMORY_UNAVAILABLE", "away")],
    ["any other error", new Error("bug")],
  ])("is not what %s means", async (_what, error) => {
    const { outage } = create();
    await expect(outage.attempt("a", signal, () => Promise.reject(error))).rejects.toBe(error);
    expect(outage.error).toBeNull();
  });

  it("ends a wait with the signal", async () => {
    const { outage } = create();
    await outage.attempt("a", signal, away).catch(() => undefined);
    const stopped = AbortSignal.abort(new Error("stopping"));
    await expect(outage.attempt("b", stopped, answers)).rejects.toThrow("stopping");
  });
});
