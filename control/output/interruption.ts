/** Turns signals and closed outputs into one AbortSignal, for as long as a command runs. */

import process from "node:process";
import { Interrupted, OutputClosed } from "./failure.ts";
import { watchOutput } from "./terminal.ts";

export interface Interruption {
  /** Aborts with an Interrupted or an OutputClosed as its reason. */
  readonly signal: AbortSignal;
  /** Aborts on the second interruption: clean-up that still runs is not waited for. */
  readonly killSignal: AbortSignal;
  /**
   * Lets a command answer Ctrl-C itself: while the handler is set it gets each SIGINT instead of the signals above.
   * Returns what removes the handler.
   */
  onInterrupt(handler: () => void): () => void;
  /**
   * Defers all signals until the returned function is called, for work that must not stop halfway.
   * A terminal that is closed sends one, and must not leave a node that was stopped and not started.
   */
  hold(): () => void;
  readonly isHeld: () => boolean;
  release(): void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Milliseconds that an interrupted command gets to end its children and remove its half-written files. */
const TIDY_UP_MS = 10_000;

export function watchInterruption(): Interruption {
  const first = new AbortController();
  const second = new AbortController();
  const handlers: (() => void)[] = [];
  const holds = new Set<symbol>();
  const listeners = SIGNALS.map((name) => {
    const listener = (): void => {
      const handler = name === "SIGINT" ? handlers.at(-1) : undefined;
      if (handler) handler();
      else if (first.signal.aborted) second.abort(first.signal.reason);
      else first.abort(new Interrupted(name));
    };
    process.on(name, listener);
    return { name, listener };
  });
  const unwatch = watchOutput(() => first.abort(new OutputClosed()));
  return {
    signal: first.signal,
    killSignal: second.signal,
    onInterrupt(handler) {
      handlers.push(handler);
      return () => {
        const at = handlers.lastIndexOf(handler);
        if (at >= 0) handlers.splice(at, 1);
      };
    },
    hold() {
      const mine = Symbol("hold");
      holds.add(mine);
      return () => void holds.delete(mine);
    },
    isHeld: () => holds.size > 0,
    release() {
      for (const { name, listener } of listeners) process.off(name, listener);
      unwatch();
    },
  };
}

/**
 * Settles as `work` does. Once interrupted it rejects with the interruption: when the work has tidied up, or after ten
 * seconds, or when the user insists. Work that was done all the same counts as done.
 */
export async function untilInterrupted<T>(
  work: Promise<T>,
  { signal, killSignal, isHeld }: Pick<Interruption, "signal" | "killSignal" | "isHeld">,
  tidyUpMs = TIDY_UP_MS,
): Promise<T> {
  const ended = new AbortController();
  const abandoned = new Promise<never>((_resolve, reject) => {
    const giveUp = (): void => (isHeld() ? wait() : reject(signal.reason));
    const wait = (): void => {
      const timer = setTimeout(giveUp, tidyUpMs);
      ended.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    };
    signal.addEventListener("abort", wait, { once: true, signal: ended.signal });
    killSignal.addEventListener("abort", giveUp, { once: true, signal: ended.signal });
  });
  try {
    return await Promise.race([work, abandoned]);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    ended.abort();
  }
}
