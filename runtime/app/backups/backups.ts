/** What routes, health and metrics tell of the scheduled backups. */

import type { BackupEntry } from "../../contracts/backups.ts";
import type { Database } from "../../contracts/database.ts";
import { CairnError } from "../../contracts/errors.ts";
import type { Clock } from "../../contracts/ports.ts";
import { backupState, nextBackup } from "../../domain/backup-schedule.ts";
import type { Archives, Backups } from "../api.ts";
import type { LeaseTable } from "../leases.ts";
import type { BackupDirectory } from "./directory.ts";
import { BACKUP_LEASE, recordOf } from "./record.ts";
import { isEmptyStore } from "./schedule.ts";

export interface BackupsDeps {
  readonly settings: { readonly enabled: boolean; readonly every: number; readonly keep: number };
  readonly directory: BackupDirectory;
  readonly database: Pick<Database, "query">;
  readonly leases: Pick<LeaseTable, "read">;
  readonly archives: Pick<Archives, "verify">;
  readonly clock: Clock;
}

export function createBackups(deps: BackupsDeps): Backups {
  const { settings, directory, database, leases, clock } = deps;
  return {
    async status() {
      const { last, failure } = recordOf(await leases.read(BACKUP_LEASE));
      const empty = last === null && (await isEmptyStore(database));
      const facts = { last: last?.at ?? null, failure, everyMs: settings.every, empty };
      const now = clock.now().getTime();
      const isDue = settings.enabled && !empty;
      return {
        state: settings.enabled ? backupState(facts, now) : "off",
        every_s: settings.every / 1_000,
        keep: settings.keep,
        now: iso(now),
        next_at: isDue ? iso(nextBackup(facts, settings.every, now)) : null,
        last: last && { name: last.name, created_at: iso(last.at), bytes: last.bytes, node: last.node },
        failure: failure && {
          since: iso(failure.since),
          attempts: failure.attempts,
          message: failure.message,
          hint: failure.hint ?? null,
          node: failure.node,
        },
      };
    },
    async list({ verify = false, signal } = {}) {
      const entries: BackupEntry[] = [];
      for (const { name, at, bytes } of await directory.list()) {
        signal?.throwIfAborted();
        const verified = verify ? await isWhole(name, deps) : true;
        if (verified !== null) entries.push({ name, created_at: iso(at), bytes, verified });
      }
      return entries;
    },
    read: (name, signal) => directory.read(name, signal),
  };
}

/** Null where it is no longer there: a newer one has replaced it. Rejects where nothing can be said of it. */
async function isWhole(
  name: string,
  { directory, archives }: Pick<BackupsDeps, "directory" | "archives">,
): Promise<boolean | null> {
  try {
    await archives.verify(await directory.pathOf(name));
    return true;
  } catch (error) {
    if (!(await directory.list()).some((file) => file.name === name)) return null;
    if (error instanceof CairnError && error.code === "MEMORY_ARCHIVE_INVALID") return false;
    throw error;
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
