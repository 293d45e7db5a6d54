/** One key of the terminal at a time: raw mode lasts no longer than the wait for it. */

import process from "node:process";

/** Ctrl-C and Ctrl-D, which raw mode hands over as they are. */
const LEAVING: ReadonlySet<string> = new Set(["\u0003", "\u0004"]);

/** The first of the wanted keys, in small letters; `q` also for Ctrl-C, Ctrl-D and a terminal that is gone. Null once the signal aborts. */
export async function nextKey(wanted: ReadonlySet<string>, signal: AbortSignal): Promise<string | null> {
  const { stdin } = process;
  const over = new AbortController();
  try {
    return await new Promise<string | null>((resolve) => {
      if (signal.aborted) resolve(null);
      signal.addEventListener("abort", () => resolve(null), { once: true, signal: over.signal });
      const onData = (data: Buffer): void => {
        const typed = [...data.toString("utf8").toLowerCase()].map((key) => (LEAVING.has(key) ? "q" : key));
        const key = typed.find((one) => wanted.has(one));
        if (key !== undefined) resolve(key);
      };
      const onGone = (): void => resolve("q");
      over.signal.addEventListener("abort", () => stdin.off("data", onData).off("end", onGone).off("error", onGone));
      stdin.on("data", onData).once("end", onGone).on("error", onGone);
      stdin.setRawMode(true);
      stdin.resume();
    });
  } finally {
    stdin.pause();
    // A terminal that was closed cannot be set any more, and says so by an event without which the process would end.
    const ignore = (): void => undefined;
    stdin.once("error", ignore).setRawMode(false);
    stdin.off("error", ignore);
    over.abort();
  }
}
