/**
 * The files of the audit log: one JSON object a line, one file a day. All lines go through one queue, in order, so that a later
 * version can chain them. A line that cannot be written is lost and counted, and nothing waits for it to become possible.
 */

import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Logger } from "../../../contracts/ports.ts";
import { codeOf } from "../../../contracts/system-errors.ts";

export interface AuditFile {
  /** Adds a line with the time of now. Never rejects; resolves when the line is written, or lost. */
  append(entry: Readonly<Record<string, unknown>>): Promise<void>;
  status(): AuditStatus;
}

export interface AuditStatus {
  /** Why the last line could not be written: a code of the system, such as ENOSPC; null while all is well. */
  readonly failing: string | null;
  /** Lines lost since the start. */
  readonly lost: number;
}

export interface AuditFileDeps {
  /** Directory of the day files; made with mode 0700, its files with 0600. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Lines that wait for a disk that does not answer; further ones are lost. */
const MAX_WAITING = 10_000;

export function createAuditFile({ directory, clock, logger }: AuditFileDeps): AuditFile {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  let failing: string | null = null;
  let lost = 0;
  /** Of these, the ones that no line has reported yet. */
  let unreported = 0;

  async function write(at: string, entry: Readonly<Record<string, unknown>>): Promise<void> {
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const gap = unreported > 0 ? lineOf({ at, event: "audit.gap", lost: unreported, reason: failing }) : "";
      // A line that failed may be there in part: what comes next begins a line of its own.
      const text = `${failing === null ? "" : "\n"}${gap}${lineOf({ at, ...entry })}`;
      await appendFile(join(directory, `${at.slice(0, 10)}.jsonl`), text, { mode: 0o600 });
      if (failing !== null) logger.warn({ lost: unreported }, "the audit log can be written again");
      failing = null;
      unreported = 0;
    } catch (error) {
      lose(codeOf(error) ?? "UNKNOWN", error);
    }
  }

  function lose(reason: string, error?: unknown): void {
    lost++;
    unreported++;
    if (failing === null) logger.error({ err: error, reason, directory }, "the audit log could not be written");
    failing = reason;
  }

  return {
    append(entry) {
      if (waiting >= MAX_WAITING) {
        lose("QUEUE_FULL");
        return Promise.resolve();
      }
      waiting++;
      const at = clock.now().toISOString();
      last = last.then(() => write(at, entry)).finally(() => waiting--);
      return last;
    },
    status: () => ({ failing, lost }),
  };
}

function lineOf(entry: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(entry)}\n`;
}
