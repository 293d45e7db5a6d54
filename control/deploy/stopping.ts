/** How an operation on a deployment is asked to stop: gently at first, so that the engine ends the step that it is at. */

import { Interrupted } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";

export interface Stopping {
  /** Aborts when the operation should stop once the current step is done. */
  readonly signal: AbortSignal;
  /** Aborts when it should stop now. */
  readonly killSignal: AbortSignal;
  /** Call when the operation has ended. */
  release(): void;
}

/** Milliseconds to wait for what still runs after the kill signal. */
const PATIENCE_MS = 10_000;

/**
 * The first Ctrl-C, or the first other signal, stops gently; the second kills the engine. Until then the command waits: a
 * process that ended while its engine changes things would leave a locked state and half a step.
 */
export function stopping(
  interruption: Pick<Interruption, "signal" | "killSignal" | "onInterrupt" | "hold">,
  onFirst: () => void,
  patienceMs = PATIENCE_MS,
): Stopping {
  const stop = new AbortController();
  const kill = new AbortController();
  const letGo = interruption.hold();
  let patience: NodeJS.Timeout | undefined;
  const end = (reason: unknown): void => {
    kill.abort(reason);
    patience ??= setTimeout(letGo, patienceMs);
  };
  const giveBack = interruption.onInterrupt(() => {
    const asked = new Interrupted("SIGINT");
    if (stop.signal.aborted) {
      end(asked);
    } else {
      stop.abort(asked);
      onFirst();
    }
  });
  const { signal, killSignal } = interruption;
  // A closed output pipe (`| head`) is no reason to stop in the middle of a change.
  const first = (): void => {
    if (!(signal.reason instanceof Interrupted)) return;
    if (stop.signal.aborted) end(signal.reason);
    else stop.abort(signal.reason);
  };
  const second = (): void => end(killSignal.reason);
  signal.addEventListener("abort", first, { once: true });
  if (signal.aborted) first();
  killSignal.addEventListener("abort", second, { once: true });
  return {
    signal: stop.signal,
    killSignal: kill.signal,
    release() {
      signal.removeEventListener("abort", first);
      killSignal.removeEventListener("abort", second);
      clearTimeout(patience);
      giveBack();
      letGo();
    },
  };
}
