/** Programs on PATH that play others: a shell script each, which answers as told and writes down how it was called. */

import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface FakeTools {
  /** For PATH. */
  readonly directory: string;
  /** `answer` is POSIX shell; the arguments are in `$*`. */
  add(name: string, answer: string): Promise<void>;
  /** Every call so far, the program first. */
  calls(): Promise<string[][]>;
  remove(): Promise<void>;
}

export async function createFakeTools(): Promise<FakeTools> {
  const directory = await mkdtemp(join(tmpdir(), "cairn-tools-"));
  const log = join(directory, "calls.log");
  return {
    directory,
    add: async (name, answer) => {
      // One write a call, so that calls side by side do not mix: arguments end with 0x1f, a call with 0x1e.
      const path = join(directory, name);
      await writeFile(
        path,
        `#!/bin/sh\nline=$(printf '%s\\037' ${name} "$@")\nprintf '%s\\036' "$line" >> ${log}\n${answer}\n`,
      );
      await chmod(path, 0o755);
    },
    calls: async () => {
      const text = await readFile(log, "utf8").catch(() => "");
      return text
        .split("\x1e")
        .filter((call) => call !== "")
        .map((call) => call.split("\x1f").slice(0, -1));
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
