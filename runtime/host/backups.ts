/** Archives of the memory: on request, and on schedule. */

import type { Archives, Backups } from "../app/api.ts";
import { createArchives } from "../app/archive/archives.ts";
import type { AttachmentStore } from "../app/attachments/store.ts";
import { createBackups } from "../app/backups/backups.ts";
import { BackupDirectory } from "../app/backups/directory.ts";
import { BACKUP_TICK_MS, BackupSchedule } from "../app/backups/schedule.ts";
import { createLeaseTable } from "../app/leases.ts";
import type { Writer } from "../app/transcript/writer.ts";
import type { Config } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import { createTicker } from "../workers/ticker.ts";
import type { HomePaths } from "./home.ts";
import type { Service } from "./services.ts";

export interface BackupHostDeps {
  readonly config: Config;
  readonly database: Database;
  readonly writer: Writer;
  readonly attachments: AttachmentStore;
  readonly paths: HomePaths;
  readonly node: { readonly id: string; readonly name: string };
  /** See LeaseTable.acquire. */
  readonly place: string;
  readonly clock: Clock;
  /** Of the service. */
  readonly version: string;
  /** Other nodes take the scheduled ones meanwhile. */
  isDraining(): boolean;
  readonly logger: Logger;
}

export interface BackupParts {
  readonly archives: Archives;
  readonly backups: Backups;
  /** What takes them; none where that is switched off. */
  readonly services: readonly Service[];
}

export function composeBackups(deps: BackupHostDeps): BackupParts {
  const { config, database, writer, attachments, paths, node, place, clock, version, logger } = deps;
  const settings = config.memory.backup;
  const directory = new BackupDirectory(paths.backups);
  const leases = createLeaseTable(database);
  const agents = new Set(Object.keys(config.agents));
  const archivesIn = (staging: string) =>
    createArchives({ database, writer, agents, attachments, staging, clock, version });
  const archives = archivesIn(paths.home);
  const backups = createBackups({ settings, directory, database, leases, archives, clock });
  if (!settings.enabled) return { archives, backups, services: [] };
  const schedule = new BackupSchedule({
    database,
    leases,
    node,
    place,
    archives: archivesIn(directory.staging),
    directory,
    everyMs: settings.every,
    keep: settings.keep,
    isDraining: deps.isDraining,
    clock,
    logger,
  });
  const ticker = createTicker({
    name: "backup",
    run: (signal) => schedule.run(signal),
    intervalMs: BACKUP_TICK_MS,
    logger,
  });
  const service: Service = {
    name: "backups",
    start: ticker.start,
    async stop() {
      await ticker.stop();
      await schedule.release();
    },
  };
  return { archives, backups, services: [service] };
}
