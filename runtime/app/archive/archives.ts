import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { Database } from "../../contracts/database.ts";
import type { Clock } from "../../contracts/ports.ts";
import type { Archives } from "../api.ts";
import type { Writer } from "../transcript/writer.ts";
import { backup } from "./backup.ts";
import { exportJsonl, importJsonl } from "./jsonl.ts";
import { restore } from "./restore.ts";

/** Backup and restore, export and import, over either backend; `format.ts` describes the archive. */

export interface ArchivesDeps {
  readonly database: Database;
  readonly writer: Writer;
  /** Directory of the attachments. */
  readonly attachments: string;
  readonly clock: Clock;
  /** Of the service; an archive names it. */
  readonly version: string;
}

export function createArchives({ database, writer, attachments, clock, version }: ArchivesDeps): Archives {
  const staging = dirname(attachments);

  async function* backedUp(signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    await mkdir(staging, { recursive: true, mode: 0o700 });
    yield* backup({ database, attachments, staging, clock, version }, signal);
  }

  return {
    backup: backedUp,
    async restore(archive) {
      await mkdir(staging, { recursive: true, mode: 0o700 });
      return restore({ database, attachments, staging }, archive);
    },
    exportJsonl: (signal) => exportJsonl(database, signal),
    importJsonl: (lines) => importJsonl({ database, writer }, lines),
  };
}
