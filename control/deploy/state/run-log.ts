/**
 * `infra/logs/<time>-<command>.log`: everything that a run which failed was told by the engine and by the target, for who wants to
 * know more than the error says. Secrets are taken out; the newest are kept.
 */

import { appendFile, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Files that are kept. */
const MOST_LOGS = 20;
/** Characters of one piece; the end says most. */
const LONGEST_PIECE = 1_000_000;

export interface RunLog {
  /** Where it is, absolute; null where nothing was written, or nothing could be. `command` names the file at first. */
  write(command: string, title: string, text: string): Promise<string | null>;
}

export interface RunLogOptions {
  /** `infra/logs`, absolute. */
  readonly folder: string;
  readonly redact: (text: string) => string;
  readonly now: () => Date;
}

export function createRunLog({ folder, redact, now }: RunLogOptions): RunLog {
  let file: string | null = null;
  return {
    async write(command, title, text) {
      try {
        const time = now().toISOString();
        file ??= await begin(folder, `${time.replaceAll(/[:.]/g, "-")}-${command.replaceAll(/[^a-z]+/g, "-")}.log`);
        await appendFile(file, redact(`${time} ${title}\n${text.slice(-LONGEST_PIECE).trimEnd()}\n\n`));
        return file;
      } catch {
        // What failed is worth more than its log: the disk may be full.
        return file;
      }
    },
  };
}

/** A new file for its owner alone, in a folder of which git takes nothing. */
async function begin(folder: string, name: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, ".gitignore"), "*\n", { mode: 0o600 });
  const logs = (await readdir(folder)).filter((one) => one.endsWith(".log")).sort();
  for (const old of logs.slice(0, Math.max(logs.length - MOST_LOGS + 1, 0))) await rm(join(folder, old));
  const file = join(folder, name);
  await writeFile(file, "", { mode: 0o600, flag: "a" });
  return file;
}
