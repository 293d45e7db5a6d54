/** The engine is given up where its target is lost under it, and is left alone where the target is slow, or answers again. */

import { describe, expect, it } from "vitest";
import type { Engine } from "../../../../control/deploy/engine/engine.ts";
import { givingUp } from "../../../../control/deploy/operations/target-watch.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";

const GONE = new InfraError("INFRA_HOST_UNREACHABLE", "pve gave no answer within 60 s.");
const OTHER = new InfraError("INFRA_FAILED", "sh: fork failed");

/**
 * `up` of an engine that ends on request, or after so many probes of a target that answers as `answers` says, the last one over
 * and over. With `notes` it says something at each probe.
 */
async function up(answers: readonly (InfraError | null)[], probes: number, notes = false): Promise<unknown> {
  const lost = new AbortController();
  const end = Promise.withResolvers<void>();
  const run = { program: async () => undefined, onNote: () => undefined, signal: new AbortController().signal };
  let seen = 0;
  let say = (): void => {};
  lost.signal.addEventListener("abort", () => end.reject(new Error("killed")));
  const engine = {
    up: async ({ onNote }: Parameters<Engine["up"]>[0]) => {
      say = () => onNote({ kind: "message", severity: "info", message: "at work", urn: null });
      await end.promise;
      return "done";
    },
  } as unknown as Engine; // Nothing else of it is called.
  const driver = {
    answers: async () => {
      if (notes) say();
      if (seen >= probes) end.resolve();
      const error = answers[Math.min(seen++, answers.length - 1)] ?? null;
      if (error !== null) throw error;
    },
  };
  const watched = givingUp(engine, { driver, lost, sleep: async () => void (await Promise.resolve()) });
  return watched.up(run).catch((error: unknown) => error);
}

describe("an engine at work", () => {
  it("is given up when its target gives no answer for three probes, with what to look for", async () => {
    expect(await up([null, GONE], 20)).toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: "The target was lost in the middle of the work: pve gave no answer within 60 s.",
      details: { hint: "See whether the host runs and can be reached." },
    });
  });

  it("is not begun by `destroy` where its target does not answer", async () => {
    const engine = { destroy: () => expect.unreachable("it was begun") } as unknown as Engine; // Nothing else of it is called.
    const watch = {
      driver: { answers: () => Promise.reject(GONE) },
      lost: new AbortController(),
      sleep: async () => {},
    };
    const run = { onNote: () => undefined, signal: new AbortController().signal };
    await expect(givingUp(engine, watch).destroy(run)).rejects.toBe(GONE);
  });

  it("goes on where the target answers again, or with another error", async () => {
    expect(await up([GONE, GONE, null, GONE, OTHER, GONE, null], 20)).toBe("done");
  });

  it("is given up when it has said nothing for an hour although the target answers", async () => {
    expect(await up([null], 1_000)).toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: "The target has ended no step for 60 minutes, and the engine was given up.",
    });
    expect(await up([null], 1_000, true)).toBe("done");
  });
});
