/**
 * Gives the engine up where its target is lost under it: a provider that works over a connection of its own waits on a host that fell
 * silent without an end.
 */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { TargetDriver } from "../driver.ts";
import type { Engine, RunInput } from "../engine/engine.ts";

/** Milliseconds between two probes. */
const PROBE_INTERVAL_MS = 30_000;
/** Probes in a row that have to fail: a host that is busy answers late. */
const TRIES = 3;
/** Milliseconds without a word of the engine: longer than the longest of its commands, which waits 15 minutes for a lock of the host. */
const QUIET_MS = 3_600_000;

/** What to run then depends on what the engine has left, and is added where that is known (`withNextCommand`). */
const HINT = "See whether the host runs and can be reached.";

export interface TargetWatch {
  readonly driver: Pick<TargetDriver, "answers">;
  /** Is aborted, with the error, where the target is lost: what it stops is the engine. */
  readonly lost: AbortController;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** `up` and `destroy` of the engine end with INFRA_HOST_UNREACHABLE where the target is lost; all else is as it was. */
export function givingUp(engine: Engine, watch: TargetWatch): Engine {
  const { driver, lost } = watch;
  if (driver.answers === undefined) return engine;
  const watched = async <R extends RunInput, T>(run: R, work: (run: R) => Promise<T>): Promise<T> => {
    const ended = new AbortController();
    const quiet = { ms: 0 };
    const watching = probeUntilEnded(watch, quiet, ended.signal);
    const onNote: RunInput["onNote"] = (note) => {
      quiet.ms = 0;
      run.onNote(note);
    };
    try {
      return await work({ ...run, onNote });
    } catch (error) {
      throw lost.signal.aborted ? lost.signal.reason : error;
    } finally {
      ended.abort();
      await watching;
    }
  };
  return {
    ...engine,
    up: (run) => watched(run, (given) => engine.up(given)),
    destroy: async (run) => {
      // Nothing else has asked the target before: of one that is silent already nothing is begun.
      await driver.answers?.(run.signal);
      return watched(run, (given) => engine.destroy(given));
    },
  };
}

/** Until the engine has ended, or the target is lost. Never rejects. */
async function probeUntilEnded(
  { driver, lost, sleep }: TargetWatch,
  quiet: { ms: number },
  ended: AbortSignal,
): Promise<void> {
  let failures = 0;
  for (;;) {
    await sleep(PROBE_INTERVAL_MS, ended).catch(() => undefined);
    if (ended.aborted) return;
    quiet.ms += PROBE_INTERVAL_MS;
    if (quiet.ms >= QUIET_MS) {
      const words = `The target has ended no step for ${QUIET_MS / 60_000} minutes, and the engine was given up.`;
      return lost.abort(new InfraError("INFRA_HOST_UNREACHABLE", words, { hint: HINT }));
    }
    const error = await driver.answers?.(ended).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (ended.aborted) return;
    // What answers with another error is there.
    if (!(error instanceof InfraError) || error.code !== "INFRA_HOST_UNREACHABLE") {
      failures = 0;
      continue;
    }
    failures += 1;
    if (failures < TRIES) continue;
    const words = `The target was lost in the middle of the work: ${error.message}`;
    return lost.abort(new InfraError(error.code, words, { hint: HINT }));
  }
}
