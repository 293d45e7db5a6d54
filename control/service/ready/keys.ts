/** One key of the terminal at a time: raw mode lasts no longer than the wait for it. */

import process from "node:process";

/** Ctrl-C and Ctrl-D, which raw mode hands over as they are. */
const LEAVING: ReadonlySet<string> = new Set(["\u0003", "\u0004"]);

/**
 * The first of the wanted keys, in small letters; `q` also for Ctrl-C, Ctrl-D and a terminal that is gone. Null once the signal aborts.
 * `draw` shows what they do: one that is typed meanwhile is not shown by the terminal, and counts.
 */
export async function nextKey(
  wanted: ReadonlySet<string>,
  signal: AbortSignal,
  draw: () => Promise<void>,
): Promise<string | null> {
  const { stdin } = process;
  const over = new AbortController();
  try {
    const typed = new Promise<string | null>((resolve) => {
      if (signal.aborted) resolve(null);
      signal.addEventListener("abort", () => resolve(null), { once: true, signal: over.signal });
      const onData = (data: Buffer): void => {
        const keys = [...data.toString("utf8").toLowerCase()].map((key) => (LEAVING.has(key) ? "q" : key));
        const key = keys.find((one) => wanted.has(one));
        if (key !== undefined) resolve(key);
      };
      const onGone = (): void => resolve("q");
      over.signal.addEventListener("abort", () => stdin.off("data", onData).off("end", onGone).off("error", onGone));
      stdin.on("data", onData).once("end", onGone).on("error", onGone);
      stdin.setRawMode(true);
      stdin.resume();
    });
    await draw();
    return await typed;
  } finally {
    stdin.pause();
    // A terminal that was closed cannot be set any more, and says so by an event without which the process would end.
    const ignore = (): void => undefined;
    stdin.once("error", ignore).setRawMode(false);
    stdin.off("error", ignore);
    over.abort();
  }
}
