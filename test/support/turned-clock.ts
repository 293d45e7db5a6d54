/** The clock of a process, turned while it runs: libfaketime in front of the system's. What is monotonic goes on as it does. */

import { spawnSync } from "node:child_process";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export interface TurnedClock {
  /** Of the process that is to have it. */
  readonly env: Readonly<Record<string, string>>;
  /** Seconds that it shows more than the system's. */
  turn(seconds: number): Promise<void>;
}

/** Ended with the test. */
export async function turnedClock(seconds: number): Promise<TurnedClock> {
  const directory = await mkdtemp(join(tmpdir(), "cairn-clock-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, "offset");
  const turn = async (by: number): Promise<void> => {
    // Never half a number.
    await writeFile(`${file}.new`, `${by < 0 ? "" : "+"}${by}\n`);
    await rename(`${file}.new`, file);
  };
  await turn(seconds);
  const { stdout } = spawnSync("faketime", ["-m", "-f", "+0", "printenv", "LD_PRELOAD"], { encoding: "utf8" });
  return {
    env: {
      LD_PRELOAD: stdout.trim(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
    turn,
  };
}
