import { mkdir } from "node:fs/promises";
import type { Database } from "../../contracts/database.ts";
import type { Clock } from "../../contracts/ports.ts";
import { UNPACKED, type UnpackedLimit } from "../../files/memory-archive.ts";
import type { Archives } from "../api.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import { schemaVersion } from "../migrate.ts";
import type { Writer } from "../transcript/writer.ts";
import { backup } from "./backup.ts";
import { exportJsonl, importJsonl } from "./jsonl.ts";
import { restore, verifyArchive } from "./restore.ts";

/** Backup and restore, export and import, over either backend; runtime/files/memory-archive.ts describes the archive. */

export interface ArchivesDeps {
  readonly database: Database;
  readonly writer: Writer;
  /** Names of the agents that have turns of their own. */
  readonly agents: ReadonlySet<string>;
  readonly attachments: Pick<AttachmentStore, "moveHomeFiles">;
  /** A directory for temporary files. */
  readonly staging: string;
  readonly clock: Clock;
  /** Of the service; an archive names it. */
  readonly version: string;
  /** How large an archive may be once it is unpacked. */
  readonly unpacked?: UnpackedLimit;
}

export function createArchives(deps: ArchivesDeps): Archives {
  const { database, writer, agents, attachments, staging, clock, version, unpacked = UNPACKED } = deps;

  async function* backedUp(signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    await mkdir(staging, { recursive: true, mode: 0o700 });
    // A node that is up has moved them; a command's node has not.
    await attachments.moveHomeFiles(signal);
    yield* backup({ database, staging, clock, version }, signal);
  }

  return {
    backup: backedUp,
    async restore(archive, options = {}) {
      await mkdir(staging, { recursive: true, mode: 0o700 });
      return restore({ database, staging, unpacked }, archive, options);
    },
    verify: async (path) => verifyArchive(path, unpacked, (await schemaVersion(database)) ?? 0),
    exportJsonl: (signal) => exportJsonl(database, signal),
    importJsonl: (lines, options) => importJsonl({ database, writer, agents }, lines, options),
  };
}
